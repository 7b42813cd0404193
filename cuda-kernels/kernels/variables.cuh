// Variables of every kind, and kernels that read and write them, for tests of copies to and from variables.
#pragma once

#include <cuda_runtime.h>

namespace variables {

/// A weight and the offset that it applies to.
struct Tap {
    /// The weight.
    float weight;
    /// The offset.
    int offset;
};

/// A table that the host sets.
__constant__ int table[64];

/// Two structs with initial values.
__constant__ Tap taps[2] = {{1.5f, 3}, {-2.25f, 4}};

/// A matrix that kernels write.
__device__ int matrix[4][16];

/// One number with an initial value.
__device__ unsigned counter = 7;

/// Thirteen bytes, whose end is not aligned.
__device__ unsigned char odd[13];

/// Numbers that the host and all devices share, with initial values.
__managed__ int shared[8] = {5, 6, 7, 8};

/// `out[i] = table[i] + matrix[i / 16][i % 16] + taps[0].offset`, over 64 elements. Launch one block of 64.
///
/// @reads table, matrix, taps
__global__ void sum(int* out);

/// `matrix[i / 16][i % 16] = base + i`, over 64 elements. Launch one block of 64.
///
/// @writes matrix
__global__ void fill(int base);

/// Adds the value of `counter` to `seen`, waits until the flag is no longer zero, and adds `step` to
/// `counter`. Launch one thread. The comment has no list of variables on purpose, so the kernel counts as
/// a write of all but the constants.
__global__ void count(unsigned* seen, const volatile unsigned* flag, unsigned step);

/// Waits until the flag is no longer zero, then copies `table` to `out`. Launch one block of 64.
///
/// @reads table
__global__ void table_behind_a_gate(const volatile unsigned* flag, int* out);

/// Uses none of the variables: waits until the flag is no longer zero.
///
/// @reads nothing
__global__ void wait(const volatile unsigned* flag);

/// Adds one to each element of `shared`. Launch one block of 8.
///
/// @writes shared
__global__ void add_one_to_shared();

}  // namespace variables
