#include "heap.cuh"

#include <cstdlib>

extern "C" __global__ void heap_squares(unsigned* out, unsigned count, unsigned* failures) {
    __shared__ unsigned* scratch;
    if (threadIdx.x == 0) {
        scratch = static_cast<unsigned*>(malloc(blockDim.x * sizeof(unsigned)));
        if (scratch == nullptr) atomicAdd(failures, 1u);
    }
    __syncthreads();
    if (scratch == nullptr) return;  // the same for the whole block

    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    scratch[threadIdx.x] = i * i;
    if (i < count) out[i] = scratch[threadIdx.x];

    __syncthreads();
    if (threadIdx.x == 0) free(scratch);
}

extern "C" __global__ void heap_keep(unsigned long long* address, unsigned count) {
    __shared__ unsigned* scratch;
    if (threadIdx.x == 0) {
        scratch = static_cast<unsigned*>(malloc(static_cast<size_t>(count) * sizeof(unsigned)));
        *address = reinterpret_cast<unsigned long long>(scratch);
    }
    __syncthreads();
    if (scratch == nullptr) return;

    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) scratch[i] = i * i;
}

extern "C" __global__ void heap_copy_out(const unsigned long long* address, unsigned* out, unsigned count) {
    const unsigned* scratch = reinterpret_cast<const unsigned*>(*address);
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (scratch != nullptr && i < count) out[i] = scratch[i];
}

extern "C" __global__ void heap_release(unsigned long long* address) {
    free(reinterpret_cast<void*>(*address));
    *address = 0;
}
