// Events report completion, make streams wait, and measure time.
//
// They mark points in a stream: here the ends of a kernel and of a copy. A gate kernel holds the stream,
// so "not done" is certain and does not depend on timing.
//
// Not under sanitizers: a kernel polls a flag while the host asks what is done.
#include "../check.cuh"
#include "fill.cuh"
#include "gate.cuh"

#include <cstring>

bool is_done(cudaEvent_t event) {
    const cudaError_t code = cudaEventQuery(event);
    if (code == cudaErrorNotReady) return false;
    CHECK(code);
    return true;
}

int main() {
    const unsigned n = 4096, threads = 256, blocks = n / threads;
    const size_t bytes = n * sizeof(float);
    float *d_data, *h_first, *h_second;
    CHECK(cudaMalloc(&d_data, bytes));
    CHECK(cudaMallocHost(&h_first, bytes));
    CHECK(cudaMallocHost(&h_second, bytes));
    std::memset(h_first, 0, bytes);
    std::memset(h_second, 0, bytes);
    volatile unsigned* flag;
    unsigned* d_flag;
    CHECK(cudaHostAlloc((void**)&flag, sizeof *flag, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void**)&d_flag, (void*)flag, 0));

    cudaStream_t stream, other;
    cudaEvent_t start, kernel_done, copy_done, other_done;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&kernel_done));
    CHECK(cudaEventCreate(&copy_done));
    CHECK(cudaEventCreateWithFlags(&other_done, cudaEventDisableTiming));

    // CUDA loads a kernel when it is first launched, and loading may wait for the device. So both kernels
    // run once before the gate closes.
    *flag = 1;
    gate<<<1, 1, 0, stream>>>(d_flag);
    fill_f32<<<blocks, threads, 0, stream>>>(d_data, 0.0f, n);
    CHECK(cudaStreamSynchronize(stream));

    *flag = 0;
    gate<<<1, 1, 0, stream>>>(d_flag);
    CHECK(cudaEventRecord(start, stream));
    fill_f32<<<blocks, threads, 0, stream>>>(d_data, 7.0f, n);
    CHECK(cudaEventRecord(kernel_done, stream));
    CHECK(cudaMemcpyAsync(h_first, d_data, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(copy_done, stream));
    CHECK(cudaStreamWaitEvent(other, kernel_done, 0));
    CHECK(cudaMemcpyAsync(h_second, d_data, bytes, cudaMemcpyDeviceToHost, other));
    CHECK(cudaEventRecord(other_done, other));
    std::printf("gate closed: kernel done? %s. copy done? %s. other stream done? %s.\n", yes_no(is_done(kernel_done)),
                yes_no(is_done(copy_done)), yes_no(is_done(other_done)));

    *flag = 1;
    CHECK(cudaEventSynchronize(copy_done));
    CHECK(cudaEventSynchronize(other_done));
    std::printf("gate open: kernel done? %s. copy done? %s. other stream done? %s.\n", yes_no(is_done(kernel_done)),
                yes_no(is_done(copy_done)), yes_no(is_done(other_done)));
    std::printf("the copy brought %.0f, the one that waited for the kernel %.0f\n", h_first[n - 1], h_second[n - 1]);

    float kernel_ms, copy_ms, back_ms;
    CHECK(cudaEventElapsedTime(&kernel_ms, start, kernel_done));
    CHECK(cudaEventElapsedTime(&copy_ms, kernel_done, copy_done));
    CHECK(cudaEventElapsedTime(&back_ms, copy_done, start));
    std::printf("time from start to kernel is not negative: %s\n", yes_no(kernel_ms >= 0));
    std::printf("time from kernel to copy is not negative: %s\n", yes_no(copy_ms >= 0));
    std::printf("time from copy back to start is not positive: %s\n", yes_no(back_ms <= 0));
    float none_ms;
    const cudaError_t code = cudaEventElapsedTime(&none_ms, start, other_done);
    std::printf("time to an event without timing: %s (%d)\n", cudaGetErrorName(code), int(code));

    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(kernel_done));
    CHECK(cudaEventDestroy(copy_done));
    CHECK(cudaEventDestroy(other_done));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFree(d_data));
    CHECK(cudaFreeHost(h_first));
    CHECK(cudaFreeHost(h_second));
    CHECK(cudaFreeHost((void*)flag));
}
