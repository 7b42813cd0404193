// The five kernels by which memory bandwidth is measured, over arrays of doubles: one thread an element, and
// as many threads as elements. The lengths are multiples of the block.
#pragma once

#include <cuda_runtime.h>

/// Threads of a block, which the grid times that many elements must be.
#define STREAM_THREADS 1024
/// What `stream_mul` and `stream_triad` multiply by.
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

/// One sum of `a[i] * b[i]` for each block, over all `count` elements, whatever the grid.
extern "C" __global__ void stream_dot(const double* a, const double* b, double* sums, unsigned count);
