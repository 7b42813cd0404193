// Mistakes with the instructions of sm_90a. The argument names one; the error, or what was read, is printed.
#include "hopper.h"

#define DESCRIPTOR (uint64_t(1) << 16 | uint64_t(64) << 32)
#define PRODUCT(a, b)                                                                                          \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"   \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                               \
                 : "l"(a), "l"(b)                                                                               \
                 : "memory")

enum Mistake {
    Right, MisalignedBox, MisalignedBytes, OddSize, WrongMap, WrongRank, OutsideMemory, PastShared, Unbegun, ExpectsMore,
    ExpectsLess, NoWait, NoWaitForStore, NoSuchBlock, NoFence, NoWaitForProduct, HalfWarpgroup, FarDescriptor,
    OtherDescriptors, NoProxyFence, OddColumn, BeforeTensor, CountsTooMuch,
};

static const char* const names[] = {
    "right", "misaligned_box", "misaligned_bytes", "odd_size", "wrong_map", "wrong_rank", "outside_memory", "past_shared",
    "unbegun", "expects_more", "expects_less", "no_wait", "no_wait_for_store", "no_such_block", "no_fence",
    "no_wait_for_product", "half_warpgroup", "far_descriptor", "other_descriptors", "no_proxy_fence", "odd_column",
    "before_tensor", "counts_too_much",
};

template <int mistake>
__global__ void box(const __grid_constant__ CUtensorMap map, int* memory) {
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) uint64_t barrier;
    int* words = reinterpret_cast<int*>(tile);
    for (unsigned i = threadIdx.x; i < 2048; i += blockDim.x) words[i] = -1;
    if (threadIdx.x == 0) {
        barrier = 0;
        if (mistake != Unbegun) begin(&barrier, 1);
    }
    fence_async();
    __syncthreads();
    if (mistake == NoWaitForStore) {
        if (threadIdx.x == 0)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;\ncp.async.bulk.commit_group;" ::"l"(
                             memory),
                         "r"(shared(tile))
                         : "memory");
        words[threadIdx.x] = 7;
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        return;
    }
    if (mistake == BeforeTensor) {
        if (threadIdx.x == 0)
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(&map),
                         "r"(0), "r"(-1), "r"(shared(tile))
                         : "memory");
        return;
    }
    if (threadIdx.x == 0) {
        const unsigned bytes = 1024 + (mistake == ExpectsMore ? 16 : mistake == ExpectsLess ? -16 : 0);
        if (mistake != Unbegun) expect(&barrier, bytes);
        const At at = {{mistake == OddColumn ? 3 : 0, 0, 0, 0, 0}};
        // With one more, 2^20 bytes.
        for (int i = 0; mistake == CountsTooMuch && i < 1024; i++) load(tile, &map, 2, at, &barrier);
        if (mistake == MisalignedBytes || mistake == OddSize)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                             shared(tile)),
                         "l"(memory + (mistake == MisalignedBytes)), "r"(mistake == OddSize ? 1020 : 1024),
                         "r"(shared(&barrier))
                         : "memory");
        else if (mistake == NoSuchBlock)
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                "[%0], [%1], 1024, [%2], %3;" ::"r"(shared(tile)),
                "l"(memory), "r"(shared(&barrier)), "h"(uint16_t(0b101))
                : "memory");
        else
            load(tile + (mistake == MisalignedBox ? 16 : mistake == PastShared ? 8192 - 512 : 0), &map,
                 mistake == WrongRank ? 3 : 2, at, &barrier);
    }
    if (mistake != NoWait && mistake != Unbegun) wait(&barrier, 0);
    memory[threadIdx.x] = words[threadIdx.x];
}

template <int mistake>
__global__ void multiply(int* memory) {
    extern __shared__ __align__(1024) unsigned char tile[];
    for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) reinterpret_cast<half*>(tile)[i] = __float2half(1.0f);
    if (mistake != NoProxyFence) fence_async();
    __syncthreads();
    float d[4] = {};
    const uint64_t start = (shared(tile) & 0x3FFFF) >> 4;
    uint64_t a = DESCRIPTOR | start, b = a;
    if (mistake == FarDescriptor) b = DESCRIPTOR | 0x3F00;
    if (mistake == OtherDescriptors && threadIdx.x >= 64) b += 64;
    if (mistake != NoFence) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    PRODUCT(a, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (mistake != NoWaitForProduct) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    memory[threadIdx.x] = int(d[0]);
}

template <int mistake>
static void run(const CUtensorMap& map, int* memory) {
    if (mistake < NoFence || mistake >= OddColumn)
        box<mistake><<<1, 32, 8192>>>(map, memory);
    else
        multiply<mistake><<<1, mistake == HalfWarpgroup ? 64 : 128, 8192>>>(memory);
}

int main(int count, char** arguments) {
    int which = -1, *memory, got[128] = {};
    for (int i = 0; i <= CountsTooMuch; i++)
        if (count > 1 && strcmp(arguments[1], names[i]) == 0) which = i;
    CUtensorMap map;
    Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {32, 64}, {32, 8});
    if (which == OutsideMemory) t.strides[0] = 1 << 30;
    cudaMalloc(&memory, 8192);
    cudaMemset(memory, 0, 8192);
    if (encode(&map, t, memory) != CUDA_SUCCESS) return printf("no map\n"), 1;
    if (which == WrongMap) memset(&map, 0, sizeof(map));
    static void (*const all[])(const CUtensorMap&, int*) = {
        run<0>, run<1>, run<2>, run<3>, run<4>, run<5>, run<6>, run<7>, run<8>, run<9>,
        run<10>, run<11>, run<12>, run<13>, run<14>, run<15>, run<16>, run<17>, run<18>, run<19>, run<20>,
        run<21>, run<22>,
    };
    if (which < 0) return printf("there is no such mistake\n"), 1;
    all[which](map, memory);
    const cudaError_t code = cudaMemcpy(got, memory, sizeof(got), cudaMemcpyDeviceToHost);
    printf("%s: %s, %d %d\n", names[which], cudaGetErrorName(code), got[0], got[31]);
}
