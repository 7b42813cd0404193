// One kernel of each kind, and one variable.
#include "shared.cuh"

__constant__ float factor = NUMBER;
__device__ unsigned hits = NUMBER;

extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned count) {
    if (threadIdx.x < count) y[threadIdx.x] = a * x[threadIdx.x] + NUMBER * y[threadIdx.x];
}

/// The parameters differ.
#if NUMBER == 2 || NUMBER == 12
extern "C" __global__ void fill(unsigned long long count, double value, double* to) {
    if (threadIdx.x < count) to[threadIdx.x] = value + NUMBER;
}
#else
extern "C" __global__ void fill(float* to, unsigned count) {
    if (threadIdx.x < count) to[threadIdx.x] = NUMBER;
}
#endif

/// `x` times `factor`, and counts.
__global__ void times_factor(float* x) {
    *x *= factor;
    hits += 1;
}

template __global__ void scale<float>(float*, unsigned);
