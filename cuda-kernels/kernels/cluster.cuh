// Kernels whose blocks come in clusters and reach each other's shared memory. For devices of compute
// capability 9.0 and newer.
#pragma once

#include <cuda_runtime.h>

/// Numbers that `cluster_places` writes for each block.
#define CLUSTER_NUMBERS 8

/// Adds to `bins` how often each number below `bin_count` is among the values; others count nowhere.
///
/// The bins are spread over the shared memory of a cluster: each block has `ceil(bin_count / blocks of the
/// cluster)` of them, for which it needs as many words of dynamic shared memory. Any grid, block and cluster
/// will do.
extern "C" __global__ void cluster_histogram(const unsigned* values, unsigned count, unsigned* bins, unsigned bin_count);

/// Writes for each block, by its number in the grid: its rank in the cluster, the blocks of that, its x, y
/// and z there, the cluster's number along x, the clusters along x, and the sum over the ranks that its
/// neighbours in the cluster left in its shared memory.
extern "C" __global__ void cluster_places(unsigned* numbers);

/// The same of a kernel whose source says that its clusters are of two blocks along x.
extern "C" __global__ void cluster_pairs(unsigned* numbers);
