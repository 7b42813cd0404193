// The device code of the cases: a few kernels, and a symbol of each kind with a function that returns its
// handle.
#include <cuda_runtime.h>

extern "C" {

__global__ void case_fill(unsigned char* to, unsigned char value, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = value;
}

__global__ void case_add(int* to, int amount) { atomicAdd(to, amount); }

__global__ void case_empty() {}

// Older devices have no clusters, and run the kernel without them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) case_pairs() {}
#else
__global__ void case_pairs() {}
#endif

__global__ void case_trap() { __trap(); }

__global__ void case_shared(int* to) {
    extern __shared__ int room[];
    room[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    to[threadIdx.x] = room[threadIdx.x];
}

__device__ int case_number = 5;
__device__ int case_list[16] = {1, 2, 3, 4};
__constant__ int case_constant[16] = {9, 8, 7};
__managed__ int case_managed = 11;

__global__ void case_read_symbols(int* to) {
    to[0] = case_number;
    to[1] = case_list[1];
    to[2] = case_constant[2];
    to[3] = case_managed;
}

__global__ void case_texture(cudaTextureObject_t image, const float* x, float* out, unsigned count) {
    unsigned i = threadIdx.x;
    if (i < count) out[i] = tex1D<float>(image, x[i]);
}

__global__ void case_fetch(cudaTextureObject_t image, const int* at, float* out, unsigned count) {
    unsigned i = threadIdx.x;
    if (i < count) out[i] = tex1Dfetch<float>(image, at[i]);
}

__global__ void case_surface(cudaSurfaceObject_t image, int x, float* out) {
    *out = surf1Dread<float>(image, x, cudaBoundaryModeTrap);
}

const void* case_number_symbol() { return &case_number; }
const void* case_list_symbol() { return &case_list; }
const void* case_constant_symbol() { return &case_constant; }
const void* case_managed_symbol() { return &case_managed; }
}
