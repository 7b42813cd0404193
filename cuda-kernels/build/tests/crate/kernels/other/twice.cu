__device__ void twice(unsigned* x) { *x *= 2; }
