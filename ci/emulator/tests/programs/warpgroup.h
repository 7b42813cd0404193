// Products of warpgroups. The host lays the factors out in an image of shared memory.

enum class Kind { F16, Bf16, Tf32, E4m3, E5m2, S8, U8, F32, S32 };

static unsigned size_of(Kind kind) {
    switch (kind) {
        case Kind::F16:
        case Kind::Bf16: return 2;
        case Kind::Tf32:
        case Kind::F32:
        case Kind::S32: return 4;
        default: return 1;
    }
}

template <class T>
static void put(unsigned char* to, T value) {
    memcpy(to, &value, sizeof(T));
}

static void write(Kind kind, unsigned char* to, int value) {
    switch (kind) {
        case Kind::F16: return put(to, __float2half(float(value)));
        case Kind::Bf16: return put(to, __float2bfloat16(float(value)));
        case Kind::Tf32:
        case Kind::F32: return put(to, float(value));
        case Kind::E4m3: return put(to, __nv_fp8_e4m3(float(value)));
        case Kind::E5m2: return put(to, __nv_fp8_e5m2(float(value)));
        case Kind::S32: return put(to, value);
        default: *to = static_cast<unsigned char>(value);
    }
}

static double value(Kind kind, const unsigned char* from) {
    float f;
    int i;
    half h;
    switch (kind) {
        case Kind::F16: return memcpy(&h, from, 2), __half2float(h);
        case Kind::S32: return memcpy(&i, from, 4), i;
        default: return memcpy(&f, from, 4), f;
    }
}

// How a factor lies in shared memory: the swizzle (0 to 3 for none, 32, 64 and 128 bytes), whether columns
// lie beside each other, and the two distances of its descriptor.
struct Layout {
    unsigned mode;
    bool columns;
    unsigned leading, stride;

    __host__ __device__ uint64_t descriptor() const {
        const uint64_t code[] = {0, 3, 2, 1};
        return uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | code[mode] << 62;
    }

    // The place of an element: `k` counts along the sums.
    unsigned place(unsigned size, unsigned row, unsigned k) const {
        const unsigned span = 16u << mode, width = 1u << mode;
        if (columns) {
            const unsigned piece = row / 8, within = row % 8 * 2;
            if (mode == 0) return piece * stride + k % 8 * 16 + k / 8 * leading + within;
            return swizzled(piece % width * 16 + piece / width * leading + k % 8 * span + k / 8 * stride, mode) + within;
        }
        const unsigned piece = k * size / 16, within = k * size % 16;
        if (mode == 0) return piece * leading + row % 8 * 16 + row / 8 * stride + within;
        return swizzled(piece * 16 + row % 8 * span + row / 8 * stride, mode) + within;
    }
};

constexpr unsigned SECOND = 8192, IMAGE = SECOND + 32768;

template <class Form>
__global__ void product(const unsigned char* image, uint64_t a, uint64_t b, unsigned adds, const uint32_t* registers,
                        typename Form::T* out) {
    extern __shared__ __align__(1024) unsigned char tile[];
    for (unsigned i = threadIdx.x; i < IMAGE / 4; i += blockDim.x)
        reinterpret_cast<uint32_t*>(tile)[i] = reinterpret_cast<const uint32_t*>(image)[i];
    fence_async();
    __syncthreads();
    typename Form::T d[Form::count];
    uint32_t r[4];
    for (int i = 0; i < Form::count; i++) d[i] = out[threadIdx.x * Form::count + i];
    for (int i = 0; i < 4; i++) r[i] = registers[threadIdx.x * 4 + i];
    a |= (shared(tile) & 0x3FFFF) >> 4;
    b |= (shared(tile + SECOND) & 0x3FFFF) >> 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    Form::run(d, r, a, b, adds);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < Form::count; i++) out[threadIdx.x * Form::count + i] = d[i];
}

// `negates` is the sign that the form gives to the product.
template <class Form>
static bool multiplies(Layout left, Layout right, bool adds = true, int sign = 1) {
    const unsigned size = size_of(Form::a), depth = 32 / size, n = Form::n, each = size_of(Form::sum);
    std::vector<int> a(64 * depth), b(n * depth), c(64 * n);
    const auto small = [](Kind kind, int value) { return kind == Kind::U8 ? value % 9 : value % 9 - 4; };
    for (unsigned i = 0; i < a.size(); i++) a[i] = small(Form::a, i * 7 + i / depth * 3);
    for (unsigned i = 0; i < b.size(); i++) b[i] = small(Form::b, i * 5 + i / depth);
    for (unsigned i = 0; i < c.size(); i++) c[i] = i % 51 - 25;
    Bytes image(IMAGE), registers(128 * 16), sums(64 * n * each);
    for (unsigned row = 0; row < 64; row++)
        for (unsigned k = 0; k < depth; k++) write(Form::a, &image[left.place(size, row, k)], a[row * depth + k]);
    for (unsigned row = 0; row < n; row++)
        for (unsigned k = 0; k < depth; k++)
            write(Form::b, &image[SECOND + right.place(size, row, k)], b[row * depth + k]);
    // A thread's registers: each has four bytes of a row; rows are eight apart, then come the next 16 bytes.
    for (unsigned thread = 0; thread < 128; thread++)
        for (unsigned r = 0; r < 4; r++)
            for (unsigned part = 0; part < 4 / size; part++) {
                const unsigned row = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8;
                const unsigned k = (thread % 4 * 4 + r / 2 * 16) / size + part;
                write(Form::a, &registers[thread * 16 + r * 4 + part * size], a[row * depth + k]);
            }
    const auto position = [&](unsigned thread, unsigned i) {
        return (thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + thread % 4 * 2 + i % 2;
    };
    for (unsigned thread = 0; thread < 128; thread++)
        for (unsigned i = 0; i < n / 2; i++) write(Form::sum, &sums[(thread * n / 2 + i) * each], c[position(thread, i)]);
    unsigned char *from = upload(image), *with = upload(registers), *out = upload(sums);
    product<Form><<<1, 128, IMAGE>>>(from, left.descriptor(), right.descriptor(), adds, (uint32_t*)with,
                                     (typename Form::T*)out);
    if (!download(sums, out)) return false;
    CHECK(cudaFree(from));
    CHECK(cudaFree(with));
    int wrong = 0;
    for (unsigned thread = 0; thread < 128; thread++)
        for (unsigned i = 0; i < n / 2; i++) {
            const unsigned at = position(thread, i), row = at / n, column = at % n;
            int expected = adds ? c[at] : 0;
            for (unsigned k = 0; k < depth; k++) expected += sign * a[row * depth + k] * b[column * depth + k];
            const double got = value(Form::sum, &sums[(thread * n / 2 + i) * each]);
            if (got != expected && wrong++ < 4) printf("  row %u, column %u: %f, not %d\n", row, column, got, expected);
        }
    if (wrong) printf("  %s: %d of %u are wrong\n", Form::name, wrong, 64 * n);
    return wrong == 0;
}

#define FOUR(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define SIXTEEN(c, i) FOUR(c, i), FOUR(c, i + 4), FOUR(c, i + 8), FOUR(c, i + 12)
#define SIXTY_FOUR(c, i) SIXTEEN(c, i), SIXTEEN(c, i + 16), SIXTEEN(c, i + 32), SIXTEEN(c, i + 48)
#define LIST_4 \
    "%0, %1, %2, %3"
#define LIST_8 \
    "%0, %1, %2, %3, %4, %5, %6, %7"
#define LIST_16 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define LIST_128 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// A form of the instruction: its text, the types, the number of registers, their names and their places, and
// the flags behind the predicate.
#define PRODUCT(Name, Type, Count, N, A, B, Sum, text, list, places, o1, o2, o3, flags)                              \
    struct Name {                                                                                                 \
        using T = Type;                                                                                           \
        static constexpr int count = Count;                                                                       \
        static constexpr unsigned n = N;                                                                          \
        static constexpr Kind a = Kind::A, b = Kind::B, sum = Kind::Sum;                                          \
        static constexpr const char* name = text flags;                                                           \
        static __device__ void run(T* d, const uint32_t*, uint64_t left, uint64_t right, unsigned adds) {           \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " o3 ", 0;\nwgmma.mma_async.sync.aligned." text " {"      \
                         list "}, " o1 ", " o2 ", p" flags ";\n}"                                                  \
                         : places                                                                                 \
                         : "l"(left), "l"(right), "r"(adds)                                                       \
                         : "memory");                                                                             \
        }                                                                                                         \
    };
#define REGISTERS(Name, A, B, text, flags)                                                                           \
    struct Name {                                                                                                 \
        using T = float;                                                                                          \
        static constexpr int count = 16;                                                                          \
        static constexpr unsigned n = 32;                                                                         \
        static constexpr Kind a = Kind::A, b = Kind::B, sum = Kind::F32;                                          \
        static constexpr const char* name = text flags " of registers";                                           \
        static __device__ void run(T* d, const uint32_t* r, uint64_t, uint64_t right, unsigned adds) {              \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\nwgmma.mma_async.sync.aligned." text " {" LIST_16 \
                         "}, {%16, %17, %18, %19}, %20, p" flags ";\n}"                                            \
                         : SIXTEEN("+f", 0)                                                                       \
                         : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(right), "r"(adds)                      \
                         : "memory");                                                                             \
        }                                                                                                         \
    };
#define FLOATS(Name, A, B, text, flags) \
    PRODUCT(Name, float, 16, 32, A, B, F32, text, LIST_16, SIXTEEN("+f", 0), "%16", "%17", "%18", flags)
#define EIGHT FOUR("+r", 0), FOUR("+r", 4)
#define WIDE SIXTY_FOUR("+f", 0), SIXTY_FOUR("+f", 64)
#define INTEGERS(Name, A, B, text) \
    PRODUCT(Name, int, 16, 32, A, B, S32, text, LIST_16, SIXTEEN("+r", 0), "%16", "%17", "%18", "")

FLOATS(Plain, F16, F16, "m64n32k16.f32.f16.f16", ", 1, 1, 0, 0")
FLOATS(LeftColumns, F16, F16, "m64n32k16.f32.f16.f16", ", 1, 1, 1, 0")
FLOATS(RightColumns, F16, F16, "m64n32k16.f32.f16.f16", ", 1, 1, 0, 1")
FLOATS(BothColumns, Bf16, Bf16, "m64n32k16.f32.bf16.bf16", ", 1, 1, 1, 1")
FLOATS(LeftMinus, F16, F16, "m64n32k16.f32.f16.f16", ", -1, 1, 0, 0")
FLOATS(RightMinus, F16, F16, "m64n32k16.f32.f16.f16", ", 1, -1, 0, 0")
FLOATS(BothMinus, F16, F16, "m64n32k16.f32.f16.f16", ", -1, -1, 0, 0")
FLOATS(Bfloats, Bf16, Bf16, "m64n32k16.f32.bf16.bf16", ", 1, 1, 0, 0")
FLOATS(Tfloats, Tf32, Tf32, "m64n32k8.f32.tf32.tf32", ", 1, 1")
FLOATS(E4m3s, E4m3, E4m3, "m64n32k32.f32.e4m3.e4m3", ", 1, 1")
FLOATS(E4m3e5m2, E4m3, E5m2, "m64n32k32.f32.e4m3.e5m2", ", 1, 1")
FLOATS(E5m2s, E5m2, E5m2, "m64n32k32.f32.e5m2.e5m2", ", 1, 1")
PRODUCT(Halves, uint32_t, 8, 32, F16, F16, F16, "m64n32k16.f16.f16.f16", LIST_8, EIGHT, "%8", "%9", "%10",
        ", 1, 1, 0, 0")
PRODUCT(E5m2e4m3, uint32_t, 8, 32, E5m2, E4m3, F16, "m64n32k32.f16.e5m2.e4m3", LIST_8, EIGHT, "%8", "%9", "%10",
        ", 1, 1")
INTEGERS(Signed, S8, S8, "m64n32k32.s32.s8.s8")
INTEGERS(Unsigned, U8, U8, "m64n32k32.s32.u8.u8")
INTEGERS(Mixed, S8, U8, "m64n32k32.s32.s8.u8.satfinite")
PRODUCT(Narrow, float, 4, 8, F16, F16, F32, "m64n8k16.f32.f16.f16", LIST_4, FOUR("+f", 0), "%4", "%5", "%6",
        ", 1, 1, 0, 0")
PRODUCT(Wide, float, 128, 256, F16, F16, F32, "m64n256k16.f32.f16.f16", LIST_128, WIDE, "%128", "%129", "%130",
        ", 1, 1, 0, 0")
REGISTERS(HalfRegisters, F16, F16, "m64n32k16.f32.f16.f16", ", 1, 1, 0")
REGISTERS(ColumnRegisters, Bf16, Bf16, "m64n32k16.f32.bf16.bf16", ", 1, 1, 1")
REGISTERS(TfloatRegisters, Tf32, Tf32, "m64n32k8.f32.tf32.tf32", ", 1, 1")
REGISTERS(EightRegisters, E4m3, E5m2, "m64n32k32.f32.e4m3.e5m2", ", 1, 1")

// Rows beside each other, without a swizzle: pieces of eight rows, 128 bytes each.
static const Layout ROWS = {0, false, 128, 256};
static const Layout SWIZZLED[] = {{0, false, 2048, 128}, {1, false, 16, 256}, {2, false, 16, 512}, {3, false, 16, 1024}};
static const Layout COLUMNS[] = {{0, true, 1024, 128}, {1, true, 512, 256}, {2, true, 1024, 512}, {3, true, 2048, 1024}};

static bool products() { return multiplies<Plain>(ROWS, ROWS) && multiplies<Halves>(ROWS, ROWS); }

static bool layouts() {
    bool right = true;
    for (const Layout& a : SWIZZLED)
        for (const Layout& b : SWIZZLED) right = multiplies<Plain>(a, b) && right;
    return right;
}

static bool columns() {
    bool right = true;
    for (const Layout& layout : COLUMNS) {
        right = multiplies<LeftColumns>(layout, ROWS) && right;
        right = multiplies<RightColumns>(SWIZZLED[3], layout) && right;
        right = multiplies<BothColumns>(layout, layout) && right;
    }
    return right;
}

static bool registers() {
    return multiplies<HalfRegisters>(ROWS, SWIZZLED[3]) && multiplies<ColumnRegisters>(ROWS, COLUMNS[3]) &&
           multiplies<TfloatRegisters>(ROWS, SWIZZLED[2]) && multiplies<EightRegisters>(ROWS, ROWS);
}

static bool scales() {
    return multiplies<Plain>(ROWS, ROWS, false) && multiplies<LeftMinus>(ROWS, ROWS, true, -1) &&
           multiplies<RightMinus>(ROWS, ROWS, false, -1) && multiplies<BothMinus>(ROWS, ROWS);
}

static bool widths() { return multiplies<Narrow>(SWIZZLED[3], SWIZZLED[3]) && multiplies<Wide>(ROWS, SWIZZLED[3]); }

static bool kinds() {
    const Layout& l = SWIZZLED[3];
    bool right = multiplies<Bfloats>(l, l) && multiplies<Tfloats>(l, l);
    right = multiplies<E4m3s>(l, l) && multiplies<E4m3e5m2>(l, ROWS) && multiplies<E5m2s>(l, l) && right;
    right = multiplies<E5m2e4m3>(l, l) && right;
    return multiplies<Signed>(l, l) && multiplies<Unsigned>(l, l) && multiplies<Mixed>(ROWS, l) && right;
}

// A product of larger matrices: one warpgroup fetches tiles by tensor maps, another one multiplies them.
constexpr int STAGES = 3, DEPTH = 64, N = 32;
struct Stage {
    half a[64 * DEPTH], b[N * DEPTH];
};

__global__ void __launch_bounds__(256, 1)
    pipeline_kernel(const __grid_constant__ CUtensorMap left, const __grid_constant__ CUtensorMap right, int turns,
                    float* out) {
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    Stage* stages = reinterpret_cast<Stage*>(tile);
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) begin(&full[s], 1), begin(&empty[s], 1);
    __syncthreads();
    if (threadIdx.x >= 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x != 128) return;
        for (int turn = 0; turn < turns; turn++) {
            const int s = turn % STAGES;
            if (turn >= STAGES) wait(&empty[s], turn / STAGES % 2 ^ 1);
            expect(&full[s], sizeof(Stage));
            load(stages[s].a, &left, 2, {{turn * DEPTH, int(blockIdx.x) * 64}}, &full[s]);
            load(stages[s].b, &right, 2, {{turn * DEPTH, 0}}, &full[s]);
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[16] = {};
    for (int turn = 0; turn < turns; turn++) {
        const int s = turn % STAGES;
        wait(&full[s], turn / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < DEPTH; k += 16) {
            const uint64_t form = Layout{3, false, 16, 1024}.descriptor();
            Plain::run(d, nullptr, form | (shared(stages[s].a + k) & 0x3FFFF) >> 4,
                       form | (shared(stages[s].b + k) & 0x3FFFF) >> 4, 1);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // The product before this one is over, and its stage is free.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (threadIdx.x == 0 && turn > 0) arrive(&empty[(turn - 1) % STAGES]);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < 16; i++)
        out[(blockIdx.x * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

static bool pipeline() {
    const unsigned m = 256, k = 640;
    Bytes a(m * k * 2), b(N * k * 2), c(m * N * 4);
    const auto left = [](unsigned i) { return int(i * 7 + i / k * 3) % 9 - 4; };
    const auto right = [](unsigned i) { return int(i * 5 + i / k) % 7 - 3; };
    for (unsigned i = 0; i < m * k; i++) write(Kind::F16, &a[i * 2], left(i));
    for (unsigned i = 0; i < N * k; i++) write(Kind::F16, &b[i * 2], right(i));
    unsigned char *from = upload(a), *with = upload(b), *out = upload(c);
    const auto f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    CUtensorMap first, second;
    if (encode(&first, tensor(f16, 2, {k, m}, {DEPTH, 64}, CU_TENSOR_MAP_SWIZZLE_128B), from) != CUDA_SUCCESS ||
        encode(&second, tensor(f16, 2, {k, N}, {DEPTH, N}, CU_TENSOR_MAP_SWIZZLE_128B), with) != CUDA_SUCCESS)
        return printf("  no map\n"), false;
    pipeline_kernel<<<m / 64, 256, STAGES * sizeof(Stage)>>>(first, second, k / DEPTH, (float*)out);
    if (!download(c, out)) return false;
    CHECK(cudaFree(from));
    CHECK(cudaFree(with));
    int wrong = 0;
    for (unsigned i = 0; i < m * N; i++) {
        int expected = 0;
        for (unsigned n = 0; n < k; n++) expected += left(i / N * k + n) * right(i % N * k + n);
        const double got = value(Kind::F32, &c[i * 4]);
        if (got != expected && wrong++ < 4) printf("  row %u, column %u: %f, not %d\n", i / N, i % N, got, expected);
    }
    return wrong == 0;
}
