// Adds two vectors, with a staging buffer.
//
// The sum comes back through a second device buffer, so the program uses an upload, a kernel, a copy on
// the device, and a download.
#include "../check.cuh"
#include "vector.cuh"

#include <vector>

int main() {
    const unsigned n = 1024, threads = 256;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), sum(n);
    for (unsigned i = 0; i < n; ++i) {
        a[i] = float(i);
        b[i] = 0.5f * float(i);
    }

    float *d_a, *d_b, *d_sum, *d_staging;
    CHECK(cudaMalloc(&d_a, bytes));
    CHECK(cudaMalloc(&d_b, bytes));
    CHECK(cudaMalloc(&d_sum, bytes));
    CHECK(cudaMalloc(&d_staging, bytes));
    CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));

    vector_add<<<n / threads, threads>>>(d_a, d_b, d_sum, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(d_staging, d_sum, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(sum.data(), d_staging, bytes, cudaMemcpyDeviceToHost));

    for (unsigned i = 0; i < n; ++i) EXPECT(sum[i] == a[i] + b[i]);
    for (unsigned i = 0; i < n; i += 341) std::printf("%.1f + %.1f = %.1f\n", a[i], b[i], sum[i]);
    std::printf("all %u sums are right\n", n);

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_sum));
    CHECK(cudaFree(d_staging));
}
