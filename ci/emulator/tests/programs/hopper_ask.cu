// Questions about tensor maps and matrices to which the documentation has no full answer. The answers are
// printed.
#include "hopper.h"

__global__ void show(const __grid_constant__ CUtensorMap map, unsigned rank, At at, unsigned bytes, unsigned offset,
                     unsigned char* out) {
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) uint64_t barrier;
    for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) tile[i] = 0xEE;
    if (threadIdx.x == 0) begin(&barrier, 1);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&barrier, bytes);
        load(tile + offset, &map, rank, at, &barrier);
    }
    // Not for ever: the barrier may expect another number of bytes than come.
    uint32_t over = 0;
    for (int turn = 0; turn < 100000 && !over; turn++)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(over)
                     : "r"(shared(&barrier))
                     : "memory");
    if (!over && threadIdx.x == 0) printf("not all of the %u bytes come\n", bytes);
    for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) out[i] = tile[i];
}

static Bytes loaded(const Tensor& t, const Bytes& memory, At at, unsigned offset = 0) {
    unsigned char *source = upload(memory), *out = upload(Bytes(4096));
    CUtensorMap map;
    const CUresult code = encode(&map, t, source);
    if (code != CUDA_SUCCESS) printf("encode: %d\n", code);
    else show<<<1, 64, 4096>>>(map, t.rank, at, box_bytes(t), offset, out);
    Bytes got(4096);
    const cudaError_t error = cudaMemcpy(got.data(), out, 4096, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) printf("load: %s\n", cudaGetErrorName(error));
    cudaFree(source);
    cudaFree(out);
    return got;
}

static Bytes counted(size_t count) {
    Bytes out(count);
    for (size_t i = 0; i < count; i++) out[i] = i / 16;
    return out;
}

// The first byte of each piece of 16 bytes.
static void pieces(const char* what, const Bytes& bytes, unsigned count) {
    printf("%s:", what);
    for (unsigned i = 0; i < count; i++) printf(" %02x", bytes[i * 16]);
    printf("\n");
}

static void words(const char* what, const Bytes& bytes, unsigned count) {
    printf("%s:", what);
    for (unsigned i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, &bytes[i * 4], 4);
        printf(" %08x", word);
    }
    printf("\n");
}

static void rows_narrower_than_the_swizzle() {
    const auto u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    const Bytes memory = counted(4096);
    pieces("rows of 64 bytes, 128", loaded(tensor(u8, 1, {64, 32}, {64, 8}, CU_TENSOR_MAP_SWIZZLE_128B), memory, {}), 72);
    pieces("rows of 32 bytes, 128", loaded(tensor(u8, 1, {32, 32}, {32, 8}, CU_TENSOR_MAP_SWIZZLE_128B), memory, {}), 72);
    pieces("rows of 48 bytes, 64", loaded(tensor(u8, 1, {48, 32}, {48, 8}, CU_TENSOR_MAP_SWIZZLE_64B), memory, {}), 40);
    pieces("rows of 16 bytes, 32", loaded(tensor(u8, 1, {16, 32}, {16, 8}, CU_TENSOR_MAP_SWIZZLE_32B), memory, {}), 24);
}

static void targets_off_the_pattern() {
    const auto u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    const Bytes memory = counted(4096);
    pieces("128 at 128", loaded(tensor(u8, 1, {128, 16}, {128, 8}, CU_TENSOR_MAP_SWIZZLE_128B), memory, {}, 128), 80);
    pieces("64 at 128", loaded(tensor(u8, 1, {64, 32}, {64, 8}, CU_TENSOR_MAP_SWIZZLE_64B), memory, {}, 128), 48);
    pieces("32 at 128", loaded(tensor(u8, 1, {32, 32}, {32, 8}, CU_TENSOR_MAP_SWIZZLE_32B), memory, {}, 128), 32);
}

static void numbers_that_are_changed() {
    const uint32_t bits[] = {0x3F801000, 0x3F801001, 0x3F800FFF, 0x3F803000, 0xBF801000, 0x7F7FFFFF, 0x7F800000, 0x7FC00001,
                             0xFF800001, 0x00000001, 0x807FFFFF, 0x00001FFF, 0x80001000, 0x3F802000, 0x3F804FFF, 0xFF800000};
    Bytes memory(sizeof(bits) + 16);
    memcpy(memory.data(), bits, sizeof(bits));
    const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
                                         CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ};
    const char* const names[] = {"float", "float, flushed", "tf32", "tf32, flushed"};
    for (int i = 0; i < 4; i++) words(names[i], loaded(tensor(types[i], 4, {16}, {16}), memory, {}), 16);
}

static void elements_outside() {
    const CUtensorMapDataType types[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                         CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
                                         CU_TENSOR_MAP_DATA_TYPE_FLOAT64};
    const unsigned sizes[] = {2, 2, 4, 4, 8};
    for (int i = 0; i < 5; i++) {
        Tensor t = tensor(types[i], sizes[i], {8}, {16});
        t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
        words("outside", loaded(t, Bytes(256), {}), sizes[i] * 4);
    }
    Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {8}, {16});
    t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    words("outside, integers", loaded(t, Bytes(256), {}), 16);
}

static void maps() {
    alignas(64) CUtensorMap map[2];
    unsigned char* memory = upload(Bytes(65536));
    const auto encoded = [&](const char* what, auto change, int address = 0) {
        Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 32, 4}, {64, 8, 1});
        change(t);
        printf("%s: %d\n", what, encode(map, t, memory + address));
    };
    encoded("as it should be", [](Tensor&) {});
    encoded("rank 0", [](Tensor& t) { t.rank = 0; });
    encoded("rank 6", [](Tensor& t) { t.rank = 6; });
    encoded("address + 8", [](Tensor&) {}, 8);
    encoded("no elements", [](Tensor& t) { t.dims[1] = 0; });
    encoded("2^32 elements", [](Tensor& t) { t.dims[1] = 1ull << 32; });
    encoded("2^32 + 1 elements", [](Tensor& t) { t.dims[1] = (1ull << 32) + 1; });
    encoded("a stride of 136", [](Tensor& t) { t.strides[0] = 136; });
    encoded("a stride of 64, less than a row", [](Tensor& t) { t.strides[0] = 64; });
    encoded("a stride of 0", [](Tensor& t) { t.strides[0] = 0; });
    encoded("strides that are no multiples", [](Tensor& t) { t.strides[0] = 160, t.strides[1] = 5136; });
    encoded("strides that fall", [](Tensor& t) { t.strides[0] = 8192, t.strides[1] = 128; });
    encoded("a stride of 2^40", [](Tensor& t) { t.strides[1] = 1ull << 40; });
    encoded("a stride of 2^40 - 16", [](Tensor& t) { t.strides[1] = (1ull << 40) - 16; });
    encoded("a box of 0", [](Tensor& t) { t.box[1] = 0; });
    encoded("a box of 256", [](Tensor& t) { t.box[1] = 256; });
    encoded("a box of 257", [](Tensor& t) { t.box[1] = 257; });
    encoded("rows of 24 bytes", [](Tensor& t) { t.box[0] = 12; });
    encoded("a box of 512 KiB", [](Tensor& t) { t.box[0] = t.box[1] = 256, t.box[2] = 4; });
    encoded("a box beyond the tensor", [](Tensor& t) { t.box[0] = 128; });
    encoded("steps of 0", [](Tensor& t) { t.steps[1] = 0; });
    encoded("steps of 0, innermost", [](Tensor& t) { t.steps[0] = 0; });
    encoded("steps of 8", [](Tensor& t) { t.steps[1] = 8; });
    encoded("steps of 9", [](Tensor& t) { t.steps[1] = 9; });
    encoded("steps of 9, innermost", [](Tensor& t) { t.steps[0] = 9; });
    encoded("a swizzle of 64, rows of 128", [](Tensor& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; });
    encoded("a swizzle of 128, rows of 128", [](Tensor& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B; });
    encoded("swizzle 4", [](Tensor& t) { t.swizzle = CUtensorMapSwizzle(4); });
    encoded("swizzle 7", [](Tensor& t) { t.swizzle = CUtensorMapSwizzle(7); });
    encoded("type 13", [](Tensor& t) { t.type = CUtensorMapDataType(13); });
    encoded("type 16", [](Tensor& t) { t.type = CUtensorMapDataType(16); });
    encoded("fill 2", [](Tensor& t) { t.fill = CUtensorMapFloatOOBfill(2); });
    encoded("integers with NaN", [](Tensor& t) {
        t.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
        t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    });
    encoded("as it should be", [](Tensor&) {});
    const auto replace = driver<decltype(&cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
    printf("another address: %d\n", replace(map, memory + 1024));
    printf("another address + 8: %d\n", replace(map, memory + 8));
    printf("a null address: %d\n", replace(map, nullptr));
    const Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 32}, {64, 8});
    printf("memory of the host: %d\n", encode(map, t, (void*)0x10000));
    printf("null: %d\n", encode(map, t, nullptr));
    void* found = &map;
    for (const char* name : {"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapReplaceAddress"})
        for (unsigned version : {11080u, 12000u, 13000u}) {
            cudaDriverEntryPointQueryResult status;
            const cudaError_t code =
                cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status);
            printf("%s of %u: %s, %d, %s\n", name, version, cudaGetErrorName(code), status, found ? "found" : "null");
        }
    cudaFree(memory);
}

static void no_maps() {
    alignas(64) CUtensorMap map[2] = {};
    unsigned char* memory = upload(Bytes(1024));
    const Tensor t = tensor(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 32}, {64, 8});
    const auto replace = driver<decltype(&cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
    const auto off = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(map) + 32);
    printf("a map + 32: %d\n", encode(off, t, memory));
    printf("a map + 32, another address: %d\n", replace(off, memory));
    printf("a map of zeros: %d\n", replace(map, memory));
    printf("no map: %d\n", encode(nullptr, t, memory));
    printf("no map, another address: %d\n", replace(nullptr, memory));
}

// A matrix whose pattern does not begin at a multiple of 1024 bytes, with each base in its descriptor.
__global__ void bases(unsigned char* out) {
    extern __shared__ __align__(1024) unsigned char tile[];
    half* a = reinterpret_cast<half*>(tile);
    for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x) a[i] = __float2half(0.0f);
    __syncthreads();
    // The first factor: one at k = row % 16. The second: each piece of 8 has its own number, by its place.
    for (unsigned row = threadIdx.x; row < 64; row += blockDim.x)
        a[row % 8 * 8 + row / 8 * 64 + row % 16 / 8 * 512 + row % 8] = __float2half(1.0f);
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) a[8192 + i] = __float2half(float(i / 8));
    fence_async();
    __syncthreads();
    const uint64_t left = uint64_t(1024 >> 4) << 16 | uint64_t(128 >> 4) << 32 | (shared(tile) & 0x3FFFF) >> 4;
    for (uint64_t base = 0; base < 8; base++)
        for (unsigned from = 0; from < 512; from += 128) {
            const uint64_t right = uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | base << 49 | uint64_t(1) << 62 |
                                   (shared(tile + 16384 + from) & 0x3FFFF) >> 4;
            float d[4] = {};
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                : "l"(left), "l"(right)
                : "memory");
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            // Row 0 of the product is element 0 of all rows of the second factor.
            if (threadIdx.x < 4) {
                out[base * 32 + from / 128 * 8 + threadIdx.x * 2] = d[0];
                out[base * 32 + from / 128 * 8 + threadIdx.x * 2 + 1] = d[1];
            }
        }
}

static void patterns() {
    unsigned char* out = upload(Bytes(256));
    bases<<<1, 128, 32768>>>(out);
    Bytes got(256);
    if (!download(got, out)) return;
    for (int i = 0; i < 32; i++) {
        printf("base %d, from row %d:", i / 4, i % 4);
        for (int k = 0; k < 8; k++) printf(" %02x", got[i * 8 + k]);
        printf("\n");
    }
}

int main(int count, char** arguments) {
    setvbuf(stdout, nullptr, _IONBF, 0);
    const struct {
        const char* name;
        void (*ask)();
    } all[] = {
        {"maps", maps},         {"no_maps", no_maps}, {"narrow", rows_narrower_than_the_swizzle}, {"targets", targets_off_the_pattern},
        {"numbers", numbers_that_are_changed}, {"outside", elements_outside}, {"patterns", patterns},
    };
    for (const auto& it : all)
        if (count < 2 || strcmp(arguments[1], it.name) == 0) it.ask();
    return cudaDeviceSynchronize() != cudaSuccess;
}
