// A function that kernels of another source call.
__device__ unsigned sum(unsigned a, unsigned b) { return a + b; }
