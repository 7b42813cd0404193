#include "matrix.cuh"

extern "C" __global__ void matrix_multiply_naive(const float* a, const float* b, float* product, unsigned rows,
                                                 unsigned inner, unsigned columns) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;

    float sum = 0.0f;
    for (unsigned k = 0; k < inner; ++k) {
        sum = fmaf(a[static_cast<size_t>(row) * inner + k], b[static_cast<size_t>(k) * columns + column], sum);
    }
    product[static_cast<size_t>(row) * columns + column] = sum;
}

extern "C" __global__ void matrix_multiply_tiled(const float* a, const float* b, float* product, unsigned rows,
                                                 unsigned inner, unsigned columns) {
    __shared__ float tile_a[MATRIX_TILE][MATRIX_TILE];
    __shared__ float tile_b[MATRIX_TILE][MATRIX_TILE];

    unsigned x = threadIdx.x;
    unsigned y = threadIdx.y;
    unsigned column = blockIdx.x * MATRIX_TILE + x;
    unsigned row = blockIdx.y * MATRIX_TILE + y;

    float sum = 0.0f;
    // The loop counts tiles: a counter of elements could overflow in the last step, and the loop would
    // not end.
    unsigned tiles = inner / MATRIX_TILE + (inner % MATRIX_TILE != 0);
    for (unsigned tile = 0; tile < tiles; ++tile) {
        unsigned start = tile * MATRIX_TILE;
        // Every thread of the block gets here, also those past the edge: they take part in the loads and
        // barriers.
        bool a_inside = row < rows && start + x < inner;
        bool b_inside = column < columns && start + y < inner;
        tile_a[y][x] = a_inside ? a[static_cast<size_t>(row) * inner + start + x] : 0.0f;
        tile_b[y][x] = b_inside ? b[static_cast<size_t>(start + y) * columns + column] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < MATRIX_TILE; ++k) sum = fmaf(tile_a[y][k], tile_b[k][x], sum);
        __syncthreads();
    }
    if (row < rows && column < columns) product[static_cast<size_t>(row) * columns + column] = sum;
}
