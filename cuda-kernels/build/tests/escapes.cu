// Kernels with a pointer `p` in all the ways in which C++ programs read and write memory. The names of those
// that only read begin with `reads`. Others begin with `writes`, or with `passes` if only the source shows
// that they read.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda/std/atomic>

namespace cg = cooperative_groups;

struct Node {
    Node* next;
    int value;
};

struct Pair {
    float a, b;
};

__device__ int* kept;
__device__ __noinline__ void store(int* p, int value) { *p = value; }
__device__ __noinline__ int sum(int* p, int n) { return n == 0 ? 0 : *p + sum(p + 1, n - 1); }
template <typename F> __device__ void apply(F f) { f(threadIdx.x); }

extern "C" {

__global__ void reads_shared_tile(float* p, float* out) {
    __shared__ float tile[256];
    tile[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void reads_histogram(unsigned char* p, unsigned* bins, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&bins[p[i]], 1);
}

__global__ void reads_gather(int* p, float* from, float* out) { out[threadIdx.x] = from[p[threadIdx.x]]; }

__global__ void reads_scatter(int* p, float* from, float* out) { out[p[threadIdx.x]] = from[threadIdx.x]; }

__global__ void reads_stencil(float* p, float* out, int width, int height, size_t pitch) {
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height)
                sum += p[(y + dy) * pitch + x + dx];
    out[y * pitch + x] = sum;
}

__global__ void reads_by_increment(float* p, float* out, int n) {
    float sum = 0;
    for (float* at = p; at != p + n; ++at) sum += *at;
    *out = sum;
}

__global__ void reads_reduce(float* p, float* out, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    float sum = 0;
    for (int i = tile.thread_rank(); i < n; i += 32) sum += p[i];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0) atomicAdd(out, sum);
}

__global__ void reads_vectors(float4* p, float4* out) {
    float4 v = p[threadIdx.x];
    v.x += v.w;
    out[threadIdx.x] = v;
}

__global__ void reads_structs(Pair* p, Pair* out) { out[threadIdx.x] = p[threadIdx.x]; }

__global__ void reads_halves(__half2* p, __half2* out) { out[threadIdx.x] = __hadd2(p[threadIdx.x], p[0]); }

__global__ void reads_doubles(double* p, double* out) {
    out[threadIdx.x] = sin(p[threadIdx.x]) + pow(p[0], 2.5);
}

__global__ void reads_volatile(volatile int* p, int* out) {
    while (*p == 0) {}
    *out = 1;
}

__global__ void reads_and_prints(int* p) { printf("%d %s\n", p[threadIdx.x], "text"); }

__global__ void reads_aligned(float* p, float* out) {
    out[threadIdx.x] = reinterpret_cast<size_t>(p) % 16 == 0 ? p[4 * threadIdx.x] : p[0];
}

__global__ void reads_by_lambda(int* p, int* out) {
    apply([=](int i) { out[i] = p[i]; });
}

__global__ void reads_either(float* p, float* q, float* out, bool first) {
    float* from = first ? p : q;
    out[threadIdx.x] = from[threadIdx.x];
}

__global__ void reads_by_shuffle(int* p, int* out) {
    out[threadIdx.x] = __shfl_down_sync(~0u, p[threadIdx.x], 1);
}

__global__ void writes_plainly(float* p) { p[threadIdx.x] *= 2; }

__global__ void writes_one_case(int* p, int* out, int n) {
    out[threadIdx.x] = p[threadIdx.x];
    if (n == 12345) p[n] = 0;
}

__global__ void writes_atomically(unsigned* p) { atomicInc(p + threadIdx.x, 7); }

__global__ void writes_by_cas(unsigned long long* p) { atomicCAS(p, 0ull, 1ull); }

__global__ void writes_by_reference(int* p) {
    cuda::std::atomic_ref<int> at(*p);
    at.fetch_add(1);
}

__global__ void writes_either(float* p, float* q, bool first) {
    float* to = first ? p : q;
    to[threadIdx.x] = 1;
}

__global__ void writes_after_swaps(int* p, int* q, int n) {
    for (int i = 0; i < n; ++i) {
        p[threadIdx.x] = q[threadIdx.x] + i;
        int* old = p;
        p = q;
        q = old;
        __syncthreads();
    }
}

__global__ void writes_by_an_array_of_pointers(int* p, int* q, int n) {
    int* all[2] = {p, q};
    all[n & 1][threadIdx.x] = 1;
}

__global__ void writes_through_a_list(Node* p) {
    for (Node* at = p; at; at = at->next) at->value = 1;
}

__global__ void writes_behind_an_index(int* p, int* q, long long n) { q[p - q + n] = 1; }

__global__ void writes_by_function(int* p) { store(p, 1); }

__global__ void writes_an_integer(unsigned long long p) { *reinterpret_cast<int*>(p) = 1; }

__global__ void writes_from_another_lane(int* p) {
    unsigned long long address = reinterpret_cast<unsigned long long>(p + threadIdx.x);
    *reinterpret_cast<int*>(__shfl_xor_sync(~0u, address, 1)) = 1;
}

__global__ void writes_an_address_in_shared_memory(int* p) {
    __shared__ int* shared;
    if (threadIdx.x == 0) shared = p;
    __syncthreads();
    shared[threadIdx.x] = 1;
}

__global__ void writes_two_halves(int* p, unsigned* q) {
    unsigned long long address = reinterpret_cast<unsigned long long>(p);
    q[0] = static_cast<unsigned>(address);
    q[1] = static_cast<unsigned>(address >> 32);
}

__global__ void writes_an_address_from_bytes(unsigned char* p) {
    unsigned long long address = 0;
    for (int i = 0; i < 8; ++i) address |= static_cast<unsigned long long>(p[i]) << (8 * i);
    *reinterpret_cast<int*>(address) = 1;
}

__global__ void writes_by_assembly(int* p) {
    asm volatile("{ .reg .u64 t; mov.u64 t, %0; st.u32 [t], 1; }" ::"l"(p));
}

__global__ void writes_by_assembly_on_one_line(int* p) {
    asm volatile("{ .local .b32 t; st.u32[%0],%1; }" ::"l"(p), "r"(1));
}

// An address in half of its bits, beside another one.
__global__ void writes_a_shortened_address(unsigned* p, int* q, bool choice) {
    int* at = choice ? q : reinterpret_cast<int*>(p[0] * 4096ull);
    at[threadIdx.x] = 1;
}

__global__ void writes_later(int* p) { kept = p; }

__global__ void writes_an_address_to_print(int* p) { printf("%p\n", p); }

__global__ void writes_by_memset(char* p, int n) { memset(p, 0, n); }

__global__ void writes_a_structure(Pair* p) { p[threadIdx.x] = {1, 2}; }

__global__ void passes_to_a_function(int* p, int* out, int n) { *out = sum(p, n); }

}  // extern "C"
