// Kernels without a header, in a C++ program with its own `main`.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define TILE 32

/// A factor and what it adds.
struct Line {
    float factor;
    float offset;
    __device__ float operator()(float x) const { return __fmaf_rn(x, factor, offset); }
};

template <typename T> __device__ T* element(T* data) { return data + cg::this_grid().thread_rank(); }

/// `data[i] = line(data[i])`.
extern "C" __global__ void apply(float* data, Line line, unsigned count) {
    if (cg::this_grid().thread_rank() < count) *element(data) = line(*element(data));
}

/// `out[i] = sum of N elements of in from i * N on`. `in` is only read, although it is no `const T*`.
template <typename T, int N> __global__ void sums(T* in, T* out, unsigned count) {
    unsigned i = cg::this_grid().thread_rank();
    if (i >= count) return;
    T sum = 0;
    for (int k = 0; k < N; ++k) sum += in[i * N + k];
    out[i] = sum;
}

template __global__ void sums<float, 4>(float*, float*, unsigned);
template __global__ void sums<unsigned, TILE>(unsigned*, unsigned*, unsigned);

int main() {
    apply<<<1, 1>>>(nullptr, Line{1.0f, 0.0f}, 0);
    return cudaDeviceSynchronize();
}
