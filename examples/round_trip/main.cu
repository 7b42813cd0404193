// Data goes once round through every direction of copy, from pageable and from pinned memory: host to host, host to
// device, device to device, device to host. What arrives is what left.
#include "../check.cuh"

#include <cstdint>
#include <cstring>

const size_t n = 100000;  // bytes; no multiple of a page, a warp or a transaction

void round_trip(const char* kind, uint8_t* source, uint8_t* copy, uint8_t* result) {
    for (size_t i = 0; i < n; ++i) source[i] = uint8_t(i * 7 + i / 256);
    std::memset(result, 0, n);

    uint8_t *d_first, *d_second;
    CHECK(cudaMalloc(&d_first, n));
    CHECK(cudaMalloc(&d_second, n));
    CHECK(cudaMemcpy(copy, source, n, cudaMemcpyHostToHost));
    CHECK(cudaMemcpy(d_first, copy, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_second, d_first, n, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(result, d_second, n, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_first));
    CHECK(cudaFree(d_second));

    EXPECT(std::memcmp(source, result, n) == 0);
    unsigned sum = 0;
    for (size_t i = 0; i < n; ++i) sum += result[i];
    std::printf("%s: %zu bytes went round unchanged, their sum is %u\n", kind, n, sum);
}

int main() {
    static uint8_t source[n], copy[n], result[n];
    round_trip("pageable", source, copy, result);

    uint8_t *h_source, *h_copy, *h_result;
    CHECK(cudaMallocHost(&h_source, n));
    CHECK(cudaMallocHost(&h_copy, n));
    CHECK(cudaMallocHost(&h_result, n));
    round_trip("pinned", h_source, h_copy, h_result);
    CHECK(cudaFreeHost(h_source));
    CHECK(cudaFreeHost(h_copy));
    CHECK(cudaFreeHost(h_result));
}
