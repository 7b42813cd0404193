// Shows a profiler two streams, their operations and their waits.
//
// Two streams take turns with one buffer. In a timeline of Nsight Systems the streams have names, each
// submission is a range, and a mark shows each wait. Without a profiler, NVTX does nothing. (In the Rust
// port the waits are the tracker's, and their marks name the lines.)
#include "../check.cuh"

#include <nvtx3/nvToolsExtCudaRt.h>

static int waits = 0;

// Makes the work of one stream wait for all that the other was given.
static void wait_for(cudaStream_t stream, cudaEvent_t event, cudaStream_t other) {
    CHECK(cudaEventRecord(event, other));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    nvtxMarkA("wait");
    ++waits;
}

int main() {
    const size_t n = 1 << 16, bytes = n * sizeof(int);
    cudaStream_t copies, fills;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&fills, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    nvtxNameCudaStreamA(copies, "copies");
    nvtxNameCudaStreamA(fills, "fills");

    int *input, *output, *d;
    CHECK(cudaMallocHost(&input, bytes));
    CHECK(cudaMallocHost(&output, bytes));
    CHECK(cudaMalloc(&d, bytes));
    for (size_t i = 0; i < n; ++i) input[i] = 21;
    for (int round = 0; round < 3; ++round) {
        nvtxRangePushA("upload");
        CHECK(cudaMemcpyAsync(d, input, bytes, cudaMemcpyHostToDevice, copies));
        nvtxRangePop();
        nvtxRangePushA("clear the first half");
        wait_for(fills, event, copies);
        CHECK(cudaMemsetAsync(d, 0, bytes / 2, fills));
        nvtxRangePop();
        nvtxRangePushA("download");
        wait_for(copies, event, fills);
        CHECK(cudaMemcpyAsync(output, d, bytes, cudaMemcpyDeviceToHost, copies));
        nvtxRangePop();
    }
    nvtxRangePushA("wait for all");
    CHECK(cudaStreamSynchronize(copies));
    nvtxRangePop();

    std::printf("the first number is %d, the last %d\n", output[0], output[n - 1]);
    std::printf("%d waits between the streams\n", waits);

    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(copies));
    CHECK(cudaStreamDestroy(fills));
    CHECK(cudaFree(d));
    CHECK(cudaFreeHost(input));
    CHECK(cudaFreeHost(output));
}
