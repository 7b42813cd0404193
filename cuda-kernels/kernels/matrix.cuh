// Matrix multiplication, row-major: product (rows x columns) = a (rows x inner) * b (inner x columns).
// Any widths: threads past an edge compute nothing and, in the tiled kernel, load zeros.
#pragma once

#include <cuda_runtime.h>

/// Edge of the square tiles, and of the blocks that the tiled kernel must be launched with.
#define MATRIX_TILE 16

/// Multiplies with one thread an element of the product, reading both factors from global memory.
///
/// Any two-dimensional block will do: `x` runs over columns, `y` over rows.
extern "C" __global__ void matrix_multiply_naive(const float* a, const float* b, float* product, unsigned rows,
                                                 unsigned inner, unsigned columns);

/// Multiplies tile by tile, each tile loaded once into shared memory by its block.
///
/// The block must be `MATRIX_TILE` x `MATRIX_TILE`.
extern "C" __global__ void matrix_multiply_tiled(const float* a, const float* b, float* product, unsigned rows,
                                                 unsigned inner, unsigned columns);
