// Numbers of 16 bits, alone and in pairs: as memory and by value.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/// `data[i] *= by`
extern "C" __global__ void scale_halves(__half* data, __half by, unsigned count);

/// `data[i] *= by`
extern "C" __global__ void scale_bfloats(__nv_bfloat16* data, __nv_bfloat16 by, unsigned count);

/// `sum[i] = a[i] + more`, for pairs.
extern "C" __global__ void add_pairs(const __half2* a, __half2* sum, __half2 more, unsigned count);
