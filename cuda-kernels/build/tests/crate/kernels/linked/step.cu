__device__ unsigned steps = 0;

__device__ void step(unsigned* x) {
    *x += 1;
    atomicAdd(&steps, 1);
}
