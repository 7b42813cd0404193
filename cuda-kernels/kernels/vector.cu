#include "vector.cuh"

namespace {

__device__ unsigned global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace

extern "C" __global__ void vector_add(const float* a, const float* b, float* sum, unsigned count) {
    unsigned i = global_index();
    if (i < count) sum[i] = a[i] + b[i];
}

extern "C" __global__ void scale_offset(float* data, float scale, float offset, unsigned count) {
    unsigned i = global_index();
    // One fused operation: the result does not depend on whether the compiler contracts a product and a
    // sum.
    if (i < count) data[i] = fmaf(data[i], scale, offset);
}

extern "C" __global__ void add_one(int* data, unsigned count) {
    unsigned i = global_index();
    if (i < count) data[i] += 1;
}

extern "C" __global__ void double_values(int* data, unsigned count) {
    unsigned i = global_index();
    if (i < count) data[i] *= 2;
}

extern "C" __global__ void square(const int* numbers, int* squares, unsigned count) {
    unsigned i = global_index();
    if (i < count) squares[i] = numbers[i] * numbers[i];
}

extern "C" __global__ void copy_values(const float* from, float* to, unsigned count) {
    unsigned i = global_index();
    if (i < count) to[i] = from[i];
}

extern "C" __global__ void add_step(int* data, int* step, unsigned count, int rounds) {
    unsigned i = global_index();
    if (i >= count) return;
    for (int round = 0; round < rounds; ++round) data[i] += step[0];
}
