// Allocates and frees memory in the order of a stream.
//
// The host never waits for an allocation. Memory is freed right after the last operation that uses it was
// enqueued, and the next turn gets the same memory from the device's pool.
#include "../check.cuh"
#include "vector.cuh"

#include <cstdint>

int main() {
    const unsigned n = 1 << 14, threads = 256;
    const size_t bytes = n * sizeof(float);
    int device, supported;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
    EXPECT(supported);
    float *h_a, *h_b, *h_sum;
    CHECK(cudaMallocHost(&h_a, bytes));
    CHECK(cudaMallocHost(&h_b, bytes));
    CHECK(cudaMallocHost(&h_sum, bytes));
    for (unsigned i = 0; i < n; ++i) {
        h_a[i] = float(i);
        h_b[i] = 2.0f * float(i);
    }
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    // By default a pool returns its free memory at each synchronisation.
    cudaMemPool_t pool;
    uint64_t threshold = UINT64_MAX;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));

    for (int turn = 1; turn <= 3; ++turn) {
        float *d_a, *d_b, *d_sum;
        CHECK(cudaMallocAsync(&d_a, bytes, stream));
        CHECK(cudaMallocAsync(&d_b, bytes, stream));
        CHECK(cudaMallocAsync(&d_sum, bytes, stream));
        CHECK(cudaMemcpyAsync(d_a, h_a, bytes, cudaMemcpyHostToDevice, stream));
        CHECK(cudaMemcpyAsync(d_b, h_b, bytes, cudaMemcpyHostToDevice, stream));
        vector_add<<<n / threads, threads, 0, stream>>>(d_a, d_b, d_sum, n);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(d_a, stream));
        CHECK(cudaFreeAsync(d_b, stream));
        CHECK(cudaMemcpyAsync(h_sum, d_sum, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(d_sum, stream));
        CHECK(cudaStreamSynchronize(stream));

        for (unsigned i = 0; i < n; ++i) EXPECT(h_sum[i] == 3.0f * float(i));
        uint64_t used, reserved;
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        std::printf("turn %d: %u sums are right, %zu bytes are in use, the pool keeps memory: %s\n", turn, n,
                    size_t(used), yes_no(reserved >= 3 * bytes));
    }
    CHECK(cudaMemPoolTrimTo(pool, 0));
    uint64_t reserved;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    std::printf("after a trim it keeps %zu bytes\n", size_t(reserved));

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(h_a));
    CHECK(cudaFreeHost(h_b));
    CHECK(cudaFreeHost(h_sum));
}
