// Runs the same short work twenty times as a graph.
//
// The program captures a stream once: copy in, two kernels, copy out. Each launch of the graph runs all
// four with one call. In C++ the program must keep the buffers until the last launch is complete, and
// must not touch the pinned memory while a launch runs.
#include "../check.cuh"
#include "vector.cuh"

int main() {
    const unsigned n = 1 << 12, threads = 256;
    const size_t bytes = n * sizeof(int);
    int *h_data, *d_data;
    CHECK(cudaMallocHost(&h_data, bytes));
    CHECK(cudaMalloc(&d_data, bytes));
    for (unsigned i = 0; i < n; ++i) h_data[i] = int(i % 10);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(d_data, h_data, bytes, cudaMemcpyHostToDevice, stream));
    double_values<<<n / threads, threads, 0, stream>>>(d_data, n);
    add_one<<<n / threads, threads, 0, stream>>>(d_data, n);
    CHECK(cudaMemcpyAsync(h_data, d_data, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    std::printf("a graph of %zu nodes; nothing has run: the last number is %d\n", nodes, h_data[n - 1]);

    for (int launch = 0; launch < 20; ++launch) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    // x -> 2x + 1, twenty times: (x + 1) * 2^20 - 1.
    unsigned right = 0;
    for (unsigned i = 0; i < n; ++i) right += h_data[i] == int((i % 10 + 1) * (1u << 20) - 1);
    std::printf("after 20 launches it is %d; %u of %u are right\n", h_data[n - 1], right, n);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(d_data));
    CHECK(cudaFreeHost(h_data));
    return right == n ? EXIT_SUCCESS : EXIT_FAILURE;
}
