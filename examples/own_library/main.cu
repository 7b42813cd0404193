// Calls a library of one's own, over raw pointers and a stream.
//
// The program orders the library's work itself, as all C++ programs do. (The Rust port declares what each
// call reads and writes, once, in a safe function; the crate then orders the calls.)
#include "../check.cuh"
#include "axpy.cu"

#include <vector>

#define AXPY(call) EXPECT((call) == AXPY_OK)

int main() {
    const size_t n = 1 << 16, half = n / 2, bytes = n * sizeof(float);
    std::vector<float> numbers(n), ones(n, 1.0f), y(n), z(n);
    for (size_t i = 0; i < n; ++i) numbers[i] = float(i % 1000);

    float *d_x, *d_y, *d_z;
    CHECK(cudaMalloc(&d_x, bytes));
    CHECK(cudaMalloc(&d_y, bytes));
    CHECK(cudaMalloc(&d_z, bytes));
    CHECK(cudaMemcpy(d_x, numbers.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_y, ones.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_z, ones.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t first, second;
    cudaEvent_t done;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

    // The second stream reads what the first one writes.
    AXPY(axpy(2, d_x, d_y, n, first));
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaStreamWaitEvent(second, done, 0));
    AXPY(axpy(3, d_y, d_z, n, second));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaMemcpy(y.data(), d_y, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(z.data(), d_z, bytes, cudaMemcpyDeviceToHost));
    std::printf("two streams: y = %g, z = %g\n", y[999], z[999]);

    // In a graph.
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    AXPY(axpy(1, d_x, d_y, n, first));
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, first));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(y.data(), d_y, bytes, cudaMemcpyDeviceToHost));
    std::printf("a graph, three times: y = %g\n", y[999]);

    // One call over two streams.
    const float* const xs[2] = {d_x, d_x + half};
    float* const ys[2] = {d_y, d_y + half};
    const cudaStream_t streams[2] = {first, second};
    AXPY(axpy_both(1, xs, ys, half, streams));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaMemcpy(y.data(), d_y, bytes, cudaMemcpyDeviceToHost));
    std::printf("both halves, each on its stream: y = %g, %g\n", y[999], y[n - 1]);

    // The library's own error.
    const int status = axpy(1, d_x, d_y, 0, first);
    std::printf("no numbers: %s (%d)\n", axpy_name(status), status);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    CHECK(cudaFree(d_z));
    return EXIT_SUCCESS;
}
