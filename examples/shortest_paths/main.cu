// Finds the shortest paths from one place to all others, by a loop that ends on the device.
//
// Each step of the loop looks at every road. The loop ends when a step has shortened no distance: a kernel
// sets the condition of the graph's node, and the host waits only once.
//
// Not under memcheck, initcheck: conditional nodes lose the context at random there.
#include "../check.cuh"
#include "linked/paths.cuh"

#include <vector>

int main() {
    // A street with a shortcut over each ten places, and a place that no road leads to.
    const unsigned places = 1000, threads = 128;
    std::vector<Road> roads;
    for (unsigned i = 0; i + 2 < places; ++i) roads.push_back({i, i + 1, 3});
    for (unsigned i = 0; i + 11 < places; i += 10) roads.push_back({i, i + 10, 7});
    const unsigned count = unsigned(roads.size());
    std::vector<unsigned> distances(places, UNREACHABLE);

    Road* d_roads;
    unsigned *d_distances, *d_changed;
    CHECK(cudaMalloc(&d_roads, count * sizeof(Road)));
    CHECK(cudaMalloc(&d_distances, places * sizeof(unsigned)));
    CHECK(cudaMalloc(&d_changed, sizeof(unsigned)));
    CHECK(cudaMemcpy(d_roads, roads.data(), count * sizeof(Road), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_changed, 0, sizeof(unsigned)));
    CHECK(cudaMemset(d_distances, 0xff, places * sizeof(unsigned)));
    CHECK(cudaMemset(d_distances, 0, sizeof(unsigned)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    cudaGraph_t graph;
    cudaGraphConditionalHandle again;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop = {};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = again;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node, step, end;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));
    cudaGraph_t body = loop.conditional.phGraph_out[0];

    void* of_step[] = {&d_roads, const_cast<unsigned*>(&count), &d_distances, &d_changed};
    cudaKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(relax);
    kernel.gridDim = dim3((count + threads - 1) / threads);
    kernel.blockDim = dim3(threads);
    kernel.kernelParams = of_step;
    CHECK(cudaGraphAddKernelNode(&step, body, nullptr, 0, &kernel));
    void* of_end[] = {&again, &d_changed};
    kernel.func = reinterpret_cast<void*>(until_nothing_changes);
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = of_end;
    CHECK(cudaGraphAddKernelNode(&end, body, &step, 1, &kernel));

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(distances.data(), d_distances, places * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned place : {0u, 5u, 9u, 10u, 128u, 998u}) std::printf("place %u: %u\n", place, distances[place]);
    std::printf("place %u: %s\n", places - 1, distances[places - 1] == UNREACHABLE ? "no path" : "a path");

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(d_roads));
    CHECK(cudaFree(d_distances));
    CHECK(cudaFree(d_changed));
}
