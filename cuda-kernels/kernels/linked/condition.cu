#include "condition.cuh"

__device__ unsigned sum(unsigned, unsigned);

extern "C" __global__ void count_down(cudaGraphConditionalHandle condition, unsigned* left) {
    *left -= 1;
    cudaGraphSetConditional(condition, *left);
}

extern "C" __global__ void set_condition(cudaGraphConditionalHandle condition, const unsigned* value) {
    cudaGraphSetConditional(condition, *value);
}

extern "C" __global__ void add_amount(unsigned* to, unsigned amount) { *to = sum(*to, amount); }
