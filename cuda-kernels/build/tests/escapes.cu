// Kernels with a pointer `p` in all the ways in which C++ programs read and write memory. The names of those
// that only read begin with `reads`. Others begin with `writes`, or with `passes` if only the source shows
// that they read.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda/std/atomic>
#include <mma.h>

namespace cg = cooperative_groups;

struct Node {
    Node* next;
    int value;
};

struct Pair {
    float a, b;
};

struct Holder {
    int* p;
    int n;
};

struct Holders {
    Holder all[2];
};

__device__ int* kept;
__constant__ int* constant;
__device__ __noinline__ void store(int* p, int value) { *p = value; }
__device__ __noinline__ int sum(int* p, int n) { return n == 0 ? 0 : *p + sum(p + 1, n - 1); }
__device__ __noinline__ int* same(int* p) { return p; }
__device__ __noinline__ void store_seven(int* p) { *p = 7; }
__device__ __noinline__ int factorial(int* p, int n) { return n == 0 ? (*p = 7, 1) : n * factorial(p, n - 1); }
__device__ void (*functions[2])(int*) = {store_seven, store_seven};
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

// Addresses as numbers: in halves, with a key, as a float, bit by bit, multiplied.
__global__ void writes_by_halves(int* p) {
    unsigned long long a = reinterpret_cast<unsigned long long>(p);
    unsigned low = __shfl_sync(~0u, static_cast<unsigned>(a), 0);
    unsigned high = __shfl_sync(~0u, static_cast<unsigned>(a >> 32), 0);
    *reinterpret_cast<int*>((static_cast<unsigned long long>(high) << 32) | low) = 1;
}

__global__ void writes_by_key(int* p, unsigned long long key) {
    unsigned long long a = reinterpret_cast<unsigned long long>(p) ^ key;
    asm volatile("" : "+l"(a));
    *reinterpret_cast<int*>(a ^ key) = 1;
}

__global__ void writes_by_float(int* p) {
    double d = __longlong_as_double(reinterpret_cast<long long>(p));
    asm volatile("" : "+d"(d));
    *reinterpret_cast<int*>(__double_as_longlong(d)) = 1;
}

__global__ void writes_by_ballot(int* p) {
    unsigned long long a = reinterpret_cast<unsigned long long>(p);
    unsigned low = 0, high = 0;
    for (int i = 0; i < 32; ++i) {
        low |= (__ballot_sync(~0u, (a >> i) & 1) & 1u) << i;
        high |= (__ballot_sync(~0u, (a >> (i + 32)) & 1) & 1u) << i;
    }
    *reinterpret_cast<int*>((static_cast<unsigned long long>(high) << 32) | low) = 1;
}

__global__ void writes_by_branches(int* p) {
    unsigned long long a = reinterpret_cast<unsigned long long>(p), r = 0;
#pragma unroll 1
    for (int i = 0; i < 64; ++i)
        if (a & (1ull << i)) r |= 1ull << i;
    *reinterpret_cast<int*>(r) = 1;
}

__global__ void writes_by_counts_of_bits(int* p) {
    unsigned long long a = reinterpret_cast<unsigned long long>(p), r = 0;
#pragma unroll 1
    for (int i = 0; i < 64; ++i) r += static_cast<unsigned long long>(__popcll(a & (1ull << i))) << i;
    *reinterpret_cast<int*>(r) = 1;
}

__global__ void writes_by_quotient(int* p) {
    unsigned long long a = reinterpret_cast<unsigned long long>(p) * 3;
    asm volatile("" : "+l"(a));
    *reinterpret_cast<int*>(a / 3) = 1;
}

__global__ void writes_the_larger(int* p, int* q) { *(p > q ? p : q) = 1; }

__global__ void writes_by_offset_in_memory(long long* p, int* q) {
    *reinterpret_cast<int*>(reinterpret_cast<char*>(q) + p[0]) = 1;
}

// Addresses in memory.
__global__ void writes_by_shared_table(int* p) {
    __shared__ int* table[32];
    table[threadIdx.x] = p;
    __syncthreads();
    *table[31 - threadIdx.x] = 1;
}

__global__ void writes_by_local_table(int* p, int k) {
    int* table[8];
    for (int i = 0; i < 8; ++i) table[i] = p + i;
    *table[k] = 1;
}

__global__ void writes_by_constant(int* p) { *constant = *p; }

__global__ void writes_by_variable(int* p) {
    kept = p;
    __threadfence();
    **const_cast<int* volatile*>(&kept) = 1;
}

__global__ void writes_by_structure(Holders p, int k) { *p.all[k].p = 1; }

__global__ void writes_by_grid_constant(const __grid_constant__ Holders p, int k) { *p.all[k].p = 1; }

__global__ void writes_by_shared_bits(int* p) {
    __shared__ unsigned long long keep;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&keep));
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(at), "l"(p));
    __syncthreads();
    *reinterpret_cast<int*>(keep) = 1;
}

// Functions.
__global__ void writes_by_what_a_function_returns(int* p) { *same(p) = 1; }

__global__ void writes_by_recursion(int* p, int n) { factorial(p, n); }

__global__ void writes_by_table_of_functions(int* p, int n) { functions[n](p); }

__global__ void writes_by_lambda(int* p) {
    auto f = [&](int i) { p[i] = i; };
    f(threadIdx.x);
}

// Instructions.
__global__ void writes_halves(__half2* p) { p[threadIdx.x] = __hadd2(p[threadIdx.x], p[0]); }

__global__ void writes_fragments(__half* p) {
    using namespace nvcuda::wmma;
    fragment<accumulator, 16, 16, 16, __half> f;
    fill_fragment(f, 0);
    store_matrix_sync(p, f, 16, mem_row_major);
}

__global__ void writes_atomically_of_all_sizes(unsigned long long* p) {
    atomicMax(p, 5ull);
    atomicAdd(reinterpret_cast<double*>(p), 1.0);
    atomicCAS(reinterpret_cast<unsigned short*>(p), static_cast<unsigned short>(1), static_cast<unsigned short>(2));
}

__global__ void writes_by_hidden_register(int* p) {
    asm volatile("{ .loc 1 1 1 .reg .b64 t; mov.b64 t, %0; st.global.u32 [t], %1; }" ::"l"(p), "r"(1));
}

__global__ void writes_by_hidden_scope(int* p) {
    asm volatile("{ .loc 1 1 1 { .reg .b64 t; mov.b64 t, %0; st.global.u32 [t], 1; } }" ::"l"(p));
}

__global__ void writes_by_hidden_label(int* p) {
    asm volatile("{ .loc 1 1 1 HERE: .reg .b64 t; mov.b64 t, %0; st.global.u32 [t], 1; }" ::"l"(p));
}

__global__ void writes_by_its_own_parameter(int* p) {
    asm volatile("{ .reg .b64 t; ld.param.u64 t, [writes_by_its_own_parameter_param_0]; st.u32 [t], 1; }");
}

__global__ void reads_by_assembly(int* p, int* out) {
    int value;
    asm volatile("{ L: .reg .b64 t; mov.b64 t, %1; ld.u32 %0, [t]; }" : "=r"(value) : "l"(p));
    *out = value;
}

__global__ void reads_beside_shared_memory(int* p, int* out) {
    __shared__ alignas(16) int part[64];
    auto block = cg::this_thread_block();
    part[threadIdx.x] = p[threadIdx.x];
    block.sync();
    out[threadIdx.x] = part[63 - threadIdx.x];
}

__global__ void passes_to_a_function(int* p, int* out, int n) { *out = sum(p, n); }

}  // extern "C"
