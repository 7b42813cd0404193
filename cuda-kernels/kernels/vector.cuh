// Element-wise kernels over vectors: one thread for each element; threads past the end do nothing.
#pragma once

#include <cuda_runtime.h>

/// Adds two vectors: `sum[i] = a[i] + b[i]` for every `i < count`.
extern "C" __global__ void vector_add(const float* a, const float* b, float* sum, unsigned count);

/// Scales and shifts in place: `data[i] = data[i] * scale + offset`, rounded once.
extern "C" __global__ void scale_offset(float* data, float scale, float offset, unsigned count);

/// Adds one to every element in place.
extern "C" __global__ void add_one(int* data, unsigned count);

/// Doubles every element in place.
extern "C" __global__ void double_values(int* data, unsigned count);

/// Squares every element: `squares[i] = numbers[i] * numbers[i]`.
extern "C" __global__ void square(const int* numbers, int* squares, unsigned count);

/// Copies element by element. Source and destination may be device memory or mapped host memory.
extern "C" __global__ void copy_values(const float* from, float* to, unsigned count);

/// Adds `step[0]` to every element, `rounds` times. It only reads `step`, which its type does not say.
extern "C" __global__ void add_step(int* data, int* step, unsigned count, int rounds);
