// Instructions of sm_90a: copies of tensors, and products of warpgroups. Each case compares with the host,
// and prints PASS or the values that differ. Without an argument all cases run.
#include "hopper.h"

// Loads a box, and shows so much of shared memory.
__global__ void load_box(const __grid_constant__ CUtensorMap map, unsigned rank, At at, unsigned bytes, unsigned shown,
                         unsigned char* out) {
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) uint64_t barrier;
    for (unsigned i = threadIdx.x; i < shown; i += blockDim.x) tile[i] = 0xEE;
    if (threadIdx.x == 0) {
        begin(&barrier, 1);
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    }
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&barrier, bytes);
        load(tile, &map, rank, at, &barrier);
    }
    wait(&barrier, 0);
    for (unsigned i = threadIdx.x; i < shown; i += blockDim.x) out[i] = tile[i];
}

static bool told(const Tensor& t, At at) {
    printf("  type %d, %u dimensions, swizzle %d, at %d, %d\n", t.type, t.rank, t.swizzle, at.x[0], at.x[1]);
    return true;
}

static bool loads(const Tensor& t, At at) {
    const Bytes memory = numbers(bytes_of(t));
    unsigned char *source = upload(memory), *out = upload(Bytes(box_bytes(t)));
    CUtensorMap map;
    if (encode(&map, t, source) != CUDA_SUCCESS) return printf("  no map\n"), false;
    load_box<<<1, 64, box_bytes(t)>>>(map, t.rank, at, box_bytes(t), box_bytes(t), out);
    Bytes got(box_bytes(t)), expected(box_bytes(t));
    each(t, at.x, [&](unsigned place, long where) {
        if (where >= 0) memcpy(&expected[place], &memory[where], t.size);
    });
    const bool right = download(got, out) && same(got, expected);
    cudaFree(source);
    return right || !told(t, at);
}

// The first coordinate of a box is a multiple of 16 bytes.
static bool tiles() {
    const auto u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8, u16 = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    const auto i32 = CU_TENSOR_MAP_DATA_TYPE_INT32, f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    const auto f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, u64 = CU_TENSOR_MAP_DATA_TYPE_UINT64;
    return loads(tensor(u8, 1, {1000}, {256}), {{912}}) && loads(tensor(i32, 4, {1000}, {64}), {{-8}}) &&
           loads(tensor(f16, 2, {100, 40}, {64, 16}), {{8, 3}}) &&
           loads(tensor(f16, 2, {100, 40}, {64, 16}), {{56, 30}}) &&
           loads(tensor(f32, 4, {33, 21}, {16, 8}), {{-8, -2}}) &&
           loads(tensor(u16, 2, {50, 20, 12}, {24, 6, 5}), {{40, 17, -1}}) &&
           loads(tensor(u64, 8, {10, 9, 8, 7}, {4, 3, 3, 2}), {{8, -1, 7, 6}}) &&
           loads(tensor(i32, 4, {12, 6, 5, 4, 3}, {8, 3, 2, 2, 2}), {{-4, 5, 4, 2, 2}}) &&
           loads(tensor(u8, 1, {256, 8}, {64, 8}), {{512, 0}});
}

static bool swizzles() {
    const auto f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, i32 = CU_TENSOR_MAP_DATA_TYPE_INT32;
    return loads(tensor(f16, 2, {100, 40}, {16, 32}, CU_TENSOR_MAP_SWIZZLE_32B), {{8, 2}}) &&
           loads(tensor(f16, 2, {100, 40}, {32, 32}, CU_TENSOR_MAP_SWIZZLE_64B), {{88, 20}}) &&
           loads(tensor(f16, 2, {100, 40}, {64, 32}, CU_TENSOR_MAP_SWIZZLE_128B), {{56, -5}}) &&
           loads(tensor(i32, 4, {40, 20, 10}, {32, 6, 5}, CU_TENSOR_MAP_SWIZZLE_128B), {{4, 2, 3}});
}

static bool steps() {
    Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {40, 60, 30}, {8, 12, 9});
    t.steps[0] = 3;
    t.steps[1] = 4;
    t.steps[2] = 2;
    return loads(t, {{8, 3, 10}}) && loads(t, {{36, 50, -3}});
}

// The same box, from shared memory to a tensor.
template <int Reduce>
__global__ void store_box(const __grid_constant__ CUtensorMap map, unsigned rank, At at, unsigned bytes,
                          const unsigned char* from) {
    extern __shared__ __align__(1024) unsigned char tile[];
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = from[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x) return;
    const uint32_t s = shared(tile);
#define TWO "[%0, {%1, %2}], [%3];" ::"l"(&map), "r"(at.x[0]), "r"(at.x[1]), "r"(s) : "memory"
#define REDUCE(op) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group " TWO)
    if (Reduce == 1) REDUCE("add");
    if (Reduce == 2) REDUCE("min");
    if (Reduce == 3) REDUCE("max");
    if (Reduce == 4) REDUCE("and");
    if (Reduce == 5) REDUCE("xor");
    if (Reduce == 6) REDUCE("inc");
    if (Reduce == 0 && rank == 1)
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%1}], [%2];" ::"l"(&map),
                     "r"(at.x[0]), "r"(s)
                     : "memory");
    if (Reduce == 0 && rank == 2) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group " TWO);
    if (Reduce == 0 && rank == 3)
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
                     "r"(at.x[0]), "r"(at.x[1]), "r"(at.x[2]), "r"(s)
                     : "memory");
#undef TWO
#undef REDUCE
    wait_for_stores();
}

template <int Reduce, class F>
static bool stores(const Tensor& t, At at, const Bytes& before, const Bytes& box, F combine) {
    unsigned char *target = upload(before), *from = upload(box);
    CUtensorMap map;
    if (encode(&map, t, target) != CUDA_SUCCESS) return printf("  no map\n"), false;
    store_box<Reduce><<<1, 64, box_bytes(t)>>>(map, t.rank, at, box_bytes(t), from);
    Bytes got(before.size()), expected = before;
    // A write goes to the end of the 16 bytes in which a row ends.
    Tensor wide = t;
    wide.dims[0] = (t.dims[0] * t.size + 15) / 16 * 16 / t.size;
    each(wide, at.x, [&](unsigned place, long where) {
        if (where >= 0) combine(&expected[where], &box[place]);
    });
    const bool right = download(got, target) && same(got, expected);
    cudaFree(from);
    return right || !told(t, at);
}

static bool stored(const Tensor& t, At at) {
    const Bytes before = numbers(bytes_of(t)), box = numbers(box_bytes(t) + 1);
    return stores<0>(t, at, before, Bytes(box.begin() + 1, box.end()),
                     [&](unsigned char* to, const unsigned char* from) { memcpy(to, from, t.size); });
}

static bool writes() {
    const auto f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, i32 = CU_TENSOR_MAP_DATA_TYPE_INT32;
    return stored(tensor(i32, 4, {100}, {32}), {{80}}) && stored(tensor(f16, 2, {100, 40}, {64, 16}), {{56, 30}}) &&
           stored(tensor(f16, 2, {100, 40}, {64, 16}, CU_TENSOR_MAP_SWIZZLE_128B), {{16, 10}}) &&
           stored(tensor(f16, 2, {100, 40}, {32, 16}, CU_TENSOR_MAP_SWIZZLE_64B), {{8, 10}}) &&
           stored(tensor(i32, 4, {12, 10, 9}, {8, 4, 3}), {{8, 8, 7}});
}

template <int Reduce, class T, class F>
static bool reduced(CUtensorMapDataType type, F f) {
    const Tensor t = tensor(type, sizeof(T), {40, 20}, {32, 8});
    Bytes before(bytes_of(t)), box(box_bytes(t));
    for (size_t i = 0; i + sizeof(T) <= before.size(); i += sizeof(T)) {
        const T x = T(float(int(i * 7 % 120) - (std::is_unsigned<T>::value ? 0 : 60)));
        memcpy(&before[i], &x, sizeof(T));
    }
    for (size_t i = 0; i < box.size(); i += sizeof(T)) {
        const T x = T(float(i * 5 % 100));
        memcpy(&box[i], &x, sizeof(T));
    }
    return stores<Reduce>(t, {{24, 14}}, before, box, [&](unsigned char* to, const unsigned char* from) {
        T a, b;
        memcpy(&a, to, sizeof(T));
        memcpy(&b, from, sizeof(T));
        a = f(a, b);
        memcpy(to, &a, sizeof(T));
    });
}

static bool reductions() {
    return reduced<1, float>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, [](float a, float b) { return a + b; }) &&
           reduced<1, half>(CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                            [](half a, half b) { return __float2half(__half2float(a) + __half2float(b)); }) &&
           reduced<1, unsigned>(CU_TENSOR_MAP_DATA_TYPE_UINT32, [](unsigned a, unsigned b) { return a + b; }) &&
           reduced<2, int>(CU_TENSOR_MAP_DATA_TYPE_INT32, [](int a, int b) { return a < b ? a : b; }) &&
           reduced<3, half>(CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                            [](half a, half b) { return __half2float(a) > __half2float(b) ? a : b; }) &&
           reduced<4, unsigned>(CU_TENSOR_MAP_DATA_TYPE_UINT32, [](unsigned a, unsigned b) { return a & b; }) &&
           reduced<5, uint64_t>(CU_TENSOR_MAP_DATA_TYPE_UINT64, [](uint64_t a, uint64_t b) { return a ^ b; }) &&
           reduced<6, unsigned>(CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                [](unsigned a, unsigned b) { return a >= b ? 0 : a + 1; });
}

// Copies and reductions of plain bytes, between global memory and the shared memory of two blocks.
__global__ void __cluster_dims__(2) bytes_kernel(const int* in, int* out, int* sums, float* floats) {
    __shared__ __align__(128) int mine[256], theirs[256];
    __shared__ __align__(16) float ones[64];
    __shared__ __align__(8) uint64_t barrier, other;
    const unsigned rank = cooperative_groups::this_cluster().block_rank();
    if (threadIdx.x == 0) begin(&barrier, 1), begin(&other, 1);
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) theirs[i] = 100 * i;
    if (threadIdx.x < 64) ones[threadIdx.x] = threadIdx.x + 0.5f;
    fence_async();
    cooperative_groups::this_cluster().sync();
    if (threadIdx.x == 0) {
        expect(&barrier, 1024);
        expect(&other, 1536);
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(in) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(
                         shared(mine)),
                     "l"(in + rank * 256), "r"(shared(&barrier))
                     : "memory");
    }
    wait(&barrier, 0);
    if (threadIdx.x == 0) {
        uint32_t to, where;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared(theirs)), "r"(1 - rank));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(where) : "r"(shared(&other)), "r"(1 - rank));
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(
                         to),
                     "r"(shared(mine)), "r"(where)
                     : "memory");
        asm volatile(
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 1024, "
            "[%2];" ::"r"(to),
            "r"(shared(mine)), "r"(where)
            : "memory");
    }
    wait(&other, 0);
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out + rank * 256),
                     "r"(shared(theirs))
                     : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 1024;" ::"l"(sums),
                     "r"(shared(theirs))
                     : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" ::"l"(floats),
                     "r"(shared(ones))
                     : "memory");
        wait_for_stores();
    }
    cooperative_groups::this_cluster().sync();
}

static bool plain() {
    std::vector<int> in(512), got(512), sums(256), expected(512), maxima(256);
    std::vector<float> floats(64);
    for (int i = 0; i < 512; i++) in[i] = i * 3 + 1;
    int *from, *to, *largest;
    float* added;
    CHECK(cudaMalloc(&from, 2048));
    CHECK(cudaMalloc(&to, 2048));
    CHECK(cudaMalloc(&largest, 1024));
    CHECK(cudaMalloc(&added, 256));
    CHECK(cudaMemset(largest, 0, 1024));
    CHECK(cudaMemset(added, 0, 256));
    CHECK(cudaMemcpy(from, in.data(), 2048, cudaMemcpyHostToDevice));
    bytes_kernel<<<2, 64>>>(from, to, largest, added);
    CHECK(cudaMemcpy(got.data(), to, 2048, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sums.data(), largest, 1024, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(floats.data(), added, 256, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < 256; i++) {
            // The copy and the reduction are not ordered: only the second half, which is not copied, is
            // exact.
            expected[rank * 256 + i] = in[(1 - rank) * 256 + i] + 100 * i;
            if (i >= 128) wrong += got[rank * 256 + i] != expected[rank * 256 + i];
            if (i >= 128 && expected[rank * 256 + i] > maxima[i]) maxima[i] = expected[rank * 256 + i];
        }
    for (int i = 128; i < 256; i++) wrong += sums[i] != maxima[i];
    for (int i = 0; i < 64; i++) wrong += floats[i] != 2 * (i + 0.5f);
    if (wrong) printf("  %d values are wrong: %d, not %d; %d; %f\n", wrong, got[200], expected[200], sums[200], floats[3]);
    for (void* memory : {(void*)from, (void*)to, (void*)largest, (void*)added}) CHECK(cudaFree(memory));
    return wrong == 0;
}

// One block of a cluster loads a box for all: each gets the whole of it.
__global__ void __cluster_dims__(4) multicast_kernel(const __grid_constant__ CUtensorMap map, unsigned char* out) {
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) uint64_t barrier;
    const unsigned rank = cooperative_groups::this_cluster().block_rank();
    if (threadIdx.x == 0) begin(&barrier, 1);
    cooperative_groups::this_cluster().sync();
    if (threadIdx.x == 0) expect(&barrier, rank == 3 ? 1024 : 4096 + 1024);
    cooperative_groups::this_cluster().sync();
    if (threadIdx.x == 0) {
        if (rank == 1)
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared(tile)),
                "l"(&map), "r"(16), "r"(4), "r"(shared(&barrier)), "h"(uint16_t(0b0111))
                : "memory");
        if (rank == 2)
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                "[%0], [%1], 1024, [%2], %3;" ::"r"(shared(tile + 4096)),
                "l"(out), "r"(shared(&barrier)), "h"(uint16_t(0b1111))
                : "memory");
    }
    wait(&barrier, 0);
    for (unsigned i = threadIdx.x; i < 5120; i += blockDim.x)
        if (rank < 3 || i >= 4096) out[1024 + rank * 5120 + i] = tile[i];
    cooperative_groups::this_cluster().sync();
}

static bool multicast() {
    const Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {100, 60}, {64, 32}, CU_TENSOR_MAP_SWIZZLE_128B);
    const Bytes memory = numbers(bytes_of(t)), before = numbers(1024 + 4 * 5120);
    unsigned char *source = upload(memory), *out = upload(before);
    CUtensorMap map;
    if (encode(&map, t, source) != CUDA_SUCCESS) return printf("  no map\n"), false;
    multicast_kernel<<<4, 64, 5120>>>(map, out);
    Bytes got(before.size()), expected = before;
    const int at[] = {16, 4};
    for (int rank = 0; rank < 4; rank++) {
        memcpy(&expected[1024 + rank * 5120 + 4096], &before[0], 1024);
        if (rank == 3) continue;
        each(t, at, [&](unsigned place, long where) {
            if (where >= 0) memcpy(&expected[1024 + rank * 5120 + place], &memory[where], 2);
            else memset(&expected[1024 + rank * 5120 + place], 0, 2);
        });
    }
    const bool right = download(got, out) && same(got, expected);
    cudaFree(source);
    return right;
}

// With the names of the C++ library, a map in constant memory, and a map with another address.
__constant__ CUtensorMap kept;
__global__ void library_kernel(const __grid_constant__ CUtensorMap to) {
    namespace cde = cuda::device::experimental;
    __shared__ __align__(128) int tile[8][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &kept, 32, 8, barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(tile));
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    for (int y = 0; y < 8; y++) tile[y][threadIdx.x] += 1000;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&to, 0, 16, &tile);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

static bool library() {
    const Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {64, 32}, {32, 8});
    Bytes memory = numbers(bytes_of(t));
    unsigned char *source = upload(memory), *target = upload(memory);
    CUtensorMap from, to;
    static const auto replace = driver<decltype(&cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
    if (encode(&from, t, source) != CUDA_SUCCESS || encode(&to, t, source) != CUDA_SUCCESS) return false;
    if (replace(&to, target) != CUDA_SUCCESS) return printf("  no other address\n"), false;
    CHECK(cudaMemcpyToSymbol(kept, &from, sizeof(from)));
    library_kernel<<<1, 32>>>(to);
    Bytes got(memory.size()), expected = memory;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 32; x++) {
            int value;
            memcpy(&value, &memory[((y + 8) * 64 + x + 32) * 4], 4);
            value += 1000;
            memcpy(&expected[((y + 16) * 64 + x) * 4], &value, 4);
        }
    const bool right = download(got, target) && same(got, expected);
    cudaFree(source);
    return right;
}

// A map of another tensor, made by the kernel of one that it is given.
__global__ void fields_kernel(const __grid_constant__ CUtensorMap map, CUtensorMap* changed, const unsigned char* other,
                              unsigned bytes, unsigned char* out) {
    __shared__ __align__(1024) unsigned char tile[2048];
    __shared__ __align__(128) CUtensorMap mine;
    __shared__ __align__(8) uint64_t barrier;
    const uint32_t s = shared(&mine);
    if (threadIdx.x == 0) {
        begin(&barrier, 1);
        mine = map;
#define REPLACE(field, type, operands, letter, value) \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], " operands ";" ::"r"(s), letter(value) : "memory")
        REPLACE("global_address", "b64", "%1", "l", other);
        REPLACE("rank", "b32", "%1", "r", 1);
        REPLACE("global_dim", "b32", "0, %1", "r", 50);
        REPLACE("global_dim", "b32", "1, %1", "r", 33);
        REPLACE("global_stride", "b64", "0, %1", "l", 208ull);
        REPLACE("box_dim", "b32", "0, %1", "r", 16);
        REPLACE("box_dim", "b32", "1, %1", "r", 24);
        REPLACE("element_stride", "b32", "1, %1", "r", 2);
#undef REPLACE
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 2;" ::"r"(s) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 2;" ::"r"(s) : "memory");
    }
    __syncwarp();
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
            changed),
        "r"(s)
        : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(changed) : "memory");
    if (threadIdx.x == 0) {
        expect(&barrier, bytes);
        load(tile, changed, 2, {{40, 10}}, &barrier);
    }
    wait(&barrier, 0);
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = tile[i];
}

static bool fields() {
    const Tensor before = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {100, 40}, {64, 16}, CU_TENSOR_MAP_SWIZZLE_128B);
    Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {50, 33}, {16, 24}, CU_TENSOR_MAP_SWIZZLE_64B);
    t.steps[1] = 2;
    const Bytes memory = numbers(bytes_of(t));
    unsigned char *source = upload(memory), *changed = upload(Bytes(128)), *out = upload(Bytes(box_bytes(t)));
    CUtensorMap map;
    if (encode(&map, before, source) != CUDA_SUCCESS) return printf("  no map\n"), false;
    fields_kernel<<<1, 32>>>(map, reinterpret_cast<CUtensorMap*>(changed), source, box_bytes(t), out);
    Bytes got(box_bytes(t)), expected(box_bytes(t));
    const int at[] = {40, 10};
    each(t, at, [&](unsigned place, long where) {
        if (where >= 0) memcpy(&expected[place], &memory[where], t.size);
    });
    const bool right = download(got, out) && same(got, expected);
    CHECK(cudaFree(source));
    CHECK(cudaFree(changed));
    return right;
}

// Stores to the other block of a cluster, whose bytes a barrier there counts.
__global__ void __cluster_dims__(2) remote_kernel(unsigned* out) {
    __shared__ __align__(16) unsigned words[32 * 5];
    __shared__ unsigned sum;
    __shared__ __align__(8) uint64_t barrier;
    const unsigned rank = cooperative_groups::this_cluster().block_rank(), lane = threadIdx.x;
    if (lane == 0) {
        begin(&barrier, 1);
        sum = 1000;
        expect(&barrier, 32 * 24);
    }
    cooperative_groups::this_cluster().sync();
    const auto there = [&](const void* p) {
        uint32_t address;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared(p)), "r"(1 - rank));
        return address;
    };
#define COUNTED "shared::cluster.mbarrier::complete_tx::bytes."
    asm volatile("st.async.weak." COUNTED "u32 [%0], %1, [%2];" ::"r"(there(words + 128 + lane)), "r"(lane * 3 + rank),
                 "r"(there(&barrier))
                 : "memory");
    asm volatile("st.async.weak." COUNTED "v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(there(words + lane * 4)),
                 "r"(lane), "r"(lane + 1), "r"(lane + 2), "r"(rank), "r"(there(&barrier))
                 : "memory");
    asm volatile("red.async.relaxed.cluster." COUNTED "add.u32 [%0], %1, [%2];" ::"r"(there(&sum)), "r"(lane),
                 "r"(there(&barrier))
                 : "memory");
#undef COUNTED
    wait(&barrier, 0);
    for (unsigned i = lane; i < 160; i += 32) out[rank * 161 + i] = words[i];
    if (lane == 0) out[rank * 161 + 160] = sum;
    cooperative_groups::this_cluster().sync();
}

static bool remote() {
    Bytes got(2 * 161 * 4), expected(got.size());
    for (unsigned rank = 0; rank < 2; rank++)
        for (unsigned i = 0; i < 161; i++) {
            const unsigned other = 1 - rank, part = i % 4;
            const unsigned word = i == 160 ? 1496 : i >= 128 ? (i - 128) * 3 + other : part == 3 ? other : i / 4 + part;
            memcpy(&expected[(rank * 161 + i) * 4], &word, 4);
        }
    unsigned char* out = upload(got);
    remote_kernel<<<2, 32>>>(reinterpret_cast<unsigned*>(out));
    return download(got, out) && same(got, expected);
}

#include "warpgroup.h"

struct Case {
    const char* name;
    bool (*run)();
};

static const Case cases[] = {
    {"tiles", tiles},           {"swizzles", swizzles}, {"steps", steps},         {"writes", writes},
    {"reductions", reductions}, {"plain", plain},       {"multicast", multicast}, {"library", library},
    {"fields", fields},         {"remote", remote},
    {"products", products},     {"layouts", layouts},   {"columns", columns},     {"registers", registers},
    {"scales", scales},         {"widths", widths},     {"kinds", kinds},         {"pipeline", pipeline},
};

int main(int count, char** arguments) {
    int wrong = 0;
    for (const Case& it : cases) {
        bool wanted = count < 2;
        for (int i = 1; i < count; i++) wanted |= strcmp(arguments[i], it.name) == 0;
        if (!wanted) continue;
        const bool right = it.run() && cudaDeviceSynchronize() == cudaSuccess;
        printf("%s: %s\n", it.name, right ? "PASS" : "FAIL");
        wrong += !right;
    }
    return wrong != 0;
}
