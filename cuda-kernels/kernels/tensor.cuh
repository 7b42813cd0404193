// Products of matrices by tensor cores: 16-bit factors, 32-bit sums.
#pragma once

#include <cuda_fp16.h>

/// The rows and columns of the tile of the product that a warp computes.
#define TENSOR_TILE 16

/// `c = a * b`, matrices of `n` rows of `n` numbers, row-major. A block is one warp and computes one tile
/// of the product: `n` is a multiple of `TENSOR_TILE`.
extern "C" __global__ void tensor_multiply(const __half* a, const __half* b, float* c, unsigned n);
