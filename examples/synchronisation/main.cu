// Shows which work is complete when a call returns.
//
// A gate kernel holds a stream until the host opens it, so each answer is proven: while the gate is
// closed, no work behind it can have run.
//
// Not under sanitizers: a kernel polls a flag while the host asks what is done.
#include "../check.cuh"
#include "fill.cuh"
#include "gate.cuh"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

bool is_done(cudaStream_t stream) {
    const cudaError_t code = cudaStreamQuery(stream);
    if (code == cudaErrorNotReady) return false;
    CHECK(code);
    return true;
}

int main() {
    const unsigned n = 4096, threads = 256, blocks = n / threads;
    const size_t bytes = n * sizeof(unsigned);
    unsigned *d_gated, *d_free, *d_set, *h_gated, *h_free;
    CHECK(cudaMalloc(&d_gated, bytes));
    CHECK(cudaMalloc(&d_free, bytes));
    CHECK(cudaMalloc(&d_set, bytes));
    CHECK(cudaMallocHost(&h_gated, bytes));
    CHECK(cudaMallocHost(&h_free, bytes));
    std::memset(h_gated, 0, bytes);
    std::memset(h_free, 0, bytes);
    volatile unsigned* flag;
    unsigned* d_flag;
    CHECK(cudaHostAlloc((void**)&flag, sizeof *flag, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void**)&d_flag, (void*)flag, 0));
    cudaStream_t gated, independent;
    CHECK(cudaStreamCreate(&gated));
    CHECK(cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking));

    // CUDA loads a kernel when it is first launched, and loading may wait for the device. So both kernels
    // run once before the gate closes.
    *flag = 1;
    gate<<<1, 1, 0, gated>>>(d_flag);
    fill_u32<<<blocks, threads, 0, gated>>>(d_gated, 0, n);
    CHECK(cudaStreamSynchronize(gated));

    *flag = 0;
    gate<<<1, 1, 0, gated>>>(d_flag);
    fill_u32<<<blocks, threads, 0, gated>>>(d_gated, 7, n);
    CHECK(cudaGetLastError());
    std::printf("after a kernel launch: done? %s\n", yes_no(is_done(gated)));

    CHECK(cudaMemcpyAsync(h_gated, d_gated, bytes, cudaMemcpyDeviceToHost, gated));
    std::printf("after an asynchronous copy: done? %s\n", yes_no(is_done(gated)));

    std::atomic<int> calls{0};
    CHECK(cudaLaunchHostFunc(gated, [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, &calls));
    std::printf("after a host function was enqueued: done? %s, calls: %d\n", yes_no(is_done(gated)), calls.load());

    // The legacy stream waits for the gate, but the host does not wait for a fill of device memory or a
    // copy within it.
    CHECK(cudaMemset(d_set, 1, bytes));
    std::printf("after a memset of device memory: done? %s\n", yes_no(is_done(gated)));

    // A non-blocking stream does not wait for the gate: its work completes while the gate is closed.
    fill_u32<<<blocks, threads, 0, independent>>>(d_free, 9, n);
    CHECK(cudaMemcpyAsync(h_free, d_free, bytes, cudaMemcpyDeviceToHost, independent));
    CHECK(cudaStreamSynchronize(independent));
    std::printf("the non-blocking stream: done? %s, brought %u; the gated one: done? %s\n", yes_no(is_done(independent)),
                h_free[n - 1], yes_no(is_done(gated)));

    // A blocking copy to the host waits for all earlier work of the blocking streams, so another thread
    // opens the gate.
    std::vector<unsigned> result(n);
    std::thread opener([flag] { *flag = 1; });
    CHECK(cudaMemcpy(result.data(), d_gated, bytes, cudaMemcpyDeviceToHost));
    std::printf("after a blocking copy: done? %s, brought %u\n", yes_no(is_done(gated)), result[n - 1]);
    opener.join();

    CHECK(cudaStreamSynchronize(gated));
    std::printf("after synchronising: done? %s, calls: %d, the asynchronous copy brought %u\n", yes_no(is_done(gated)),
                calls.load(), h_gated[n - 1]);
    CHECK(cudaMemcpy(result.data(), d_set, bytes, cudaMemcpyDeviceToHost));
    std::printf("the memset wrote 0x%08x\n", result[n - 1]);

    CHECK(cudaStreamDestroy(gated));
    CHECK(cudaStreamDestroy(independent));
    CHECK(cudaFree(d_gated));
    CHECK(cudaFree(d_free));
    CHECK(cudaFree(d_set));
    CHECK(cudaFreeHost(h_gated));
    CHECK(cudaFreeHost(h_free));
    CHECK(cudaFreeHost((void*)flag));
}
