#include "paths.cuh"

extern "C" __global__ void relax(const Road* roads, unsigned count, unsigned* distances, unsigned* changed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Road road = roads[i];
    // Only reads, but other threads may shorten this distance meanwhile.
    unsigned before = atomicOr(&distances[road.from], 0);
    if (before == UNREACHABLE) return;
    unsigned through = before + road.length;
    if (atomicMin(&distances[road.to], through) > through) atomicExch(changed, 1);
}

extern "C" __global__ void until_nothing_changes(cudaGraphConditionalHandle again, unsigned* changed) {
    cudaGraphSetConditional(again, *changed);
    *changed = 0;
}
