// Runs a graph with two branches and a host function.
//
// The program captures a stream once. After the first kernel, two branches read the data side by side: one
// finds the sum of the elements, the other one the largest. Each copies what its blocks found to the host.
// Where the branches join, a host function combines these numbers. In C++ the program must keep all memory
// until the last launch is complete, and must not touch it on the host while a launch runs.
#include "../check.cuh"
#include "reduce.cuh"
#include "vector.cuh"

#include <algorithm>

const unsigned blocks = 4, threads = 256;

struct Found {
    const int *sums, *maxima;
    int sum, largest;
};

void combine(void* data) {
    Found* found = static_cast<Found*>(data);
    found->sum = 0;
    for (unsigned block = 0; block < blocks; ++block) found->sum += found->sums[block];
    found->largest = *std::max_element(found->maxima, found->maxima + blocks);
}

int main() {
    const unsigned n = 1 << 12;
    const size_t bytes = n * sizeof(int), found_bytes = blocks * sizeof(int);
    int *h_data, *h_sums, *h_maxima, *d_data, *d_sums, *d_maxima;
    CHECK(cudaMallocHost(&h_data, bytes));
    CHECK(cudaMallocHost(&h_sums, found_bytes));
    CHECK(cudaMallocHost(&h_maxima, found_bytes));
    CHECK(cudaMalloc(&d_data, bytes));
    CHECK(cudaMalloc(&d_sums, found_bytes));
    CHECK(cudaMalloc(&d_maxima, found_bytes));
    for (unsigned i = 0; i < n; ++i) h_data[i] = int(i % 1000);
    CHECK(cudaMemcpy(d_data, h_data, bytes, cudaMemcpyHostToDevice));
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

    cudaGraph_t graph;
    Found found = {h_sums, h_maxima, 0, 0};
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add_one<<<n / threads, threads, 0, stream>>>(d_data, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    block_sums<<<blocks, threads, 0, stream>>>(d_data, d_sums, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(h_sums, d_sums, found_bytes, cudaMemcpyDeviceToHost, stream));
    block_maxima<<<blocks, threads, 0, side>>>(d_data, d_maxima, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(h_maxima, d_maxima, found_bytes, cudaMemcpyDeviceToHost, side));
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    CHECK(cudaLaunchHostFunc(stream, combine, &found));
    CHECK(cudaStreamEndCapture(stream, &graph));

    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    std::printf("a graph of %zu nodes\n", nodes);
    for (int launch = 1; launch <= 3; ++launch) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        std::printf("launch %d: the sum is %d, the largest %d\n", launch, found.sum, found.largest);
    }

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaFree(d_data));
    CHECK(cudaFree(d_sums));
    CHECK(cudaFree(d_maxima));
    CHECK(cudaFreeHost(h_data));
    CHECK(cudaFreeHost(h_sums));
    CHECK(cudaFreeHost(h_maxima));
}
