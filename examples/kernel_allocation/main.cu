// Memory that kernels allocate, and its way to the host.
//
// The memory comes from the device heap, whose size the host sets. Only kernels can use it: the host
// cannot copy from its address, and gets an error. So a kernel moves the bytes into a staging buffer,
// which the host then copies.
#include "../check.cuh"
#include "heap.cuh"

#include <vector>

int main() {
    const unsigned n = 1000, threads = 128, blocks = (n + threads - 1) / threads;
    const size_t bytes = n * sizeof(unsigned), heap = 32 << 20;
    std::vector<unsigned> result(n);

    size_t limit;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    std::printf("the heap has at least %zu MiB: %s\n", heap >> 20, yes_no(limit >= heap));

    // Scratch memory within one kernel: each block allocates some, uses it, and frees it.
    unsigned *d_staging, *d_failures, failures;
    CHECK(cudaMalloc(&d_staging, bytes));
    CHECK(cudaMalloc(&d_failures, sizeof failures));
    CHECK(cudaMemset(d_failures, 0, sizeof failures));
    heap_squares<<<blocks, threads>>>(d_staging, n, d_failures);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&failures, d_failures, sizeof failures, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(result.data(), d_staging, bytes, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; ++i) EXPECT(result[i] == i * i);
    std::printf("through scratch memory: %u squares, the last is %u, %u blocks without memory\n", n, result[n - 1], failures);

    // Memory that outlives its kernel: the host gets only its address, and only kernels can use it.
    unsigned long long *d_address, address;
    CHECK(cudaMalloc(&d_address, sizeof address));
    heap_keep<<<1, threads>>>(d_address, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&address, d_address, sizeof address, cudaMemcpyDeviceToHost));
    EXPECT(address != 0);
    const cudaError_t code = cudaMemcpy(result.data(), (void*)address, bytes, cudaMemcpyDeviceToHost);
    std::printf("a host copy from the kernel's memory: %s (%d)\n", cudaGetErrorName(code), int(code));
    cudaGetLastError();  // clears the error, so that it is not mistaken for the next launch's

    CHECK(cudaMemset(d_staging, 0, bytes));
    heap_copy_out<<<blocks, threads>>>(d_address, d_staging, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), d_staging, bytes, cudaMemcpyDeviceToHost));
    heap_release<<<1, 1>>>(d_address);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < n; ++i) EXPECT(result[i] == i * i);
    std::printf("a copy by way of the staging buffer: %u squares, the last is %u\n", n, result[n - 1]);

    CHECK(cudaFree(d_staging));
    CHECK(cudaFree(d_failures));
    CHECK(cudaFree(d_address));
}
