#include "tensor.cuh"

#include <mma.h>

extern "C" __global__ void tensor_multiply(const __half* a, const __half* b, float* c, unsigned n) {
    using namespace nvcuda::wmma;
    constexpr unsigned T = TENSOR_TILE;
    fragment<matrix_a, T, T, T, half, row_major> left;
    fragment<matrix_b, T, T, T, half, row_major> right;
    fragment<accumulator, T, T, T, float> sum;
    fill_fragment(sum, 0.0f);

    unsigned row = blockIdx.y * T, column = blockIdx.x * T;
    for (unsigned k = 0; k < n; k += T) {
        load_matrix_sync(left, a + size_t(row) * n + k, n);
        load_matrix_sync(right, b + size_t(k) * n + column, n);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c + size_t(row) * n + column, sum, n, mem_row_major);
}
