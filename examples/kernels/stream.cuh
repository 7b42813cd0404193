// The five kernels that measure memory bandwidth over arrays of doubles: one thread for each element. The
// lengths are multiples of the block.
#pragma once

#include <cuda_runtime.h>

/// The threads of a block. The arrays have as many elements as the grid has threads.
#define STREAM_THREADS 1024
/// The factor of `stream_mul` and `stream_triad`.
#define STREAM_SCALAR 0.4

/// Sets every element of each array to the value of that array.
extern "C" __global__ void stream_init(double* a, double* b, double* c, double in_a, double in_b, double in_c);

/// `c[i] = a[i]`
extern "C" __global__ void stream_copy(const double* a, double* c);

/// `b[i] = scalar * c[i]`
extern "C" __global__ void stream_mul(double* b, const double* c);

/// `c[i] = a[i] + b[i]`
extern "C" __global__ void stream_add(const double* a, const double* b, double* c);

/// `a[i] = b[i] + scalar * c[i]`
extern "C" __global__ void stream_triad(double* a, const double* b, const double* c);

/// Writes one sum of `a[i] * b[i]` for each block, over all `count` elements together. Any grid works.
extern "C" __global__ void stream_dot(const double* a, const double* b, double* sums, unsigned count);
