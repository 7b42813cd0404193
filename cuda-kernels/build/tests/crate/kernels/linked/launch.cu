// A kernel that launches another one, and a variable and functions of another source.
extern __device__ unsigned steps;
__device__ void step(unsigned* x);

__global__ void child(unsigned* x) { step(x + threadIdx.x); }

/// Steps each number of a block.
extern "C" __global__ void parent(unsigned* x, unsigned count) { child<<<1, count>>>(x); }

/// Only a function of another source shows that it writes, and that it counts.
extern "C" __global__ void calls(unsigned* x) { step(x); }
