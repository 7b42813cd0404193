// The library: `build.rs` compiles it with nvcc.
#include "axpy.h"

static __global__ void add(float a, const float* x, float* y, size_t count) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] += a * x[i];
}

int axpy(float a, const float* x, float* y, size_t count, cudaStream_t stream) {
    if (count == 0) return AXPY_EMPTY;
    const unsigned threads = 256;
    add<<<unsigned((count + threads - 1) / threads), threads, 0, stream>>>(a, x, y, count);
    return cudaGetLastError() == cudaSuccess ? AXPY_OK : AXPY_CUDA;
}

int axpy_both(float a, const float* const x[2], float* const y[2], size_t count, const cudaStream_t streams[2]) {
    for (int i = 0; i < 2; ++i) {
        const int status = axpy(a, x[i], y[i], count, streams[i]);
        if (status != AXPY_OK) return status;
    }
    return AXPY_OK;
}

const char* axpy_name(int status) {
    const char* const names[] = {"AXPY_OK", "AXPY_EMPTY", "AXPY_CUDA"};
    return status >= 0 && status < 3 ? names[status] : "unknown";
}
