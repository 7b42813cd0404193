// Images as kernels read them, against the formulas of the CUDA C++ Programming Guide (texture fetching):
// each case returns 0 if every read is as computed here. texture [CASE]; without a case, all of them.
// ci/bundle packs it for a GPU, among tests with the arguments and the last line of Rust's.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#define CHECK(call) do { cudaError_t code_ = (call); if (code_ != cudaSuccess) { \
    fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorName(code_)); return 1; } } while (0)

struct Read { float x, y, z; int layer; float level; float4 dx, dy; };
enum Way { LINE_LEVEL, PLANE, PLANE_LEVEL, PLANE_GRADIENT, PLANES_LEVEL, SOLID_LEVEL, CUBE, CUBE_LEVEL, CUBES, GATHER };

__global__ void read_all(cudaTextureObject_t image, int way, const Read* given, float4* out, int channel) {
    Read it = given[threadIdx.x];
    float4 found = {};
    switch (way) {
    case LINE_LEVEL: found = tex1DLod<float4>(image, it.x, it.level); break;
    case PLANE: found = tex2D<float4>(image, it.x, it.y); break;
    case PLANE_LEVEL: found = tex2DLod<float4>(image, it.x, it.y, it.level); break;
    case PLANE_GRADIENT:
        found = tex2DGrad<float4>(image, it.x, it.y, make_float2(it.dx.x, it.dx.y), make_float2(it.dy.x, it.dy.y));
        break;
    case PLANES_LEVEL: found = tex2DLayeredLod<float4>(image, it.x, it.y, it.layer, it.level); break;
    case SOLID_LEVEL: found = tex3DLod<float4>(image, it.x, it.y, it.z, it.level); break;
    case CUBE: found = texCubemap<float4>(image, it.x, it.y, it.z); break;
    case CUBE_LEVEL: found = texCubemapLod<float4>(image, it.x, it.y, it.z, it.level); break;
    case CUBES: found = texCubemapLayered<float4>(image, it.x, it.y, it.z, it.layer); break;
    case GATHER:
        found = channel == 0 ? tex2Dgather<float4>(image, it.x, it.y, 0) : tex2Dgather<float4>(image, it.x, it.y, 1);
        break;
    }
    out[threadIdx.x] = found;
}

// Reads, and compares with what is expected: a filter may round its mean.
static int compare(int line, cudaTextureObject_t image, Way way, const std::vector<Read>& reads,
                   const std::function<float4(const Read&)>& expected, int channel = 0, float tolerance = 1e-4f) {
    Read* given;
    float4* out;
    CHECK(cudaMallocManaged(&given, reads.size() * sizeof(Read)));
    CHECK(cudaMallocManaged(&out, reads.size() * sizeof(float4)));
    memcpy(given, reads.data(), reads.size() * sizeof(Read));
    read_all<<<1, reads.size()>>>(image, way, given, out, channel);
    CHECK(cudaDeviceSynchronize());
    int wrong = 0;
    for (size_t n = 0; n < reads.size(); n++) {
        float4 want = expected(reads[n]);
        const float *a = &out[n].x, *b = &want.x;
        for (int c = 0; c < 4; c++) {
            if (fabsf(a[c] - b[c]) <= tolerance * fmaxf(1, fabsf(b[c]))) continue;
            fprintf(stderr, "line %d: read %zu at %g %g %g, layer %d, level %g, channel %d: %.9g and not %.9g\n", line, n,
                    reads[n].x, reads[n].y, reads[n].z, reads[n].layer, reads[n].level, c, a[c], b[c]);
            wrong = 1;
        }
    }
    CHECK(cudaFree(given));
    CHECK(cudaFree(out));
    return wrong;
}
#define COMPARE(...) do { if (compare(__LINE__, __VA_ARGS__)) return 1; } while (0)

// The element at a level, column, row and layer.
static float element(int level, int x, int y, int z) { return 1000.f * level + 100.f * z + 10.f * y + x; }
static float4 one(float value) { return make_float4(value, 0, 0, 0); }

static int half(int size, int level) { return size == 0 ? 0 : std::max(size >> level, 1); }

static int store(cudaArray_t array, int level, cudaExtent extent) {
    std::vector<float> elements;
    size_t height = std::max<size_t>(extent.height, 1), depth = std::max<size_t>(extent.depth, 1);
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < extent.width; x++) elements.push_back(element(level, (int)x, (int)y, (int)z));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(elements.data(), extent.width * 4, extent.width, height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return 0;
}

static int levels(cudaMipmappedArray_t* made, int width, int height, int depth, int count, unsigned flags) {
    auto format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(made, &format, make_cudaExtent(width, height, depth), count, flags));
    bool layered = flags & (cudaArrayLayered | cudaArrayCubemap);
    for (int level = 0; level < count; level++) {
        cudaArray_t array;
        CHECK(cudaGetMipmappedArrayLevel(&array, *made, level));
        if (store(array, level, make_cudaExtent(half(width, level), half(height, level), layered ? depth : half(depth, level))))
            return 1;
    }
    return 0;
}

static cudaTextureDesc description() {
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    how.normalizedCoords = 1;
    how.maxMipmapLevelClamp = 99;
    return how;
}

static int texture(cudaTextureObject_t* made, cudaMipmappedArray_t array, const cudaTextureDesc& how,
                   const cudaResourceViewDesc* view = nullptr) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = array;
    CHECK(cudaCreateTextureObject(made, &resource, &how, view));
    return 0;
}

static int texture(cudaTextureObject_t* made, cudaArray_t array, const cudaTextureDesc& how) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateTextureObject(made, &resource, &how, nullptr));
    return 0;
}

// The element that a coordinate selects, clamped to the edge.
static int nearest(float x, int size) { return std::min(std::max((int)floorf(x * size), 0), size - 1); }

// The two elements between which a filter reads, and the part of the second in 256ths.
static int part(float x, int size, int (&at)[2]) {
    int steps = (int)floorf((x * size - 0.5f) * 256 + 0.5f), low = steps >> 8;
    for (int n = 0; n < 2; n++) at[n] = std::min(std::max(low + n, 0), size - 1);
    return steps & 255;
}

// A mean of one level, for so many 256ths of the result. Each part is rounded to 256ths: of the columns, then
// of the rows in each. One row is rounded up and one down. An element at the edge has no second one.
static float filtered(int level, float x, float y, int width, int height, int layer, int share = 256) {
    int column[2], row[2];
    int right = part(x, width, column), below = part(y, height, row);
    if (column[0] == column[1]) right = 0;
    if (row[0] == row[1]) below = 0;
    right = (share * right + 128) >> 8;
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        int all = i ? right : share - right, low = (all * below + 127 + i) >> 8;
        sum += (all - low) * element(level, column[i], row[0], layer) + low * element(level, column[i], row[1], layer);
    }
    return sum / 256;
}

static std::vector<Read> grid(std::vector<float> levels, int layers = 1) {
    std::vector<Read> reads;
    for (float level : levels)
        for (int n = 0; n < 12; n++) {
            Read read = {};
            read.x = -0.2f + 0.123f * n, read.y = 1.1f - 0.097f * n, read.z = 0.05f + 0.08f * n;
            read.layer = n % layers, read.level = level;
            reads.push_back(read);
        }
    return reads;
}

static int mipmaps() {
    cudaMipmappedArray_t plane, line, solid, planes;
    cudaTextureObject_t image;
    const std::vector<float> steps = {-1, 0, 0.25f, 0.75f, 1, 2.375f, 3, 50};
    auto near = description(), mixed = description();
    mixed.filterMode = mixed.mipmapFilterMode = cudaFilterModeLinear;
    auto nearest_level = [](float level) { return std::min(std::max((int)floorf(level + 0.5f), 0), 3); };
    // Levels are cut to 256ths.
    auto mix = [](float level, auto at) {
        int steps = (int)(std::min(std::max(level, 0.f), 3.f) * 256), part = steps & 255;
        return at(steps >> 8, 256 - part) + (part ? at((steps >> 8) + 1, part) : 0);
    };
    if (levels(&plane, 16, 8, 0, 4, 0) || texture(&image, plane, near)) return 1;
    COMPARE(image, PLANE_LEVEL, grid(steps), [&](const Read& it) {
        int level = nearest_level(it.level);
        return one(element(level, nearest(it.x, half(16, level)), nearest(it.y, half(8, level)), 0));
    });
    if (texture(&image, plane, mixed)) return 1;
    COMPARE(image, PLANE_LEVEL, grid(steps), [&](const Read& it) {
        return one(mix(it.level, [&](int level, int share) { return filtered(level, it.x, it.y, half(16, level), half(8, level), 0, share); }));
    });
    auto limited = mixed;
    limited.mipmapLevelBias = 0.5f, limited.minMipmapLevelClamp = 0.25f, limited.maxMipmapLevelClamp = 2.5f;
    if (texture(&image, plane, limited)) return 1;
    COMPARE(image, PLANE_LEVEL, grid(steps), [&](const Read& it) {
        float wanted = std::min(std::max(it.level + 0.5f, 0.25f), 2.5f);
        return one(mix(wanted, [&](int level, int share) { return filtered(level, it.x, it.y, half(16, level), half(8, level), 0, share); }));
    });
    cudaResourceViewDesc view = {};
    view.format = cudaResViewFormatFloat1, view.width = 16, view.height = 8;
    view.firstMipmapLevel = 1, view.lastMipmapLevel = 2;
    if (texture(&image, plane, near, &view)) return 1;
    COMPARE(image, PLANE_LEVEL, grid(steps), [&](const Read& it) {
        int level = std::min(nearest_level(it.level), 1) + 1;
        return one(element(level, nearest(it.x, half(16, level)), nearest(it.y, half(8, level)), 0));
    });
    if (levels(&line, 16, 0, 0, 4, 0) || texture(&image, line, near)) return 1;
    COMPARE(image, LINE_LEVEL, grid(steps), [&](const Read& it) {
        int level = nearest_level(it.level);
        return one(element(level, nearest(it.x, half(16, level)), 0, 0));
    });
    if (levels(&solid, 16, 8, 4, 4, 0) || texture(&image, solid, near)) return 1;
    COMPARE(image, SOLID_LEVEL, grid(steps), [&](const Read& it) {
        int l = nearest_level(it.level);
        return one(element(l, nearest(it.x, half(16, l)), nearest(it.y, half(8, l)), nearest(it.z, half(4, l))));
    });
    if (levels(&planes, 16, 8, 3, 4, cudaArrayLayered) || texture(&image, planes, mixed)) return 1;
    COMPARE(image, PLANES_LEVEL, grid(steps, 3), [&](const Read& it) {
        auto at = [&](int level, int share) { return filtered(level, it.x, it.y, half(16, level), half(8, level), it.layer, share); };
        return one(mix(it.level, at));
    });
    return 0;
}

// Derivatives of so many elements select the level that is their logarithm.
static int gradients() {
    cudaMipmappedArray_t plane;
    cudaTextureObject_t image;
    auto how = description();
    how.mipmapFilterMode = cudaFilterModeLinear;
    if (levels(&plane, 32, 32, 0, 5, 0) || texture(&image, plane, how)) return 1;
    std::vector<Read> reads;
    for (float elements : {0.f, 0.5f, 1.f, 2.f, 4.f, 8.f, 100.f})
        for (int n = 0; n < 4; n++) {
            Read read = {};
            read.x = read.y = 0.01f;
            read.level = std::min(std::max(log2f(elements), 0.f), 4.f);
            float4& slope = n % 2 ? read.dx : read.dy;
            (n < 2 ? slope.x : slope.y) = elements / 32;
            reads.push_back(read);
        }
    COMPARE(image, PLANE_GRADIENT, reads, [](const Read& it) { return one(1000 * it.level); });
    return 0;
}

// The table of the guide: the axis that is longest selects the face, and the other two where on it.
static float4 on_cube(const Read& it, int level, int size, int cube) {
    float x = it.x, y = it.y, z = it.z, m, s, t;
    int face;
    if (fabsf(x) > fabsf(y) && fabsf(x) > fabsf(z)) face = x > 0 ? 0 : 1, m = x, s = x > 0 ? -z : z, t = -y;
    else if (fabsf(y) > fabsf(z)) face = y > 0 ? 2 : 3, m = y, s = x, t = y > 0 ? z : -z;
    else face = z > 0 ? 4 : 5, m = z, s = z > 0 ? x : -x, t = -y;
    m = fabsf(m);
    return one(element(level, nearest((s / m + 1) / 2, size), nearest((t / m + 1) / 2, size), 6 * cube + face));
}

static int cubes() {
    cudaMipmappedArray_t cube, layers;
    cudaTextureObject_t image;
    std::vector<Read> reads;
    for (int n = 0; n < 96; n++) {
        Read read = {};
        read.x = sinf(1.f + n), read.y = cosf(2.3f * n), read.z = sinf(0.7f * n - 0.4f);
        read.layer = n % 2, read.level = n % 3;
        reads.push_back(read);
    }
    if (levels(&cube, 8, 8, 6, 3, cudaArrayCubemap) || texture(&image, cube, description())) return 1;
    COMPARE(image, CUBE, reads, [](const Read& it) { return on_cube(it, 0, 8, 0); });
    COMPARE(image, CUBE_LEVEL, reads, [](const Read& it) { return on_cube(it, (int)it.level, 8 >> (int)it.level, 0); });
    if (levels(&layers, 8, 8, 12, 1, cudaArrayCubemap | cudaArrayLayered) || texture(&image, layers, description())) return 1;
    COMPARE(image, CUBES, reads, [](const Read& it) { return on_cube(it, 0, 8, it.layer); });
    return 0;
}

static int colours() {
    std::vector<uchar4> bytes;
    for (int n = 0; n < 64; n++) bytes.push_back(make_uchar4(4 * n, 255 - 4 * n, n, 4 * n));
    auto format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 64, 1));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, bytes.data(), 256, 256, 1, cudaMemcpyHostToDevice));
    auto how = description();
    how.readMode = cudaReadModeNormalizedFloat, how.sRGB = 1, how.normalizedCoords = 0;
    cudaTextureObject_t image;
    if (texture(&image, array, how)) return 1;
    std::vector<Read> reads(64);
    for (int n = 0; n < 64; n++) reads[n].x = n + 0.5f;
    auto linear = [](float c) { return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f); };
    COMPARE(image, PLANE, reads, [&](const Read& it) {
        uchar4 c = bytes[(int)it.x];
        return make_float4(linear(c.x / 255.f), linear(c.y / 255.f), linear(c.z / 255.f), c.w / 255.f);
    }, 0, 1 / 256.f);  // eight bits
    return 0;
}

static int gathers() {
    auto format = cudaCreateChannelDesc<float2>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 8, 8, cudaArrayTextureGather));
    auto at = [](int x, int y, int channel) { return 100.f * channel + element(0, x, y, 0); };
    std::vector<float> elements;
    for (int n = 0; n < 128; n++) elements.push_back(at(n / 2 % 8, n / 16, n % 2));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, elements.data(), 64, 64, 8, cudaMemcpyHostToDevice));
    auto how = description();
    how.normalizedCoords = 0;
    cudaTextureObject_t image;
    if (texture(&image, array, how)) return 1;
    std::vector<Read> reads(32);
    for (int n = 0; n < 32; n++) reads[n].x = 0.3f * n - 0.4f, reads[n].y = 8.2f - 0.31f * n;
    for (int channel : {0, 1})
        COMPARE(image, GATHER, reads, [&](const Read& it) {
            int x[2], y[2];
            part(it.x / 8, 8, x), part(it.y / 8, 8, y);
            return make_float4(at(x[0], y[1], channel), at(x[1], y[1], channel), at(x[1], y[0], channel), at(x[0], y[0], channel));
        }, channel);
    return 0;
}

__global__ void paint(cudaSurfaceObject_t image, int width, int height, float add) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            surf2Dwrite(surf2Dread<float>(image, x * 4, y) + add, image, x * 4, y);
}

__global__ void paint_cube(cudaSurfaceObject_t image, int size) {
    for (int face = 0; face < 6; face++)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++) surfCubemapwrite(100.f * face + 10 * y + x + 7, image, x * 4, y, face);
}

static int surfaces() {
    cudaMipmappedArray_t plane;
    cudaTextureObject_t image;
    if (levels(&plane, 16, 8, 0, 4, cudaArraySurfaceLoadStore) || texture(&image, plane, description())) return 1;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    cudaSurfaceObject_t surface;
    for (int level = 0; level < 4; level++) {
        CHECK(cudaGetMipmappedArrayLevel(&resource.res.array.array, plane, level));
        CHECK(cudaCreateSurfaceObject(&surface, &resource));
        paint<<<1, 1>>>(surface, half(16, level), half(8, level), 0.25f * (level + 1));
    }
    COMPARE(image, PLANE_LEVEL, grid({0, 1, 2, 3}), [&](const Read& it) {
        int level = (int)it.level;
        int x = nearest(it.x, half(16, level)), y = nearest(it.y, half(8, level));
        return one(element(level, x, y, 0) + 0.25f * (level + 1));
    });
    auto format = cudaCreateChannelDesc<float>();
    auto extent = make_cudaExtent(4, 4, 6);
    CHECK(cudaMalloc3DArray(&resource.res.array.array, &format, extent, cudaArrayCubemap | cudaArraySurfaceLoadStore));
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    paint_cube<<<1, 1>>>(surface, 4);
    if (texture(&image, resource.res.array.array, description())) return 1;
    std::vector<Read> reads(6);
    for (int n = 0; n < 6; n++) (&reads[n].x)[n / 2] = n % 2 ? -1.f : 1.f;
    COMPARE(image, CUBE, reads, [](const Read& it) {
        float4 found = on_cube(it, 0, 4, 0);
        found.x += 7;
        return found;
    });
    return 0;
}

int main(int count, char** arguments) {
    struct { const char* name; int (*run)(); } cases[] = {
        {"mipmaps", mipmaps}, {"gradients", gradients}, {"cubes", cubes}, {"colours", colours},
        {"gathers", gathers}, {"surfaces", surfaces},
    };
    const char* only = nullptr;
    bool list = false;
    for (int n = 1; n < count; n++) {
        if (!strcmp(arguments[n], "--list")) list = true;
        if (arguments[n][0] != '-') only = arguments[n];
    }
    int passed = 0, failed = 0;
    for (auto& it : cases) {
        if (only && strcmp(it.name, only)) continue;
        if (list) {
            printf("%s: test\n", it.name);
            continue;
        }
        bool wrong = it.run() != 0;
        printf("test %s ... %s\n", it.name, wrong ? "FAILED" : "ok");
        (wrong ? failed : passed)++;
    }
    if (!list) printf("test result: %s. %d passed; %d failed; 0 ignored; 0 measured\n", failed ? "FAILED" : "ok", passed, failed);
    return failed || (!list && !passed);
}
