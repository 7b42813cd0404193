// Copies bytes in every direction, unchanged.
//
// From pageable and from pinned memory they go host to host, host to device, device to device, and device
// to host. The result equals the input.
#include "../check.cuh"

#include <cstdint>
#include <cstring>
#include <vector>

const size_t n = 100000;  // bytes; not a multiple of a page, a warp or a transaction

void fill(uint8_t* source) {
    for (size_t i = 0; i < n; ++i) source[i] = uint8_t(i % 251);
}

void check(const char* kind, const uint8_t* source, const uint8_t* result) {
    EXPECT(std::memcmp(source, result, n) == 0);
    unsigned sum = 0;
    for (size_t i = 0; i < n; ++i) sum += result[i];
    std::printf("%s: %zu bytes went round unchanged, their sum is %u\n", kind, n, sum);
}

int main() {
    uint8_t *d_first, *d_second;
    CHECK(cudaMalloc(&d_first, n));
    CHECK(cudaMalloc(&d_second, n));

    std::vector<uint8_t> source(n), copy(n), result(n);
    fill(source.data());
    CHECK(cudaMemcpy(copy.data(), source.data(), n, cudaMemcpyHostToHost));
    CHECK(cudaMemcpy(d_first, copy.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_second, d_first, n, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(result.data(), d_second, n, cudaMemcpyDeviceToHost));
    check("pageable", source.data(), result.data());

    uint8_t *h_source, *h_copy, *h_result;
    CHECK(cudaMallocHost(&h_source, n));
    CHECK(cudaMallocHost(&h_copy, n));
    CHECK(cudaMallocHost(&h_result, n));
    fill(h_source);
    CHECK(cudaMemcpy(h_copy, h_source, n, cudaMemcpyHostToHost));
    CHECK(cudaMemcpy(d_first, h_copy, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_second, d_first, n, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(h_result, d_second, n, cudaMemcpyDeviceToHost));
    check("pinned", h_source, h_result);

    CHECK(cudaFree(d_first));
    CHECK(cudaFree(d_second));
    CHECK(cudaFreeHost(h_source));
    CHECK(cudaFreeHost(h_copy));
    CHECK(cudaFreeHost(h_result));
}
