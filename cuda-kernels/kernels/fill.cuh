// Fills, one kernel for each element type. A runtime memset only sets bytes.
#pragma once

#include <cuda_runtime.h>

/// Sets `count` bytes.
extern "C" __global__ void fill_u8(unsigned char* out, unsigned char value, unsigned count);

/// Sets `count` signed 32-bit integers.
extern "C" __global__ void fill_i32(int* out, int value, unsigned count);

/// Sets `count` unsigned 32-bit integers.
extern "C" __global__ void fill_u32(unsigned* out, unsigned value, unsigned count);

/// Sets `count` unsigned 64-bit integers.
extern "C" __global__ void fill_u64(unsigned long long* out, unsigned long long value, unsigned count);

/// Sets `count` single-precision numbers.
extern "C" __global__ void fill_f32(float* out, float value, unsigned count);

/// Sets `count` double-precision numbers.
extern "C" __global__ void fill_f64(double* out, double value, unsigned count);
