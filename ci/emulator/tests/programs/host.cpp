// The machine as a program without kernels sees it, one case a run: host CASE
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

extern "C" {
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                            void *thread, void *block, void *block_dim, void *grid_dim, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global);
}

namespace {

constexpr size_t N = 4096;

// A copy to pinned memory has not happened before something waits for it.
void late_copy() {
    auto *host = pinned(N);
    auto *memory = device(N);
    cudaStream_t s = stream();
    host[0] = 1;
    OK(cudaMemsetAsync(memory, 7, N, s));
    OK(cudaMemcpyAsync(host, memory, N, cudaMemcpyDeviceToHost, s));
    EXPECT(host[0] == 1);
    OK(cudaStreamSynchronize(s));
    EXPECT(host[0] == 7 && host[N - 1] == 7);
}

// Nothing orders two streams: the result is that of the other order.
void late_order() {
    auto *memory = device(N);
    cudaStream_t a = stream(), b = stream();
    OK(cudaMemsetAsync(memory, 1, N, a));
    OK(cudaMemsetAsync(memory, 2, N, b));
    EXPECT(byte_at(memory) == 1);
}

// An event orders them.
void event_order() {
    auto *memory = device(N);
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t done;
    OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    for (int round = 0; round < 50; round++) {
        OK(cudaMemsetAsync(memory, 1, N, a));
        OK(cudaEventRecord(done, a));
        OK(cudaStreamWaitEvent(b, done, 0));
        OK(cudaMemsetAsync(memory, 2, N, b));
        OK(cudaEventRecord(done, b));
        OK(cudaStreamWaitEvent(a, done, 0));
    }
    EXPECT(byte_at(memory) == 2);
}

// A wait is for the record that the event had when the wait was asked for.
void event_snapshot() {
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    Gate gate;
    gate.close(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamSynchronize(b));
    CODE(cudaErrorNotReady, cudaEventQuery(event));
    gate.open();
    OK(cudaEventSynchronize(event));
    OK(cudaEventQuery(event));
}

// A pageable source may be used again when the call returns; its bytes arrive all the same.
void staged_source() {
    auto *memory = device(N);
    std::vector<unsigned char> source(N, 5);
    cudaStream_t s = stream();
    Gate gate;
    gate.close(s);
    OK(cudaMemcpyAsync(memory, source.data(), N, cudaMemcpyHostToDevice, s));
    std::fill(source.begin(), source.end(), 6);
    gate.open();
    EXPECT(byte_at(memory) == 5);
}

// A pinned source may not.
void pinned_source() {
    auto *memory = device(N);
    auto *source = pinned(N);
    source[0] = 5;
    cudaStream_t s = stream();
    Gate gate;
    gate.close(s);
    OK(cudaMemcpyAsync(memory, source, N, cudaMemcpyHostToDevice, s));
    source[0] = 6;
    gate.open();
    EXPECT(byte_at(memory) == 6);
}

// A blocking copy from pageable memory has returned before its bytes arrive: a non-blocking stream reads old
// ones.
void late_blocking_copy() {
    auto *memory = device(N);
    auto *seen = pinned(N);
    std::vector<unsigned char> source(N, 9);
    OK(cudaMemset(memory, 3, N));
    OK(cudaDeviceSynchronize());
    cudaStream_t s = stream();
    OK(cudaMemcpy(memory, source.data(), N, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(seen, memory, N, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(seen[0] == 3);
    EXPECT(byte_at(memory) == 9);
}

// The legacy stream and blocking streams wait for each other; non-blocking streams and other threads' work do
// not.
void legacy_order() {
    auto *memory = device(N);
    cudaStream_t blocking = stream(cudaStreamDefault), free_one = stream();
    Gate gate;
    gate.close(blocking);
    OK(cudaMemsetAsync(memory, 1, N, blocking));
    OK(cudaMemset(memory, 2, N));
    OK(cudaMemsetAsync(memory, 3, N, blocking));
    CODE(cudaErrorNotReady, cudaStreamQuery(nullptr));
    CODE(cudaErrorNotReady, cudaStreamQuery(cudaStreamLegacy));
    OK(cudaStreamQuery(free_one));
    OK(cudaStreamSynchronize(free_one));
    gate.open();
    OK(cudaStreamSynchronize(nullptr));
    EXPECT(byte_at(memory) == 3);
}

// Each thread's own stream is another one.
void per_thread() {
    Gate gate;
    unsigned long long mine = 0, theirs = 0;
    gate.close(cudaStreamPerThread);
    OK(cudaStreamGetId(cudaStreamPerThread, &mine));
    std::thread([&] {
        OK(cudaStreamGetId(cudaStreamPerThread, &theirs));
        OK(cudaStreamSynchronize(cudaStreamPerThread));
    }).join();
    EXPECT(mine != theirs);
    CODE(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
    gate.open();
    OK(cudaStreamSynchronize(cudaStreamPerThread));
}

// Work that nothing asks for is done all the same.
void done_by_itself() {
    cudaStream_t s = stream();
    Gate gate;
    gate.close(s);
    gate.reached();
    gate.open();
    OK(cudaStreamSynchronize(s));
}

// Repeated queries come to an end.
void polling() {
    auto *host = pinned(N);
    auto *memory = device(N);
    cudaStream_t s = stream();
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaMemsetAsync(memory, 4, N, s));
    OK(cudaMemcpyAsync(host, memory, N, cudaMemcpyDeviceToHost, s));
    OK(cudaEventRecord(event, s));
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
    EXPECT(host[N - 1] == 4);
    OK(cudaStreamQuery(s));
    OK(cudaGetLastError());
}

// A stream ends with work pending, which is done later.
void destroyed_stream() {
    auto *host = pinned(N);
    auto *memory = device(N);
    OK(cudaMemset(memory, 8, N));
    cudaStream_t s = stream(cudaStreamDefault);
    Gate gate;
    gate.close(s);
    OK(cudaMemcpyAsync(host, memory, N, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamDestroy(s));
    CODE(cudaErrorInvalidResourceHandle, cudaStreamQuery(s));
    gate.open();
    OK(cudaDeviceSynchronize());
    EXPECT(host[0] == 8);
}

// Host functions run in order, after earlier work, on a thread that may not call CUDA.
void host_functions() {
    struct Seen {
        unsigned char *host;
        std::vector<int> order;
        cudaError_t inner;
    } seen{pinned(N), {}, cudaSuccess};
    struct Step {
        Seen *seen;
        int number;
    };
    auto *memory = device(N);
    cudaStream_t s = stream();
    std::vector<Step> steps;
    for (int i = 0; i < 10; i++) steps.push_back({&seen, i});
    OK(cudaMemsetAsync(memory, 6, N, s));
    OK(cudaMemcpyAsync(seen.host, memory, N, cudaMemcpyDeviceToHost, s));
    for (auto &step : steps) {
        OK(cudaLaunchHostFunc(
            s,
            [](void *data) {
                auto *step = static_cast<Step *>(data);
                step->seen->order.push_back(step->number + 100 * step->seen->host[0]);
                void *none = nullptr;
                step->seen->inner = cudaMalloc(&none, 1);
            },
            &step));
    }
    OK(cudaStreamSynchronize(s));
    EXPECT(seen.order.size() == 10);
    for (int i = 0; i < 10; i++) EXPECT(seen.order[i] == 600 + i);
    EXPECT(seen.inner == cudaErrorNotPermitted);
    OK(cudaGetLastError());
}

// Two devices have their own memory and streams; copies go between them.
void two_devices() {
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    EXPECT(count == 2);
    auto *first = device(N);
    OK(cudaMemset(first, 1, N));
    cudaStream_t s = stream();
    OK(cudaSetDevice(1));
    auto *second = device(N);
    OK(cudaMemset(second, 2, N));
    cudaPointerAttributes what;
    OK(cudaPointerGetAttributes(&what, second));
    EXPECT(what.type == cudaMemoryTypeDevice && what.device == 1);
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    CODE(cudaErrorInvalidResourceHandle, cudaEventRecord(event, s));
    OK(cudaEventRecord(event, nullptr));
    OK(cudaStreamWaitEvent(s, event, 0));
    OK(cudaMemcpyPeer(second, 1, first, 0, N / 2));
    EXPECT(byte_at(second) == 1 && byte_at(second + N / 2) == 2);
    OK(cudaMemcpyPeerAsync(first, 0, second + N / 2, 1, N / 2, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(byte_at(first) == 2);
    // The stream's device needs access to the memory, whichever device is current. Two H200s answer so.
    CODE(cudaErrorInvalidValue, cudaMemsetAsync(second, 3, N, s));
    CODE(cudaErrorInvalidValue, cudaMemset2DAsync(second, 8, 3, 8, 2, s));
    CODE(cudaErrorInvalidValue, cudaMemset(first, 3, N));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    CODE(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
    OK(cudaMemset(first, 3, N));
    EXPECT(byte_at(first) == 3);
    CODE(cudaErrorInvalidValue, cudaMemsetAsync(second, 3, N, s));
    OK(cudaDeviceDisablePeerAccess(0));
    CODE(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
    CODE(cudaErrorInvalidDevice, cudaSetDevice(2));
    int current = -1;
    OK(cudaGetDevice(&current));
    EXPECT(current == 1);
}

// Every later call on a device returns the error that ended its context, and no other device's calls do.
void sticky_error() {
    struct Seen {
        std::atomic<int> functions{0}, callbacks{0};
        std::atomic<int> status{0};
    } seen;
    auto *memory = device(N);
    cudaStream_t s = stream();
    Gate gate;
    gate.close(s);
    OK(cudaMemsetAsync(memory, 0, SIZE_MAX, s));
    OK(cudaLaunchHostFunc(s, [](void *data) { static_cast<Seen *>(data)->functions++; }, &seen));
    OK(cudaStreamAddCallback(
        s,
        [](cudaStream_t, cudaError_t status, void *data) {
            static_cast<Seen *>(data)->status = status;
            static_cast<Seen *>(data)->callbacks++;
        },
        &seen, 0));
    gate.open();
    CODE(cudaErrorIllegalAddress, cudaStreamSynchronize(s));
    // A call on a failed device returns at once: the callback may still be pending.
    for (int i = 0; i < 10'000 && seen.callbacks == 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT(seen.functions == 0 && seen.callbacks == 1 && seen.status == cudaErrorIllegalAddress);
    void *none = nullptr;
    CODE(cudaErrorIllegalAddress, cudaMalloc(&none, 16));
    CODE(cudaErrorIllegalAddress, cudaFree(nullptr));
    CODE(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    CODE(cudaErrorIllegalAddress, cudaGetLastError());
    OK(cudaPeekAtLastError());
    OK(cudaSetDevice(1));
    auto *other = device(N);
    OK(cudaMemset(other, 1, N));
    EXPECT(byte_at(other) == 1);
}

// Misuse gets the code that hardware gives.
void misuse() {
    auto *memory = device(1000);
    std::vector<unsigned char> host(N);
    CODE(cudaErrorInvalidValue, cudaMemcpy(memory, host.data(), 1001, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy(memory + 900, host.data(), 101, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidMemcpyDirection, cudaMemcpy(memory, host.data(), 1, static_cast<cudaMemcpyKind>(9)));
    CODE(cudaErrorInvalidValue, cudaMemcpy(host.data(), host.data(), 1, cudaMemcpyDeviceToHost));
    CODE(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaGetLastError());
    OK(cudaFree(memory));
    CODE(cudaErrorInvalidValue, cudaFree(memory));
    CODE(cudaErrorInvalidValue, cudaMemset(memory, 0, 1));
    void *none = &none;
    CODE(cudaErrorMemoryAllocation, cudaMalloc(&none, SIZE_MAX / 2));
    EXPECT(none == nullptr);
}

// A device pointer is no pointer for the host.
void host_dereference() {
    volatile unsigned char *memory = device(N);
    memory[0] = 1;
}

// Leaks are listed at exit.
void leak() {
    device(1234);
    pinned(77);
    void *freed = device(5);
    OK(cudaFree(freed));
}

// A child of fork cannot go on with its parent's machine.
void fork_child() {
    device(N);
    pid_t child = fork();
    if (child == 0) {
        void *none = nullptr;
        _exit(cudaMalloc(&none, 1) == cudaErrorInitializationError ? 0 : 1);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Time passes between two events.
void elapsed() {
    cudaStream_t s = stream();
    cudaEvent_t a, b;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventRecord(a, s));
    auto *memory = device(64 << 20);
    OK(cudaMemsetAsync(memory, 1, 64 << 20, s));
    OK(cudaEventRecord(b, s));
    float ms = -1;
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    EXPECT(ms > 0 && ms < 60000);
    float back = 0;
    OK(cudaEventElapsedTime(&back, b, a));
    EXPECT(back == -ms);
}

// Calls that do not wait return while the device is busy. The data of calls that wait has arrived when they
// return.
void waiting() {
    auto *a = device(N), *b = device(N), *host = pinned(N);
    std::vector<unsigned char> pageable(N, 1), back(N, 0);
    Gate gate;
    gate.close(nullptr);
    OK(cudaMemcpy(a, pageable.data(), N, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, N, cudaMemcpyDeviceToDevice));
    OK(cudaMemset(a, 2, N));
    OK(cudaMemcpyPeer(a, 0, b, 0, N));
    OK(cudaMemcpyAsync(host, b, N, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaMemcpyAsync(back.data(), b, N, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaMemcpyAsync(b, host, N, cudaMemcpyHostToDevice, nullptr));
    OK(cudaMemsetAsync(host, 3, N, nullptr));
    void *more = nullptr;
    OK(cudaMalloc(&more, N));
    OK(cudaMallocHost(&more, N));
    OK(cudaHostRegister(pageable.data(), N, cudaHostRegisterDefault));
    gate.open();
    OK(cudaMemcpy(back.data(), b, N, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 1 && back[N - 1] == 1 && host[0] == 3);
    OK(cudaHostUnregister(pageable.data()));
    OK(cudaMemset(host, 4, N));
    EXPECT(host[0] == 4 && host[N - 1] == 4);
    OK(cudaMemcpy(a, host, N, cudaMemcpyHostToDevice));
    host[0] = 5;
    EXPECT(byte_at(a) == 4);
    OK(cudaMemcpy(back.data(), host, N, cudaMemcpyHostToHost));
    EXPECT(back[0] == 5 && back[1] == 4);
    cudaStream_t s = stream();
    OK(cudaMemsetAsync(b, 6, N, s));
    OK(cudaMemcpyAsync(host, b, N, cudaMemcpyDeviceToHost, s));
    OK(cudaFree(a));
    EXPECT(host[0] == 6);
}

// Many threads on streams of their own, on one shared stream and on the legacy stream; some ask, some wait.
void threads() {
    constexpr int kThreads = 8, kRounds = 40;
    cudaStream_t shared = stream(cudaStreamDefault);
    std::atomic<int> good{0}, functions{0};
    std::vector<std::thread> all;
    for (int t = 0; t < kThreads; t++)
        all.emplace_back([&, t] {
            OK(cudaSetDevice(t % 2 == 0 ? 0 : 1));
            cudaStream_t own = stream(t % 3 == 0 ? cudaStreamDefault : cudaStreamNonBlocking);
            auto *memory = device(N);
            auto *host = pinned(N);
            cudaEvent_t event;
            OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
            for (int round = 0; round < kRounds; round++) {
                int value = (t * kRounds + round) & 0xff;
                OK(cudaMemsetAsync(memory, value, N, own));
                OK(cudaMemcpyAsync(host, memory, N, cudaMemcpyDeviceToHost, own));
                OK(cudaLaunchHostFunc(own, [](void *n) { ++*static_cast<std::atomic<int> *>(n); }, &functions));
                OK(cudaEventRecord(event, own));
                OK(cudaStreamWaitEvent(shared, event, 0));
                if (round % 3 == 0) {
                    while (cudaEventQuery(event) == cudaErrorNotReady) {
                    }
                } else if (round % 3 == 1) {
                    OK(cudaEventSynchronize(event));
                } else {
                    OK(cudaStreamSynchronize(t % 2 == 0 ? shared : own));
                    OK(cudaStreamSynchronize(own));
                }
                good += host[0] == value && host[N - 1] == value;
                unsigned char byte = 0;
                OK(cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost));
                good += byte == value;
            }
            OK(cudaStreamDestroy(own));
            OK(cudaFree(memory));
            OK(cudaFreeHost(host));
        });
    for (auto &thread : all) thread.join();
    OK(cudaDeviceSynchronize());
    EXPECT(good == 2 * kThreads * kRounds && functions == kThreads * kRounds);
}

// Planes and volumes.
void shapes() {
    void *memory = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&memory, &pitch, 100, 8));
    std::vector<unsigned char> host(100 * 8), back(100 * 8, 0);
    for (size_t i = 0; i < host.size(); i++) host[i] = static_cast<unsigned char>(i * 7);
    OK(cudaMemcpy2D(memory, pitch, host.data(), 100, 100, 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back.data(), 100, memory, pitch, 100, 8, cudaMemcpyDeviceToHost));
    EXPECT(host == back);
    CODE(cudaErrorInvalidPitchValue, cudaMemcpy2D(memory, 99, host.data(), 100, 100, 8, cudaMemcpyHostToDevice));
    CODE(cudaErrorInvalidValue, cudaMemcpy2D(memory, pitch, host.data(), 100, 100, 9, cudaMemcpyHostToDevice));
    cudaPitchedPtr solid;
    OK(cudaMalloc3D(&solid, cudaExtent{20, 5, 4}));
    OK(cudaMemset3D(solid, 0, cudaExtent{20, 5, 4}));
    cudaMemcpy3DParms p = {};
    p.srcPtr = cudaPitchedPtr{host.data(), 20, 20, 5};
    p.dstPtr = solid;
    p.dstPos = cudaPos{3, 1, 2};
    p.extent = cudaExtent{10, 3, 2};
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    std::vector<unsigned char> all(20 * 5 * 4, 1);
    cudaMemcpy3DParms q = {};
    q.srcPtr = solid;
    q.dstPtr = cudaPitchedPtr{all.data(), 20, 20, 5};
    q.extent = cudaExtent{20, 5, 4};
    q.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&q));
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 5; y++)
            for (int x = 0; x < 20; x++) {
                bool inside = z >= 2 && y >= 1 && y < 4 && x >= 3 && x < 13;
                int want = inside ? host[((z - 2) * 5 + y - 1) * 20 + x - 3] : 0;
                EXPECT(all[(z * 5 + y) * 20 + x] == want);
            }
}

// Copies to the host of unwritten device memory, and of written.
void unwritten() {
    auto *memory = device(100), *other = device(100);
    auto *host = pinned(100);
    std::vector<unsigned char> pageable(4096, 1);
    OK(cudaMemcpy(memory, pageable.data(), 60, cudaMemcpyHostToDevice));
    OK(cudaMemset(memory + 60, 2, 10));
    OK(cudaMemcpy(host, memory, 70, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(other, memory + 20, 80, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(host, other, 50, cudaMemcpyDeviceToHost));
    std::fprintf(stderr, "from here on\n");
    OK(cudaMemcpy(host, other + 40, 20, cudaMemcpyDeviceToHost));
    void *plane = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&plane, &pitch, 100, 3));
    OK(cudaMemcpy2D(plane, pitch, pageable.data(), 100, 100, 3, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(pageable.data(), 100, plane, pitch, 100, 3, cudaMemcpyDeviceToHost));
    OK(cudaMemcpyAsync(pageable.data(), plane, 2 * pitch, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaDeviceSynchronize());
}

// Which of two unordered memsets is last differs from seed to seed; prints the outcomes.
void outcomes() {
    auto *memory = device(N);
    cudaStream_t a = stream(), b = stream(), c = stream();
    std::string line;
    for (int round = 0; round < 16; round++) {
        OK(cudaMemsetAsync(memory, 1, N, a));
        OK(cudaMemsetAsync(memory, 2, N, b));
        OK(cudaMemsetAsync(memory, 3, N, c));
        line += static_cast<char>('0' + byte_at(memory));
    }
    std::printf("%s\n", line.c_str());
}

// Registers a kernel and a variable of a module of one text of PTX, as constructors of nvcc do.
struct Registered {
    static constexpr char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 v = 7;\n"
        ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<2>; .reg .b64 %d<3>;\nld.param.u64 %d1, [p];\n"
        "cvta.to.global.u64 %d2, %d1;\nld.global.u32 %r1, [v];\nst.global.u32 [%d2], %r1;\nret;\n}\n";
    struct alignas(16) {
        unsigned magic = 0xBA55ED50;
        unsigned short version = 1, header = 16;
        unsigned long long follow = sizeof(entry);
        struct {
            unsigned short kind = 1, version = 0x0101;
            unsigned header = 64;
            unsigned long long bytes = sizeof(code);
            unsigned unused[3] = {}, architecture = 70, more[8] = {};
            char code[(sizeof(text) + 7) / 8 * 8] = {};
        } entry;
    } fatbinary;
    struct {
        int magic = 0x466243b1, version = 1;
        const void *data = nullptr;
        void *unused = nullptr;
    } wrapper;
    char kernel = 0, variable = 0;

    Registered(const char *kernel_device, const char *kernel_name, const char *device, const char *name) {
        std::memcpy(fatbinary.entry.code, text, sizeof(text));
        wrapper.data = &fatbinary;
        void **handle = __cudaRegisterFatBinary(&wrapper);
        __cudaRegisterFunction(handle, &kernel, const_cast<char *>(kernel_device), kernel_name, -1, nullptr,
                               nullptr, nullptr, nullptr, nullptr);
        __cudaRegisterVar(handle, &variable, const_cast<char *>(device), name, 0, 4, 0, 0);
        __cudaRegisterFatBinaryEnd(handle);
    }
    cudaError_t launch(unsigned char *to) {
        void *arguments[] = {&to};
        return cudaLaunchKernel(&kernel, dim3(1), dim3(1), arguments, 0, nullptr);
    }
};

// The first name of a kernel and the second one of a variable are those in the module. (Asked of an H200.)
void registered_names() {
    auto *memory = device(4);
    void *at = nullptr;
    const char *name = nullptr;
    Registered usual("k", "shown", "not there", "v"), wrong("not there", "k", "v", "not there");
    OK(usual.launch(memory));
    EXPECT(byte_at(memory) == 7);
    OK(cudaFuncGetName(&name, &usual.kernel));
    EXPECT(std::strcmp(name, "shown") == 0);
    OK(cudaGetSymbolAddress(&at, &usual.variable));
    CODE(cudaErrorSymbolNotFound, wrong.launch(memory));
    CODE(cudaErrorSymbolNotFound, cudaGetSymbolAddress(&at, &wrong.variable));
}

const std::map<std::string, void (*)()> cases = {
    {"registered_names", registered_names},
    {"late_copy", late_copy},
    {"late_order", late_order},
    {"event_order", event_order},
    {"event_snapshot", event_snapshot},
    {"staged_source", staged_source},
    {"pinned_source", pinned_source},
    {"late_blocking_copy", late_blocking_copy},
    {"legacy_order", legacy_order},
    {"per_thread", per_thread},
    {"done_by_itself", done_by_itself},
    {"polling", polling},
    {"destroyed_stream", destroyed_stream},
    {"host_functions", host_functions},
    {"two_devices", two_devices},
    {"sticky_error", sticky_error},
    {"misuse", misuse},
    {"host_dereference", host_dereference},
    {"leak", leak},
    {"fork_child", fork_child},
    {"elapsed", elapsed},
    {"waiting", waiting},
    {"threads", threads},
    {"shapes", shapes},
    {"unwritten", unwritten},
    {"outcomes", outcomes},
};

}  // namespace

int main(int argc, char **argv) {
    auto found = argc == 2 ? cases.find(argv[1]) : cases.end();
    if (found == cases.end()) {
        std::fprintf(stderr, "usage: host CASE\n");
        return 2;
    }
    found->second();
    return 0;
}
