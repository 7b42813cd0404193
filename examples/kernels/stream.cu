#include "stream.cuh"

namespace {

__device__ size_t element() { return static_cast<size_t>(blockIdx.x) * STREAM_THREADS + threadIdx.x; }

}  // namespace

extern "C" __global__ void stream_init(double* a, double* b, double* c, double in_a, double in_b, double in_c) {
    const size_t i = element();
    a[i] = in_a;
    b[i] = in_b;
    c[i] = in_c;
}

extern "C" __global__ void stream_copy(const double* a, double* c) {
    const size_t i = element();
    c[i] = a[i];
}

extern "C" __global__ void stream_mul(double* b, const double* c) {
    const size_t i = element();
    b[i] = STREAM_SCALAR * c[i];
}

extern "C" __global__ void stream_add(const double* a, const double* b, double* c) {
    const size_t i = element();
    c[i] = a[i] + b[i];
}

extern "C" __global__ void stream_triad(double* a, const double* b, const double* c) {
    const size_t i = element();
    a[i] = b[i] + STREAM_SCALAR * c[i];
}

extern "C" __global__ void stream_dot(const double* a, const double* b, double* sums, unsigned count) {
    __shared__ double block[STREAM_THREADS];
    const size_t step = static_cast<size_t>(gridDim.x) * STREAM_THREADS;
    double sum = 0.0;
    for (size_t i = element(); i < count; i += step) sum += a[i] * b[i];
    block[threadIdx.x] = sum;
    for (unsigned half = STREAM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) block[threadIdx.x] += block[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = block[0];
}
