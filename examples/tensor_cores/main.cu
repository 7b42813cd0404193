// A product of half-precision matrices by tensor cores.
#include "../check.cuh"
#include "tensor.cuh"

#include <vector>

int main() {
    const unsigned n = 64, tiles = n / TENSOR_TILE;
    std::vector<__half> a(n * n), b(n * n);
    std::vector<float> c(n * n);
    for (unsigned i = 0; i < n * n; ++i) {
        a[i] = __float2half(float(i * 7 % 11) - 5.0f);
        b[i] = __float2half(float(i * 5 % 13) - 6.0f);
    }

    __half *d_a, *d_b;
    float* d_c;
    CHECK(cudaMalloc(&d_a, n * n * sizeof(__half)));
    CHECK(cudaMalloc(&d_b, n * n * sizeof(__half)));
    CHECK(cudaMalloc(&d_c, n * n * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), n * n * sizeof(__half), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), n * n * sizeof(__half), cudaMemcpyHostToDevice));
    tensor_multiply<<<dim3(tiles, tiles), 32>>>(d_a, d_b, d_c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), d_c, n * n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));

    // The numbers are small integers, so no sum is rounded, in any order of summation.
    for (unsigned i = 0; i < n * n; ++i) {
        float sum = 0.0f;
        for (unsigned k = 0; k < n; ++k) sum += __half2float(a[i / n * n + k]) * __half2float(b[k * n + i % n]);
        EXPECT(c[i] == sum);
    }
    std::printf("corners: %.0f %.0f %.0f %.0f\n", c[0], c[n - 1], c[n * n - n], c[n * n - 1]);
    std::printf("all %u elements are right\n", n * n);
}
