// CUDA arrays without textures: what can be made, copied and asked, and which codes misuse gives. array CASE
#include "check.h"

#include <cstdint>
#include <map>
#include <vector>

namespace {

constexpr size_t W = 12, H = 7, D = 5;

cudaChannelFormatDesc floats() { return cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat); }

cudaArray_t array(size_t width, size_t height, size_t depth = 0, unsigned flags = 0) {
    cudaArray_t made = nullptr;
    auto desc = floats();
    OK(cudaMalloc3DArray(&made, &desc, cudaExtent{width, height, depth}, flags));
    return made;
}

std::vector<float> numbers(size_t count) {
    std::vector<float> made(count);
    for (size_t i = 0; i < count; i++) made[i] = static_cast<float>(i) + 0.5f;
    return made;
}

// All of an array, by rows.
std::vector<float> all(cudaArray_t from, size_t width = W, size_t height = H) {
    std::vector<float> back(width * height, -1);
    OK(cudaMemcpy2DFromArray(back.data(), width * 4, from, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
    return back;
}

// Rows with a pitch of their own go to a corner, to another array and back, with nothing around them touched.
void planes() {
    auto host = numbers(W * H);
    cudaArray_t a = array(W, H), b = array(W, H);
    std::vector<float> zero(W * H, 0);
    for (auto it : {a, b}) OK(cudaMemcpy2DToArray(it, 0, 0, zero.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(a, 8, 1, host.data(), W * 4, 16, 3, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 12, 4, a, 8, 1, 16, 3, cudaMemcpyDeviceToDevice));
    auto in_a = all(a), in_b = all(b);
    for (size_t y = 0; y < H; y++)
        for (size_t x = 0; x < W; x++) {
            bool of_a = x >= 2 && x < 6 && y >= 1 && y < 4, of_b = x >= 3 && x < 7 && y >= 4 && y < 7;
            EXPECT(in_a[y * W + x] == (of_a ? host[(y - 1) * W + x - 2] : 0));
            EXPECT(in_b[y * W + x] == (of_b ? host[(y - 4) * W + x - 3] : 0));
        }
    // Bytes go on in the next row.
    OK(cudaMemcpyToArray(a, 4 * (W - 1), 2, host.data(), 12, cudaMemcpyHostToDevice));
    in_a = all(a);
    EXPECT(in_a[3 * W - 1] == host[0] && in_a[3 * W] == host[1] && in_a[3 * W + 1] == host[2]);
    std::vector<float> three(3);
    OK(cudaMemcpyArrayToArray(b, 0, 0, a, 4 * (W - 1), 2, 12, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(three.data(), b, 0, 0, 12, cudaMemcpyDeviceToHost));
    EXPECT(three == std::vector<float>(host.begin(), host.begin() + 3));
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

// Copies to and from arrays are operations of their stream like any other.
void streams() {
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t done;
    OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    auto *host = pinned(W * H * 4), *back = pinned(W * H * 4);
    auto *memory = device(W * H * 4);
    cudaArray_t a = array(W, H);
    Gate gate;
    gate.close(s);
    OK(cudaMemsetAsync(memory, 7, W * H * 4, s));
    OK(cudaMemcpy2DToArrayAsync(a, 0, 0, memory, W * 4, W * 4, H, cudaMemcpyDefault, s));
    OK(cudaEventRecord(done, s));
    OK(cudaStreamWaitEvent(t, done, 0));
    back[0] = 1;
    OK(cudaMemcpy2DFromArrayAsync(back, W * 4, a, 0, 0, W * 4, H, cudaMemcpyDefault, t));
    EXPECT(back[0] == 1);
    CODE(cudaErrorNotReady, cudaStreamQuery(t));
    gate.open();
    OK(cudaStreamSynchronize(t));
    EXPECT(back[0] == 7 && back[W * H * 4 - 1] == 7);
    // A source in pageable memory may go once the call has returned.
    std::vector<unsigned char> source(W * H * 4, 9);
    OK(cudaMemcpyToArrayAsync(a, 0, 0, source.data(), source.size(), cudaMemcpyHostToDevice, s));
    source.assign(source.size(), 1);
    OK(cudaMemcpyFromArrayAsync(host, a, 0, 0, source.size(), cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(host[0] == 9 && host[W * H * 4 - 1] == 9);
    OK(cudaFreeArray(a));
}

// A free waits for pending work of the device.
void freeing() {
    cudaStream_t s = stream();
    auto *back = pinned(W * H * 4);
    cudaArray_t a = array(W, H);
    auto host = numbers(W * H);
    OK(cudaMemcpy2DToArray(a, 0, 0, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy2DFromArrayAsync(back, W * 4, a, 0, 0, W * 4, H, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeArray(a));
    OK(cudaStreamQuery(s));
    EXPECT(std::memcmp(back, host.data(), W * H * 4) == 0);
    OK(cudaFreeArray(nullptr));
    OK(cudaFreeMipmappedArray(nullptr));
}

// Volumes count elements as soon as one side is an array; positions in linear memory stay bytes.
void volumes() {
    auto host = numbers(W * H * D);
    cudaArray_t a = array(W, H, D), b = array(W, H, D, cudaArrayLayered);
    cudaMemcpy3DParms p = {};
    p.srcPtr = cudaPitchedPtr{host.data(), W * 4, W, H};
    p.dstArray = a;
    p.extent = cudaExtent{W, H, D};
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    cudaMemcpy3DParms q = {};
    q.srcArray = a;
    q.dstArray = b;
    q.extent = cudaExtent{W, H, D};
    q.kind = cudaMemcpyHostToHost;  // an array is on the device whatever is said
    OK(cudaMemcpy3DAsync(&q, nullptr));
    std::vector<float> back(W * H * D, -1);
    cudaMemcpy3DParms r = {};
    r.srcArray = b;
    r.srcPos = cudaPos{2, 3, 1};
    r.dstPtr = cudaPitchedPtr{back.data(), W * 4, W, H};
    r.dstPos = cudaPos{4 * 4, 1, 2};
    r.extent = cudaExtent{5, 3, 2};
    r.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&r));
    for (size_t z = 0; z < D; z++)
        for (size_t y = 0; y < H; y++)
            for (size_t x = 0; x < W; x++) {
                bool in = x >= 4 && x < 9 && y >= 1 && y < 4 && z >= 2 && z < 4;
                float want = in ? host[((z - 1) * H + y + 2) * W + x - 2] : -1;
                EXPECT(back[(z * H + y) * W + x] == want);
            }
    r.extent = cudaExtent{5, 3, 5};
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&r));
    r.extent = cudaExtent{11, 3, 2};
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&r));
    r.extent = cudaExtent{5, 5, 2};
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&r));
    r.extent = cudaExtent{SIZE_MAX, 3, 2};
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&r));
    r.extent = cudaExtent{0, 3, 2};
    OK(cudaMemcpy3D(&r));
    q.dstPtr = p.srcPtr;
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&q));
    // Two arrays must have elements of one size.
    cudaArray_t pairs = nullptr;
    auto desc = cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindFloat);
    OK(cudaMallocArray(&pairs, &desc, W, H));
    cudaMemcpy3DParms s = {};
    s.srcArray = a;
    s.dstArray = pairs;
    s.extent = cudaExtent{2, 2, 1};
    s.kind = cudaMemcpyDefault;
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&s));
    // Layers in one dimension.
    cudaArray_t lines = array(W, 0, D, cudaArrayLayered);
    p.dstArray = lines;
    p.srcPtr = cudaPitchedPtr{host.data(), W * 4, W, 1};
    p.extent = cudaExtent{W, 1, D};
    OK(cudaMemcpy3D(&p));
    p.srcPtr.ysize = 2;
    p.extent = cudaExtent{W, 2, D};
    CODE(cudaErrorInvalidValue, cudaMemcpy3D(&p));
}

// Between two devices, and from a batch.
void devices_and_batches() {
    auto host = numbers(W * H);
    cudaArray_t a = array(W, H);
    OK(cudaMemcpy2DToArray(a, 0, 0, host.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    OK(cudaSetDevice(1));
    cudaArray_t b = array(W, H);
    cudaMemcpy3DPeerParms p = {};
    p.srcArray = a;
    p.dstArray = b;
    p.dstDevice = 1;
    p.extent = cudaExtent{W, H, 1};
    OK(cudaMemcpy3DPeer(&p));
    EXPECT(all(b) == host);
    p.dstDevice = 0;
    CODE(cudaErrorInvalidValue, cudaMemcpy3DPeer(&p));
    p.dstDevice = -1;
    CODE(cudaErrorInvalidDevice, cudaMemcpy3DPeer(&p));
    p.dstDevice = 1;
    p.extent.height++;
    CODE(cudaErrorInvalidValue, cudaMemcpy3DPeerAsync(&p, nullptr));
    OK(cudaSetDevice(0));
    cudaStream_t s = stream();
    auto *back = pinned(W * H * 4);
    std::memset(back, 0, W * H * 4);
    cudaMemcpy3DBatchOp op = {};
    op.src.type = cudaMemcpyOperandTypeArray;
    op.src.op.array.array = a;
    op.src.op.array.offset = cudaOffset3D{1, 2, 0};
    op.dst.type = cudaMemcpyOperandTypePointer;
    op.dst.op.ptr.ptr = back;
    op.dst.op.ptr.rowLength = 6;
    op.extent = cudaExtent{4, 3, 1};
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpy3DBatchAsync(1, &op, 0, s));
    OK(cudaStreamSynchronize(s));
    auto *got = reinterpret_cast<float *>(back);
    for (size_t y = 0; y < 3; y++)
        for (size_t x = 0; x < 6; x++) EXPECT(got[y * 6 + x] == (x < 4 ? host[(y + 2) * W + x + 1] : 0));
    // Copies before an invalid copy are made.
    std::memset(back, 0, W * H * 4);
    cudaMemcpy3DBatchOp ops[] = {op, op, op};
    ops[1].extent = cudaExtent{4, 6, 1};
    ops[2].dst.op.ptr.ptr = got + 3 * 6;
    CODE(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(3, ops, 0, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(got[0] == host[2 * W + 1]);
    for (size_t at = 3 * 6; at < W * H; at++) EXPECT(got[at] == 0);
    CODE(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &ops[1], 0, s));
}

// Each level is an array of its own.
void mipmaps() {
    auto desc = floats();
    cudaMipmappedArray_t m = nullptr;
    OK(cudaMallocMipmappedArray(&m, &desc, cudaExtent{16, 8, 0}, 99, 0));
    std::vector<cudaArray_t> levels(5);
    for (unsigned level = 0; level < 5; level++) {
        OK(cudaGetMipmappedArrayLevel(&levels[level], m, level));
        cudaExtent extent;
        OK(cudaArrayGetInfo(nullptr, &extent, nullptr, levels[level]));
        size_t width = 16 >> level, height = level < 3 ? 8 >> level : 1;
        EXPECT(extent.width == width && extent.height == height && extent.depth == 0);
        std::vector<float> fill(width * height, static_cast<float>(level));
        OK(cudaMemcpy2DToArray(levels[level], 0, 0, fill.data(), width * 4, width * 4, height, cudaMemcpyDefault));
        CODE(cudaErrorInvalidValue, cudaMemcpy2DToArray(levels[level], 0, 0, fill.data(), width * 4, width * 4,
                                                        height + 1, cudaMemcpyDefault));
    }
    for (unsigned level = 0; level < 5; level++) {
        size_t width = 16 >> level, height = level < 3 ? 8 >> level : 1;
        EXPECT(all(levels[level], width, height) == std::vector<float>(width * height, static_cast<float>(level)));
    }
    cudaArray_t none = nullptr;
    CODE(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&none, m, 5));
    CODE(cudaErrorInvalidResourceHandle, cudaGetMipmappedArrayLevel(&none, nullptr, 0));
    OK(cudaFreeArray(levels[0]));
    EXPECT(all(levels[0], 16, 8)[0] == 0);
    cudaArrayMemoryRequirements needed;
    CODE(cudaErrorInvalidValue, cudaMipmappedArrayGetMemoryRequirements(&needed, m, 0));
    OK(cudaFreeMipmappedArray(m));
}

// Queries, and those that only arrays without memory support.
void queries() {
    cudaArray_t made = nullptr;
    auto desc = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    OK(cudaMallocArray(&made, &desc, 10, 0, cudaArraySurfaceLoadStore));
    cudaChannelFormatDesc found;
    cudaExtent extent;
    unsigned flags = 99;
    OK(cudaArrayGetInfo(&found, &extent, &flags, made));
    EXPECT(found.x == 8 && found.y == 0 && found.f == cudaChannelFormatKindUnsigned);
    EXPECT(extent.width == 10 && extent.height == 0 && extent.depth == 0 && flags == cudaArraySurfaceLoadStore);
    OK(cudaGetChannelDesc(&found, made));
    EXPECT(found.x == 8);
    cudaArrayMemoryRequirements needed;
    cudaArraySparseProperties tiles;
    CODE(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(&needed, made, 0));
    CODE(cudaErrorInvalidValue, cudaArrayGetSparseProperties(&tiles, made));
    cudaArray_t later = array(1024, 1024, 0, cudaArrayDeferredMapping);
    OK(cudaArrayGetMemoryRequirements(&needed, later, 0));
    EXPECT(needed.size == 1024 * 1024 * 4 && needed.alignment == 65536);
    // Rows of 64 bytes, and 128 of them.
    cudaArray_t odd = array(100, 300, 0, cudaArrayDeferredMapping);
    OK(cudaArrayGetMemoryRequirements(&needed, odd, 0));
    EXPECT(needed.size == 3 * 65536 && 448 * 384 <= 3 * 65536);
    OK(cudaFreeArray(odd));
    float one = 1;
    CODE(cudaErrorInvalidValue, cudaMemcpy2DToArray(later, 0, 0, &one, 4, 4, 1, cudaMemcpyHostToDevice));
    cudaArray_t holes = array(1024, 1024, 0, cudaArraySparse);
    OK(cudaArrayGetSparseProperties(&tiles, holes));
    EXPECT(tiles.tileExtent.width * tiles.tileExtent.height * tiles.tileExtent.depth * 4 == 65536);
    auto four = floats();
    cudaMipmappedArray_t m = nullptr;
    OK(cudaMallocMipmappedArray(&m, &four, cudaExtent{1024, 1024, 0}, 11, cudaArraySparse));
    OK(cudaMipmappedArrayGetSparseProperties(&tiles, m));
    EXPECT(tiles.miptailFirstLevel == 4 && tiles.miptailSize > 0);
    cudaArray_t two = nullptr, luma = nullptr, chroma = nullptr;
    cudaChannelFormatDesc nv12{8, 8, 8, 0, cudaChannelFormatKindNV12};
    CODE(cudaErrorInvalidValue, cudaMallocArray(&two, &nv12, 16, 8));
    OK(cudaMallocArray(&two, &nv12, 16, 8, 0x100));  // for video
    OK(cudaArrayGetPlane(&luma, two, 0));
    OK(cudaArrayGetPlane(&chroma, two, 1));
    CODE(cudaErrorInvalidValue, cudaArrayGetPlane(&chroma, two, 2));
    CODE(cudaErrorInvalidValue, cudaArrayGetPlane(&chroma, made, 0));
    OK(cudaArrayGetInfo(&found, &extent, nullptr, chroma));
    EXPECT(found.x == 8 && found.y == 8 && extent.width == 8 && extent.height == 4);
    std::vector<unsigned char> bright(16 * 8, 3), colour(16 * 4, 4), back(16 * 8);
    OK(cudaMemcpy2DToArray(luma, 0, 0, bright.data(), 16, 16, 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(chroma, 0, 0, colour.data(), 16, 16, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back.data(), 16, luma, 0, 0, 16, 8, cudaMemcpyDeviceToHost));
    EXPECT(back == bright);
    for (auto it : {made, later, holes, two}) OK(cudaFreeArray(it));
    OK(cudaFreeMipmappedArray(m));
    CODE(cudaErrorInvalidResourceHandle, cudaArrayGetInfo(&found, nullptr, nullptr, nullptr));
}

void misuse() {
    cudaArray_t made = nullptr;
    auto desc = floats();
    CODE(cudaErrorInvalidValue, cudaMallocArray(nullptr, &desc, 4, 4));
    CODE(cudaErrorInvalidValue, cudaMallocArray(&made, nullptr, 4, 4));
    CODE(cudaErrorInvalidValue, cudaMallocArray(&made, &desc, 0, 32));
    CODE(cudaErrorInvalidValue, cudaMallocArray(&made, &desc, SIZE_MAX, SIZE_MAX));
    for (unsigned flags : {cudaArrayTextureGather, cudaArrayLayered, cudaArrayCubemap})
        CODE(cudaErrorInvalidValue, cudaMallocArray(&made, &desc, 32, 0, flags));
    CODE(cudaErrorInvalidValue, cudaMalloc3DArray(&made, &desc, cudaExtent{4, 4, 4}, cudaArrayTextureGather));
    CODE(cudaErrorInvalidValue, cudaMalloc3DArray(&made, &desc, cudaExtent{16385, 4, 4}));
    CODE(cudaErrorInvalidValue, cudaMalloc3DArray(&made, &desc, cudaExtent{4, 4, 4}, 1u << 30));
    for (int bits : {-1, 0, 10, 100}) {
        desc.x = bits;
        CODE(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&made, &desc, 4, 4));
    }
    desc = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
    CODE(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&made, &desc, 4, 4));
    desc = cudaCreateChannelDesc(8, 0, 0, 0, static_cast<cudaChannelFormatKind>(0xff));
    CODE(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&made, &desc, 4, 4));
    EXPECT(made == nullptr);
    size_t room = 0, total = 0;
    OK(cudaMemGetInfo(&room, &total));
    desc = cudaCreateChannelDesc(32, 32, 32, 32, cudaChannelFormatKindFloat);
    CODE(cudaErrorMemoryAllocation, cudaMallocArray(&made, &desc, 131072, 65536));

    cudaArray_t a = array(W, H);
    std::vector<float> host(W * H);
    auto *h = host.data();
    constexpr size_t P = W * 4;
    auto bad = static_cast<cudaMemcpyKind>(-100);
    CODE(cudaErrorInvalidResourceHandle, cudaMemcpy2DToArray(nullptr, 0, 0, h, P, P, H, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy2DToArray(a, 0, 0, nullptr, P, P, H, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidPitchValue, cudaMemcpy2DToArray(a, 0, 0, h, P - 4, P, H, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidPitchValue, cudaMemcpy2DToArray(a, 0, 0, h, 0, P, H, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy2DToArray(a, 4, 0, h, P, P, H, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy2DToArray(a, 0, 1, h, P, P, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(a, 2, 0, h, P, 4, 1, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidMemcpyDirection, cudaMemcpy2DToArray(a, 0, 0, h, P, P, H, bad));
    CODE(cudaErrorInvalidMemcpyDirection, cudaMemcpy2DToArray(a, 0, 0, h, P, P, H, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy2DToArray(a, 0, 0, h, P, 0, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(a, 0, 0, h, P, P, 0, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy2DFromArray(nullptr, P, a, 0, 0, P, H, cudaMemcpyDeviceToHost));
    CODE(cudaErrorInvalidResourceHandle, cudaMemcpy2DFromArray(h, P, nullptr, 0, 0, P, H, cudaMemcpyDeviceToHost));
    CODE(cudaErrorInvalidPitchValue, cudaMemcpy2DFromArray(h, P - 1, a, 0, 0, P, H, cudaMemcpyDeviceToHost));
    CODE(cudaErrorInvalidValue, cudaMemcpy2DFromArrayAsync(h, P, a, 0, 1, P, H, cudaMemcpyDeviceToHost, nullptr));
    CODE(cudaErrorInvalidMemcpyDirection, cudaMemcpy2DFromArrayAsync(h, P, a, 0, 0, P, H, bad, nullptr));
    CODE(cudaErrorInvalidResourceHandle,
         cudaMemcpy2DArrayToArray(a, 0, 0, nullptr, 0, 0, P, H, cudaMemcpyDeviceToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy2DArrayToArray(nullptr, 0, 0, a, 0, 0, P, H, cudaMemcpyDeviceToDevice));
    CODE(cudaErrorInvalidMemcpyDirection, cudaMemcpy2DArrayToArray(a, 0, 0, a, 0, 0, P, H, bad));
    // A handle is no pointer, and a pointer no handle.
    CODE(cudaErrorInvalidValue, cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost));
    CODE(cudaErrorInvalidValue, cudaFree(a));
    auto *memory = device(64);
    CODE(cudaErrorInvalidResourceHandle, cudaMemcpy2DToArray(reinterpret_cast<cudaArray_t>(memory), 0, 0, h, P, P, H,
                                                             cudaMemcpyHostToDevice));
    OK(cudaFreeArray(a));
    CODE(cudaErrorContextIsDestroyed, cudaFreeArray(a));
}

const std::map<std::string, void (*)()> cases = {
    {"planes", planes},   {"streams", streams}, {"freeing", freeing}, {"volumes", volumes},
    {"mipmaps", mipmaps}, {"queries", queries}, {"misuse", misuse},   {"devices_and_batches", devices_and_batches},
};

}  // namespace

int main(int argc, char **argv) {
    auto found = argc == 2 ? cases.find(argv[1]) : cases.end();
    if (found == cases.end()) {
        std::fprintf(stderr, "usage: array CASE\n");
        return 2;
    }
    found->second();
    return 0;
}
