// Kernels that set the conditions of a graph's nodes. One thread each.
#pragma once

#include <cuda_runtime.h>

/// Subtracts one from `left`. The condition is what is left.
extern "C" __global__ void count_down(cudaGraphConditionalHandle condition, unsigned* left);

/// The condition is `value`.
extern "C" __global__ void set_condition(cudaGraphConditionalHandle condition, const unsigned* value);

/// Adds `amount` to `to`, by a function of another source.
extern "C" __global__ void add_amount(unsigned* to, unsigned amount);
