// A product of matrices by tensor cores, whose tiles are fetched while those before them are multiplied.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstdio>
#include <cstring>
#include <vector>

constexpr int TILE = 32, STEP = 16, PAD = 8;

// Each of four warps has 16 x 16 elements of a block's 32 x 32. Without `waits`, the wait for the tile is
// missing.
__global__ void gemm(const half* a, const half* b, float* c, int n, bool waits) {
    __shared__ __align__(16) half left[2][TILE][STEP + PAD];
    __shared__ __align__(16) half right[2][STEP][TILE + PAD];
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    auto fetch = [&](int stage, int k) {
        if (thread < 64) {
            const int y = thread / 2, x = thread % 2 * 8;
            __pipeline_memcpy_async(&left[stage][y][x], a + (row + y) * n + k + x, 16);
        } else {
            const int y = (thread - 64) / 4, x = thread % 4 * 8;
            __pipeline_memcpy_async(&right[stage][y][x], b + (k + y) * n + column + x, 16);
        }
        __pipeline_commit();
    };
    float sums[2][4] = {};
    fetch(0, 0);
    for (int k = 0; k < n; k += STEP) {
        const int stage = k / STEP % 2;
        if (k + STEP < n) {
            fetch(1 - stage, k + STEP);
            if (waits) __pipeline_wait_prior(1);
        } else if (waits) {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        unsigned x[4], y[4];
        const unsigned from = __cvta_generic_to_shared(&left[stage][warp / 2 * 16 + lane % 16][lane / 16 * 8]);
        const unsigned with = __cvta_generic_to_shared(&right[stage][lane % 16][warp % 2 * 16 + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(from));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(with));
        for (int half = 0; half < 2; half++) {
            float* d = sums[half];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[half * 2]), "r"(y[half * 2 + 1]));
        }
        // The next turn fetches into the tile that was just read.
        __syncthreads();
    }
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 4; i++) {
            const int y = row + warp / 2 * 16 + lane / 4 + i / 2 * 8;
            const int x = column + warp % 2 * 16 + half * 8 + lane % 4 * 2 + i % 2;
            c[y * n + x] = sums[half][i];
        }
    }
}

int main(int count, char** arguments) {
    const bool waits = count < 2 || strcmp(arguments[1], "forgets") != 0;
    const int n = 96;
    std::vector<half> a(n * n), b(n * n);
    std::vector<int> x(n * n), y(n * n);
    for (int i = 0; i < n * n; i++) {
        x[i] = (i * 7 + i / n) % 11 - 5;
        y[i] = (i * 5 + i / n * 3) % 13 - 6;
        a[i] = __float2half(float(x[i]));
        b[i] = __float2half(float(y[i]));
    }
    half *left, *right;
    float* product;
    cudaMalloc(&left, n * n * sizeof(half));
    cudaMalloc(&right, n * n * sizeof(half));
    cudaMalloc(&product, n * n * sizeof(float));
    cudaMemcpy(left, a.data(), n * n * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(right, b.data(), n * n * sizeof(half), cudaMemcpyHostToDevice);
    gemm<<<dim3(n / TILE, n / TILE), 128>>>(left, right, product, n, waits);
    std::vector<float> got(n * n);
    const cudaError_t code = cudaMemcpy(got.data(), product, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n * n; i++) {
        int sum = 0;
        for (int k = 0; k < n; k++) sum += x[i / n * n + k] * y[k * n + i % n];
        wrong += got[i] != float(sum);
    }
    printf("%s, %s\n", cudaGetErrorName(code), wrong ? "wrong" : "right");
    cudaFree(left);
    cudaFree(right);
    cudaFree(product);
}
