// The kernels of the drawn cases: the shapes that the counted programs launch.
#include <cuda_runtime.h>

extern "C" {

__global__ void case_scale(float* to, const float* from, float by, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = by * from[i];
}

// Each block adds its part in shared memory, and the result to one number.
__global__ void case_sum(int* out, const int* in, int count) {
    extern __shared__ int part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < count ? in[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

__global__ void __launch_bounds__(128, 2) case_bounded(int* out) {
    __shared__ int one;
    __shared__ int three[3];
    if (threadIdx.x == 0) one = static_cast<int>(blockDim.x);
    if (threadIdx.x < 3) three[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = one + three[0] + three[1] + three[2];
}

// A block of the device's heap: whether there is room, and what is written there.
__global__ void case_heap(int* out, unsigned long long bytes) {
    int* own = static_cast<int*>(malloc(bytes));
    out[0] = own != nullptr;
    if (own) {
        own[0] = 7;
        out[1] = own[0];
        free(own);
    }
}

__global__ void case_shape(unsigned* out) {
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
        out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
    }
}
}
