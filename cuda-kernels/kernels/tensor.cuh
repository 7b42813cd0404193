// Products of matrices by tensor cores: numbers of 16 bits, sums of 32.
#pragma once

#include <cuda_fp16.h>

/// Rows and columns of the part of the product that a warp computes.
#define TENSOR_TILE 16

/// `c = a * b`, all of `n` rows of `n` numbers, one after the other. A block is one warp, and has one tile of
/// the product: `n` is a multiple of `TENSOR_TILE`.
extern "C" __global__ void tensor_multiply(const __half* a, const __half* b, float* c, unsigned n);
