// A second library with kernels that launch kernels.
__device__ void twice(unsigned* x);

__global__ void child_of_other(unsigned* x) { twice(x + threadIdx.x); }

/// Doubles each number of a block.
extern "C" __global__ void parent_of_other(unsigned* x, unsigned count) { child_of_other<<<1, count>>>(x); }
