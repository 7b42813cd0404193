// All devices sum their parts of an array, and the first one sums them up.
//
// Each device has its own stream, which copies a part to the device, sums it, and copies the sums of the
// blocks to the first device. The first device's stream waits for all of them.
#include "../check.cuh"
#include "reduce.cuh"

#include <vector>

struct Work {
    cudaStream_t stream;
    cudaEvent_t done;
    int *h_part, *d_part, *d_sums;
};

int main() {
    const unsigned n = 1 << 14, blocks = 8, threads = 128;
    const size_t bytes = n * sizeof(int), sums_bytes = blocks * sizeof(int);
    int count;
    CHECK(cudaGetDeviceCount(&count));
    int *d_all, *d_total, total, expected = 0;
    CHECK(cudaMalloc(&d_all, count * sums_bytes));
    CHECK(cudaMalloc(&d_total, sizeof total));
    std::vector<Work> all(count);

    for (int device = 0; device < count; ++device) {
        Work& work = all[device];
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&work.done, cudaEventDisableTiming));
        CHECK(cudaMallocHost(&work.h_part, bytes));
        CHECK(cudaMalloc(&work.d_part, bytes));
        CHECK(cudaMalloc(&work.d_sums, sums_bytes));
        for (unsigned i = 0; i < n; ++i) {
            work.h_part[i] = int(i % 100) + device;
            expected += work.h_part[i];
        }

        CHECK(cudaMemcpyAsync(work.d_part, work.h_part, bytes, cudaMemcpyHostToDevice, work.stream));
        block_sums<<<blocks, threads, 0, work.stream>>>(work.d_part, work.d_sums, n);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyPeerAsync(d_all + device * blocks, 0, work.d_sums, device, sums_bytes, work.stream));
        CHECK(cudaEventRecord(work.done, work.stream));
    }

    CHECK(cudaSetDevice(0));
    cudaStream_t stream = all[0].stream;
    for (Work& work : all) CHECK(cudaStreamWaitEvent(stream, work.done, 0));
    block_sums<<<1, threads, 0, stream>>>(d_all, d_total, count * blocks);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(&total, d_total, sizeof total, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(total == expected);
    std::printf("%u numbers on each device, their sum is %d for %d devices\n", n, total, count);

    for (int device = 0; device < count; ++device) {
        Work& work = all[device];
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamDestroy(work.stream));
        CHECK(cudaEventDestroy(work.done));
        CHECK(cudaFree(work.d_part));
        CHECK(cudaFree(work.d_sums));
        CHECK(cudaFreeHost(work.h_part));
    }
    CHECK(cudaFree(d_all));
    CHECK(cudaFree(d_total));
}
