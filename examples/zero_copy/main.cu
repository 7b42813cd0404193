// A kernel reads and writes host memory directly.
//
// The memory is pinned and mapped into the device's address space, so nothing is copied.
#include "../check.cuh"
#include "vector.cuh"

int main() {
    const unsigned n = 4096, threads = 256;
    float *h_data, *d_view;
    CHECK(cudaHostAlloc(&h_data, n * sizeof(float), cudaHostAllocMapped));
    for (unsigned i = 0; i < n; ++i) h_data[i] = float(i);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaHostGetDevicePointer(&d_view, h_data, 0));
    scale_offset<<<n / threads, threads, 0, stream>>>(d_view, 0.5f, 3.0f, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));

    for (unsigned i = 0; i < n; ++i) EXPECT(h_data[i] == 0.5f * float(i) + 3.0f);
    std::printf("the kernel changed %u floats in host memory: %.1f, %.1f, ... %.1f\n", n, h_data[0], h_data[1], h_data[n - 1]);

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(h_data));
}
