// Functions and variables for the other source.
__device__ unsigned taken = NUMBER;

__device__ void step(unsigned* x) {
    *x += NUMBER;
    atomicAdd(&taken, 1);
}
