// Runtime calls and raw pointers only.
//
// The Rust port in this folder does the same through `check!`, its raw layer: it can call every function
// of the C API, and returns typed errors.
#include "../check.cuh"
#include "vector.cuh"

#include <vector>

int main() {
    const unsigned n = 1000, threads = 256;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n, 1.25f), b(n, 2.5f), sum(n);

    float *d_a, *d_b, *d_sum;
    CHECK(cudaMalloc((void**)&d_a, bytes));
    CHECK(cudaMalloc((void**)&d_b, bytes));
    CHECK(cudaMalloc((void**)&d_sum, bytes));
    CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));

    vector_add<<<(n + threads - 1) / threads, threads>>>(d_a, d_b, d_sum, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(sum.data(), d_sum, bytes, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; ++i) EXPECT(sum[i] == 3.75f);
    std::printf("%u sums of %.2f and %.2f: all %.2f\n", n, a[0], b[0], sum[0]);

    const cudaError_t code = cudaMemcpy(sum.data(), nullptr, bytes, cudaMemcpyDeviceToHost);
    std::printf("a copy from a null pointer: %s (%d)\n", cudaGetErrorName(code), int(code));

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_sum));
}
