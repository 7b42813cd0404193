// A library as others write them: functions over raw pointers and a stream. Each submits its work and
// returns.
#pragma once

#include <cuda_runtime.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The answers of the functions.
enum { AXPY_OK = 0, AXPY_EMPTY = 1, AXPY_CUDA = 2 };

// y = a x + y, for `count` numbers.
int axpy(float a, const float* x, float* y, size_t count, cudaStream_t stream);

// The same for two pairs of vectors, each on a stream of its own, in one call.
int axpy_both(float a, const float* const x[2], float* const y[2], size_t count, const cudaStream_t streams[2]);

// The name of an answer.
const char* axpy_name(int status);

#ifdef __cplusplus
}
#endif
