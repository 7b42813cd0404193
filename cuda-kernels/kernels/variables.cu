#include "variables.cuh"

namespace variables {

__global__ void sum(int* out) {
    unsigned i = threadIdx.x;
    out[i] = table[i] + matrix[i / 16][i % 16] + taps[0].offset;
}

__global__ void fill(int base) {
    unsigned i = threadIdx.x;
    matrix[i / 16][i % 16] = base + static_cast<int>(i);
}

__global__ void count(unsigned* seen, const volatile unsigned* flag, unsigned step) {
    *seen += counter;
    while (*flag == 0) {
    }
    counter += step;
}

__global__ void table_behind_a_gate(const volatile unsigned* flag, int* out) {
    while (*flag == 0) {
    }
    out[threadIdx.x] = table[threadIdx.x];
}

__global__ void wait(const volatile unsigned* flag) {
    while (*flag == 0) {
    }
}

__global__ void add_one_to_shared() { shared[threadIdx.x] += 1; }

}  // namespace variables
