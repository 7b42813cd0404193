#include "reduce.cuh"

#include <climits>

namespace {

struct Sum {
    static constexpr int START = 0;
    __device__ static int join(int a, int b) { return a + b; }
};

struct Maximum {
    static constexpr int START = INT_MIN;
    __device__ static int join(int a, int b) { return a > b ? a : b; }
};

// Each thread joins every so many elements, and the block joins what its threads found, in halves.
template <typename By>
__device__ void reduce(const int* in, int* out, unsigned count) {
    __shared__ int found[1024];
    int mine = By::START;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        mine = By::join(mine, in[i]);
    found[threadIdx.x] = mine;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) found[threadIdx.x] = By::join(found[threadIdx.x], found[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = found[0];
}

}  // namespace

extern "C" __global__ void block_sums(const int* in, int* sums, unsigned count) { reduce<Sum>(in, sums, count); }

extern "C" __global__ void block_maxima(const int* in, int* maxima, unsigned count) {
    reduce<Maximum>(in, maxima, count);
}
