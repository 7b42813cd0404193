// Kernels whose blocks form clusters and access each other's shared memory. They need compute capability
// 9.0 or newer.
#pragma once

#include <cuda_runtime.h>

/// The numbers that `cluster_places` writes for each block.
#define CLUSTER_NUMBERS 8

/// Adds to `bins` how often each number below `bin_count` occurs among the values. Other values are
/// ignored.
///
/// The bins are spread over the shared memory of a cluster: each block has `ceil(bin_count / blocks of
/// the cluster)` bins and needs as many words of dynamic shared memory. Any grid, block and cluster size
/// works.
extern "C" __global__ void cluster_histogram(const unsigned* values, unsigned count, unsigned* bins, unsigned bin_count);

/// Writes for each block, at its index in the grid: its rank in the cluster, the number of blocks of the
/// cluster, its x, y and z there, the cluster's index along x, the number of clusters along x, and the
/// sum over the ranks that its neighbours in the cluster wrote to its shared memory.
extern "C" __global__ void cluster_places(unsigned* numbers);

/// The same for a kernel whose source declares clusters of two blocks along x.
extern "C" __global__ void cluster_pairs(unsigned* numbers);
