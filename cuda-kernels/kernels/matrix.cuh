// Matrix multiplication, row-major: product (rows x columns) = a (rows x inner) * b (inner x columns).
// Any sizes work: threads past an edge compute nothing and, in the tiled kernel, load zeros.
#pragma once

#include <cuda_runtime.h>

/// The edge of the square tiles, and of the blocks that the tiled kernel must be launched with.
#define MATRIX_TILE 16

/// Multiplies with one thread for each element of the product. Reads both factors from global memory.
///
/// Any two-dimensional block works: `x` runs over columns, `y` over rows.
extern "C" __global__ void matrix_multiply_naive(const float* a, const float* b, float* product, unsigned rows,
                                                 unsigned inner, unsigned columns);

/// Multiplies tile by tile. The block that needs a tile loads it once into shared memory.
///
/// The block must be `MATRIX_TILE` x `MATRIX_TILE`.
extern "C" __global__ void matrix_multiply_tiled(const float* a, const float* b, float* product, unsigned rows,
                                                 unsigned inner, unsigned columns);
