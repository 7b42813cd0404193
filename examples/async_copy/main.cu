// Copies a million random floats to the device and back.
//
// They go asynchronously from pinned memory through a non-blocking stream. The host waits once, at the end.
#include "../check.cuh"

#include <cstdint>
#include <cstring>

int main() {
    const size_t n = 1 << 20, bytes = n * sizeof(float);
    float *h_source, *h_result, *d_data;
    CHECK(cudaMallocHost(&h_source, bytes));
    CHECK(cudaMallocHost(&h_result, bytes));
    CHECK(cudaMalloc(&d_data, bytes));

    uint32_t state = 2463534242;  // xorshift: every run and both languages draw the same numbers
    for (size_t i = 0; i < n; ++i) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        h_source[i] = float(state >> 8) / 16777216.0f;
    }
    std::memset(h_result, 0, bytes);

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemcpyAsync(d_data, h_source, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(h_result, d_data, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));

    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        EXPECT(h_result[i] == h_source[i]);
        sum += h_result[i];
    }
    std::printf("%zu floats came back unchanged\n", n);
    std::printf("first %.6f, last %.6f, mean %.6f\n", h_result[0], h_result[n - 1], sum / double(n));

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(d_data));
    CHECK(cudaFreeHost(h_source));
    CHECK(cudaFreeHost(h_result));
}
