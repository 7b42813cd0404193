// A kernel that launches another one, which calls a function of another source.
extern __device__ unsigned taken;
__device__ void step(unsigned* x);

__global__ void child(unsigned* x) { step(x + threadIdx.x); }

extern "C" __global__ void walk(unsigned* x, unsigned count) { child<<<1, count>>>(x); }
