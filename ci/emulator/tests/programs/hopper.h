// Tensor maps, and the pieces that kernels of sm_90a are made of.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include <cooperative_groups.h>
#include <cuda/barrier>

using Bytes = std::vector<unsigned char>;

#define CHECK(call)                                                             \
    do {                                                                        \
        const cudaError_t code = call;                                          \
        if (code != cudaSuccess) {                                              \
            printf("%s: %s, line %d\n", #call, cudaGetErrorName(code), __LINE__); \
            return false;                                                       \
        }                                                                       \
    } while (0)

// The driver's functions, which only the runtime knows how to find.
template <class Function>
static Function driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status;
    if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status) != cudaSuccess ||
        status != cudaDriverEntryPointSuccess)
        printf("%s is not found\n", name);
    return reinterpret_cast<Function>(found);
}

struct Tensor {
    CUtensorMapDataType type;
    unsigned size, rank;
    cuuint64_t dims[5], strides[4];
    cuuint32_t box[5], steps[5];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
};

static CUresult encode(CUtensorMap* map, const Tensor& t, void* memory) {
    static const auto function = driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    return function(map, t.type, t.rank, memory, t.dims, t.strides, t.box, t.steps,
                    CU_TENSOR_MAP_INTERLEAVE_NONE, t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);
}

// A tensor whose rows have no gaps but those that alignment asks for.
static Tensor tensor(CUtensorMapDataType type, unsigned size, std::vector<unsigned> dims, std::vector<unsigned> box,
                     CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
    Tensor t = {type, size, unsigned(dims.size()), {}, {}, {}, {}, swizzle, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE};
    cuuint64_t stride = size;
    for (unsigned i = 0; i < t.rank; i++) {
        t.dims[i] = dims[i];
        t.box[i] = box[i];
        t.steps[i] = 1;
        stride = (stride * dims[i] + 15) / 16 * 16;
        if (i + 1 < t.rank) t.strides[i] = stride;
    }
    return t;
}

static size_t bytes_of(const Tensor& t) {
    return (t.rank == 1 ? t.dims[0] * t.size : t.strides[t.rank - 2] * t.dims[t.rank - 1]) + 16;
}

// Elements of a box along a dimension, as they are in shared memory.
static unsigned count(const Tensor& t, unsigned i) {
    return i >= t.rank ? 1 : i == 0 ? t.box[0] : (t.box[i] + t.steps[i] - 1) / t.steps[i];
}

static unsigned box_bytes(const Tensor& t) {
    return count(t, 0) * count(t, 1) * count(t, 2) * count(t, 3) * count(t, 4) * t.size;
}

static unsigned swizzled(unsigned at, unsigned mode) { return at ^ (at >> 7 & ((1u << mode) - 1)) << 4; }

// Calls with the place of each element in shared memory and in the tensor, which is -1 outside.
template <class F>
static void each(const Tensor& t, const int* at, F f) {
    unsigned place = 0;
    for (unsigned e = 0; e < count(t, 4); e++)
        for (unsigned d = 0; d < count(t, 3); d++)
            for (unsigned c = 0; c < count(t, 2); c++)
                for (unsigned b = 0; b < count(t, 1); b++)
                    for (unsigned a = 0; a < count(t, 0); a++, place += t.size) {
                        const unsigned index[5] = {a, b, c, d, e};
                        long where = 0;
                        for (unsigned i = 0; i < t.rank; i++) {
                            const long x = at[i] + long(index[i]) * (i ? t.steps[i] : 1);
                            if (x < 0 || x >= long(t.dims[i])) where = -1;
                            if (where >= 0) where += x * (i ? t.strides[i - 1] : t.size);
                        }
                        f(swizzled(place, t.swizzle), where);
                    }
}

static Bytes numbers(size_t count) {
    Bytes out(count);
    unsigned seed = 12345;
    for (auto& byte : out) byte = (seed = seed * 1664525 + 1013904223) >> 24;
    return out;
}

static unsigned char* upload(const Bytes& bytes) {
    void* memory = nullptr;
    cudaMalloc(&memory, bytes.size());
    cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
    return static_cast<unsigned char*>(memory);
}

static bool download(Bytes& bytes, void* memory) {
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(bytes.data(), memory, bytes.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(memory));
    return true;
}

static bool same(const Bytes& got, const Bytes& expected) {
    int shown = 0;
    for (size_t i = 0; i < got.size() && shown < 8; i++)
        if (got[i] != expected[i]) printf("  byte %zu is %#x, not %#x\n", i, got[i], expected[i]), shown++;
    return shown == 0;
}

// The pieces that all kernels are made of.

__device__ uint32_t shared(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void begin(uint64_t* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ void expect(uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes)
                 : "memory");
}

__device__ void arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(barrier)) : "memory");
}

__device__ void wait(uint64_t* barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra done;\nbra again;\ndone:\n}" ::"r"(shared(barrier)),
        "r"(parity)
        : "memory");
}

__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ void wait_for_stores() {
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

struct At {
    int x[5];
};

__device__ void load(void* to, const CUtensorMap* map, unsigned rank, At at, uint64_t* barrier) {
#define FORM(n) "cp.async.bulk.tensor." #n "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    const uint32_t s = shared(to), b = shared(barrier);
    const int *x = at.x;
    if (rank == 1) asm volatile(FORM(1) "[%0], [%1, {%2}], [%3];" ::"r"(s), "l"(map), "r"(x[0]), "r"(b) : "memory");
    if (rank == 2)
        asm volatile(FORM(2) "[%0], [%1, {%2, %3}], [%4];" ::"r"(s), "l"(map), "r"(x[0]), "r"(x[1]), "r"(b)
                     : "memory");
    if (rank == 3)
        asm volatile(FORM(3) "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(s), "l"(map), "r"(x[0]), "r"(x[1]), "r"(x[2]),
                     "r"(b)
                     : "memory");
    if (rank == 4)
        asm volatile(FORM(4) "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(s), "l"(map), "r"(x[0]), "r"(x[1]),
                     "r"(x[2]), "r"(x[3]), "r"(b)
                     : "memory");
    if (rank == 5)
        asm volatile(FORM(5) "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(s), "l"(map), "r"(x[0]), "r"(x[1]),
                     "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(b)
                     : "memory");
#undef FORM
}

