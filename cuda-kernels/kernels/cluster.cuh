// Kernels whose blocks form clusters and access each other's shared memory. They need compute capability
// 9.0 or newer.
#pragma once

#include <cuda_runtime.h>

/// Adds to `bins` how often each number below `bin_count` occurs among the values. Other values are
/// ignored.
///
/// The bins are spread over the shared memory of a cluster: each block has `ceil(bin_count / blocks of
/// the cluster)` bins and needs as many words of dynamic shared memory. Any grid, block and cluster size
/// works.
extern "C" __global__ void cluster_histogram(const unsigned* values, unsigned count, unsigned* bins, unsigned bin_count);
