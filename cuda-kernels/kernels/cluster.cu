#include "cluster.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Older devices have no clusters: code for them is a kernel that ends with an error.
// ci/twins compiles it for: compute_90
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS 1
#endif

extern "C" __global__ void cluster_histogram(const unsigned* values, unsigned count, unsigned* bins, unsigned bin_count) {
#ifdef HAS_CLUSTERS
    extern __shared__ unsigned mine[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned blocks = cluster.num_blocks();
    unsigned each = bin_count / blocks + (bin_count % blocks != 0);
    for (unsigned bin = threadIdx.x; bin < each; bin += blockDim.x) mine[bin] = 0;
    cluster.sync();

    size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
        unsigned value = values[i];
        if (value < bin_count) atomicAdd(cluster.map_shared_rank(mine, value / each) + value % each, 1u);
    }
    // After this barrier no other block writes to this block's memory, and the block may end.
    cluster.sync();

    unsigned first = cluster.block_rank() * each;
    for (unsigned bin = threadIdx.x; bin < each; bin += blockDim.x) {
        if (mine[bin] != 0) atomicAdd(bins + first + bin, mine[bin]);
    }
#else
    __trap();
#endif
}
