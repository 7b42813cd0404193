// Reductions of an array to one number for each block. Any grid works. The threads of a block are a power of
// two, at most 1024.
#pragma once

#include <cuda_runtime.h>

/// Writes the sum of the elements that each block reads.
extern "C" __global__ void block_sums(const int* in, int* sums, unsigned count);

/// Writes the largest element that each block reads, or `INT_MIN` for a block without elements.
extern "C" __global__ void block_maxima(const int* in, int* maxima, unsigned count);
