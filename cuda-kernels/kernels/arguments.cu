#include "arguments.cuh"

#include <cooperative_groups.h>

namespace arguments {

__global__ void scalars(double* out, bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g,
                        unsigned h, long long i, unsigned long long j, float k, double l, size_t m, Direction n) {
    const double values[] = {
        a ? 1.0 : 0.0,          static_cast<double>(b), static_cast<double>(c), static_cast<double>(d),
        static_cast<double>(e), static_cast<double>(f), static_cast<double>(g), static_cast<double>(h),
        static_cast<double>(i), static_cast<double>(j), static_cast<double>(k), l,
        static_cast<double>(m), static_cast<double>(static_cast<int>(n)),
    };
    for (unsigned at = 0; at < sizeof(values) / sizeof(values[0]); ++at) out[at] = values[at];
}

__global__ void structs(double* out, Padded padded, Nested nested, unsigned char between, Aligned aligned, View view) {
    *out++ = padded.tag;
    *out++ = padded.value;
    *out++ = padded.tail;
    for (int row = 0; row < 2; ++row) {
        for (int column = 0; column < 3; ++column) *out++ = nested.numbers[row][column];
    }
    *out++ = nested.padded.tag;
    *out++ = nested.padded.value;
    *out++ = nested.padded.tail;
    *out++ = between;
    for (int at = 0; at < 4; ++at) *out++ = aligned.values[at];
    double sum = 0.0;
    for (size_t at = 0; at < view.count; ++at) sum += view.data[at];
    *out = sum;
}

__global__ void shape(unsigned* threads, unsigned* shared_words, unsigned words) {
    extern __shared__ unsigned scratch[];
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned size = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned at = thread; at < words; at += size) scratch[at] = 1u;
    __syncthreads();
    atomicAdd(threads, 1u);
    if (thread == 0) {
        unsigned sum = 0;
        for (unsigned at = 0; at < words; ++at) sum += scratch[at];
        atomicAdd(shared_words, sum);
    }
}

__global__ void buffers_4(int* a, int* b, int* c, int* d) { *a = *b = *c = *d = 1; }

__global__ void buffers_16(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int* i, int* j, int* k, int* l,
                           int* m, int* n, int* o, int* p) {
    *a = *b = *c = *d = *e = *f = *g = *h = 1;
    *i = *j = *k = *l = *m = *n = *o = *p = 1;
}

__global__ void overloaded(float* data, float value) { *data += value; }

__global__ void overloaded(int* data, int value) { *data += value; }

__global__ void __launch_bounds__(64) bounded(unsigned* out) { out[threadIdx.x] = threadIdx.x; }

__global__ void meet(unsigned* arrived, unsigned* seen) {
    auto grid = cooperative_groups::this_grid();
    if (threadIdx.x == 0) atomicAdd(arrived, 1u);
    grid.sync();
    if (threadIdx.x == 0) seen[blockIdx.x] = *arrived;
}

__global__ void pitched(cudaPitchedPtr to, unsigned depth, int value) {
    size_t width = to.xsize / sizeof(int);
    for (size_t z = 0; z < depth; ++z) {
        for (size_t y = threadIdx.x; y < to.ysize; y += blockDim.x) {
            int* row = reinterpret_cast<int*>(static_cast<char*>(to.ptr) + (z * to.ysize + y) * to.pitch);
            for (size_t x = 0; x < width; ++x) row[x] = value + static_cast<int>((z * to.ysize + y) * width + x);
        }
    }
}

__global__ void many(int* out, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m,
                     int n, int o, int p, int q, int r, int s, int t) {
    int all[20] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t};
    for (int at = 0; at < 20; ++at) out[at] = all[at];
}

__global__ void vectors(const float4* in, float4* out, bool* positive, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    float4 v = in[at];
    out[at] = make_float4(2.0f * v.x, 2.0f * v.y, 2.0f * v.z, 2.0f * v.w);
    positive[at] = v.x > 0.0f;
}

__global__ void rows(float** table, const float* const* again, int n) {
    for (int i = 1; i < n; i++) table[0][0] += again[i][0];
    float* first = table[0];
    table[0] = table[1];
    table[1] = first;
}

__global__ void signs(const volatile int* open, volatile int* opened, volatile unsigned long long* close) {
    while (*open == 0) {
    }
    *opened = *open;
    while (*close != 7ull) {
    }
}

}  // namespace arguments
