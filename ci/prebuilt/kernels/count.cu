__constant__ float filter[3];
__device__ unsigned long long hits = 5;
static __device__ int inside = 3;

namespace shared {
__managed__ int numbers[4] = {1, 2, 3, 4};
}

/// @reads filter, inside
/// @writes hits, shared::numbers
extern "C" __global__ void count(float* out) {
    if (threadIdx.x < 3) out[threadIdx.x] = filter[threadIdx.x] + inside;
    if (threadIdx.x == 0) {
        hits += 1;
        shared::numbers[1] = 20;
    }
}
