// Pairs of accesses, each cell in a process of its own: cells SCHEDULE. Standard input has a cell in each
// line: words with spaces between them. `tests/emulator/cells.rs` makes them, and says what is expected.
// Prints for each cell what the emulator did: `named`, `silent`, or `unchecked` and what of it.
#include "check.h"

#include <cooperative_groups.h>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <pthread.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace cg = cooperative_groups;

// The ways of access. Those behind VOLATILE have four scopes each: .cta, .cluster, .gpu, .sys.
enum How { PLAIN, VOLATILE, RELAXED, ORDERED = RELAXED + 4, ATOMIC = ORDERED + 4, HOWS = ATOMIC + 4 };

#define AT_SCOPES(first, words, assembly) \
    case first + 0: assembly(words ".cta"); break; \
    case first + 1: assembly(words ".cluster"); break; \
    case first + 2: assembly(words ".gpu"); break; \
    case first + 3: assembly(words ".sys"); break;
#define LOAD(how) asm volatile("ld" how ".u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory")
#define STORE(how) asm volatile("st" how ".u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")
#define ADD(how) asm volatile("red" how ".add.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory")

__device__ void touch(unsigned *p, int how, bool writes, unsigned value) {
    if (writes) {
        switch (how) {
        case PLAIN: STORE(""); break;
        case VOLATILE: STORE(".volatile"); break;
        AT_SCOPES(RELAXED, ".relaxed", STORE)
        AT_SCOPES(ORDERED, ".release", STORE)
        AT_SCOPES(ATOMIC, ".relaxed", ADD)
        }
    } else {
        switch (how) {
        case PLAIN: LOAD(""); break;
        case VOLATILE: LOAD(".volatile"); break;
        AT_SCOPES(RELAXED, ".relaxed", LOAD)
        AT_SCOPES(ORDERED, ".acquire", LOAD)
        }
    }
}

// One side of a cell.
struct Side {
    int how;
    bool writes;
};

// Thread 0, and another of the same warp, block or grid.
__global__ void pair(unsigned *p, Side one, Side two, unsigned partner, bool ordered, bool in_shared) {
    __shared__ unsigned word;
    if (in_shared) {
        if (threadIdx.x == 0) word = 0;
        __syncthreads();
        p = &word;
    }
    unsigned me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me == 0) touch(p, one.how, one.writes, 1);
    if (ordered && partner < 32) __syncwarp();
    else if (ordered && partner < blockDim.x) __syncthreads();
    else if (ordered) cg::this_grid().sync();
    if (me == partner) touch(p, two.how, two.writes, 2);
}

__global__ void one(unsigned *p, Side side, unsigned value) { touch(p, side.how, side.writes, value); }

unsigned *new_words(const std::string &memory) {
    void *made = nullptr;
    if (memory == "managed") OK(cudaMallocManaged(&made, 4096));
    else if (memory == "pinned") OK(cudaMallocHost(&made, 4096));
    else OK(cudaMalloc(&made, 4096));
    OK(cudaMemset(made, 0, 4096));
    OK(cudaDeviceSynchronize());
    return static_cast<unsigned *>(made);
}

void by_host(unsigned *p, bool writes) {
    auto word = static_cast<volatile unsigned *>(p);
    if (writes) *word = 2;
    else (void)*word;
}

struct Touched {
    unsigned *p;
    bool writes;
};

// A kernel on one stream, and the partner on another one or on the host.
void operations(unsigned *p, Side first, const std::string &partner, Side second, bool ordered) {
    cudaStream_t a = stream(), b = a;
    one<<<1, 1, 0, a>>>(p, first, 1);
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, a));
    if (partner == "host" || partner == "call") {
        if (ordered) OK(cudaEventSynchronize(event));
        int ends[2];
        EXPECT(pipe(ends) == 0);
        if (partner == "host") by_host(p, second.writes);
        else if (second.writes) EXPECT(write(ends[1], "2222", 4) == 4 && read(ends[0], p, 4) == 4);
        else EXPECT(write(ends[1], p, 4) == 4);
    } else {
        if (partner == "device") {
            OK(cudaSetDevice(1));
            OK(cudaDeviceEnablePeerAccess(0, 0));
        }
        b = stream();
        if (ordered) OK(cudaStreamWaitEvent(b, event));
        static unsigned *copied = reinterpret_cast<unsigned *>(pinned(4));
        static Touched touched{p, second.writes};
        auto function = [](void *it) { by_host(static_cast<Touched *>(it)->p, static_cast<Touched *>(it)->writes); };
        if (partner == "copy") OK(cudaMemcpyAsync(second.writes ? p : copied, second.writes ? copied : p, 4, cudaMemcpyDefault, b));
        else if (partner == "fill") OK(cudaMemsetAsync(p, 2, 4, b));
        else if (partner == "function") OK(cudaLaunchHostFunc(b, function, &touched));
        else one<<<1, 1, 0, b>>>(p, second, 2);
    }
    OK(cudaGetLastError());
    OK(cudaStreamSynchronize(b));
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
}

// MEMORY, the partner, how and whether each of the two writes, and whether they are ordered.
void accesses(std::istream &words) {
    std::string memory, partner;
    Side first, second;
    bool ordered;
    words >> memory >> partner >> first.how >> first.writes >> second.how >> second.writes >> ordered;
    EXPECT(words && first.how < HOWS && second.how < HOWS);
    unsigned *p = new_words(memory);
    unsigned who = partner == "lane" ? 1 : partner == "warp" ? 32 : partner == "block" ? 64 : 0;
    if (who == 0) return operations(p, first, partner, second, ordered);
    bool in_shared = memory == "shared";
    void *all[] = {&p, &first, &second, &who, &ordered, &in_shared};
    OK(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(pair), 2, 64, all, 0, nullptr));
    OK(cudaDeviceSynchronize());
}

// Memory that a kernel uses before the host has waited, by the way that leads the kernel there.

__managed__ unsigned variable[8];
__device__ unsigned *device_pointer;
__constant__ unsigned *constant_pointer;
struct Link {
    long first;
    unsigned *p;
};
__managed__ Link managed_struct;
struct __attribute__((packed)) Packed {
    char first;
    unsigned *p;
};

__global__ void by_argument(unsigned *p) { p[3] = 1; }
__global__ void by_struct(Link link) { link.p[3] = 1; }
__global__ void by_packed(Packed packed) { packed.p[3] = 1; }
__global__ void by_pointer(Link *link) { link->p[3] = 1; }
__global__ void by_two_pointers(Link **link) { (*link)->p[3] = 1; }
__global__ void by_variable() { variable[3] = 1; }
__global__ void by_device_pointer() { device_pointer[3] = 1; }
__global__ void by_constant_pointer() { constant_pointer[3] = 1; }
__global__ void by_managed_struct() { managed_struct.p[3] = 1; }

template <class T> T *copied(const T &value) {
    T *made = reinterpret_cast<T *>(device(sizeof value));
    OK(cudaMemcpy(made, &value, sizeof value, cudaMemcpyHostToDevice));
    return made;
}

// MEMORY, the way, how the host accesses it, and whether it waits first.
void ways(std::istream &words) {
    std::string memory, way, access;
    bool ordered;
    words >> memory >> way >> access >> ordered;
    unsigned *p = way == "variable" ? variable : new_words(memory);
    OK(cudaMemcpyToSymbol(device_pointer, &p, sizeof p));
    OK(cudaMemcpyToSymbol(constant_pointer, &p, sizeof p));
    managed_struct = Link{1, p};
    Link link{1, p}, *on_device = copied(link), *managed = nullptr;
    OK(cudaMallocManaged(&managed, sizeof *managed));
    *managed = link;
    Link **two = copied(on_device);
    if (way == "argument") by_argument<<<1, 1>>>(p);
    if (way == "struct") by_struct<<<1, 1>>>(link);
    if (way == "packed") by_packed<<<1, 1>>>(Packed{1, p});
    if (way == "managed_memory") by_pointer<<<1, 1>>>(managed);
    if (way == "device_memory") by_pointer<<<1, 1>>>(on_device);
    if (way == "device_table") by_two_pointers<<<1, 1>>>(two);
    if (way == "variable") by_variable<<<1, 1>>>();
    if (way == "device_variable") by_device_pointer<<<1, 1>>>();
    if (way == "constant") by_constant_pointer<<<1, 1>>>();
    if (way == "managed_variable") by_managed_struct<<<1, 1>>>();
    if (ordered) OK(cudaDeviceSynchronize());
    if (access == "call") {
        int ends[2];
        EXPECT(pipe(ends) == 0 && write(ends[1], p + 3, 4) == 4);
    } else {
        by_host(p + 3, access == "write");
    }
    OK(cudaDeviceSynchronize());
}

// Barriers in memory: thread FIRST begins it, and each arrives. Ordered: behind a barrier of the block.
__global__ void begins(unsigned *p, unsigned first, bool ordered) {
    __shared__ alignas(8) unsigned long long barrier;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == first) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(blockDim.x) : "memory");
    if (ordered) __syncthreads();
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at) : "memory");
    p[threadIdx.x] = 1;
}

void barriers(std::istream &words) {
    bool ordered;
    words >> ordered;
    begins<<<1, 64>>>(new_words("device"), 0, ordered);
    OK(cudaDeviceSynchronize());
}

// A kernel raises word 5, and the host uses the words before it, and then it or those behind it.
__global__ void raise_fifth(unsigned *p) { atomicAdd(p + 5, 1); }

// MEMORY, by what instructions, whether the host writes, and whether it waits, leaves the word out, or does
// neither.
void beyond(std::istream &words) {
    std::string memory, by, order;
    bool writes;
    words >> memory >> by >> writes >> order;
    unsigned *p = new_words(memory);
    raise_fifth<<<1, 32>>>(p);
    if (order == "waits") OK(cudaDeviceSynchronize());
    unsigned skipped = order == "beside" ? 5 : ~0u;
    alignas(64) unsigned own[64] = {};
    if (by == "words") {
        for (unsigned i = 0; i < 64; i++)
            if (i != skipped) by_host(p + i, writes);
    } else if (by == "vectors") {
        typedef unsigned Four __attribute__((vector_size(16)));
        for (unsigned i = 0; i < 64; i += 4) {
            auto four = reinterpret_cast<volatile Four *>(p + i);
            if (i / 4 == skipped / 4) continue;
            if (writes) *four = Four{};
            else *reinterpret_cast<volatile Four *>(own + i) = *four;
        }
    } else {
        // The word is one of the second row.
        size_t bytes = skipped == 5 ? 20 : 256;
        asm volatile("" : "+r"(bytes));
        if (writes && by == "repeated") asm volatile("rep stosb" : "+D"(p), "+c"(bytes) : "a"(0) : "memory");
        else if (by == "repeated") {
            auto to = own;
            asm volatile("rep movsb" : "+D"(to), "+S"(p), "+c"(bytes)::"memory");
        } else if (writes) memset(p, 0, bytes);
        else memcpy(own, p, bytes);
    }
    asm volatile("" ::"r"(own) : "memory");
    OK(cudaDeviceSynchronize());
}

// What a right program does about signals while a kernel uses the same page: none of its handlers is called.
void signals(std::istream &words) {
    std::string what, when;
    words >> what >> when;
    unsigned *p = new_words("pinned");
    auto wrong = [](int) { _exit(9); };
    struct sigaction action {};
    sigset_t all, before;
    sigfillset(&all);
    for (int signal : {SIGSEGV, SIGTRAP}) {
        action.sa_handler = wrong;
        if (what == "signal") ::signal(signal, wrong);
        if (what == "sigaction") EXPECT(sigaction(signal, &action, nullptr) == 0);
        if (what == "sigaction") EXPECT(sigaction(signal, nullptr, &action) == 0 && action.sa_handler == +wrong);
    }
    if (what == "blocked") EXPECT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    if (what == "procmask") EXPECT(sigprocmask(SIG_BLOCK, &all, nullptr) == 0);
    if (what == "handled") {
        // An access in a handler that blocks all signals.
        static unsigned *word = p;
        action.sa_handler = [](int) { by_host(word, false); };
        action.sa_mask = all;
        EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
    }
    auto work = [](void *it) -> void * {
        auto p = static_cast<unsigned *>(it);
        one<<<1, 1>>>(p + 512, Side{PLAIN, true}, 1);
        for (unsigned i = 0; i < 8; i++) by_host(p + i, i % 2);
        OK(cudaDeviceSynchronize());
        unsigned last = 0;
        OK(cudaMemcpy(&last, p + 512, 4, cudaMemcpyDeviceToHost));
        EXPECT(last == 1);
        return nullptr;
    };
    if (what == "stack") {
        pthread_attr_t small;
        pthread_t thread;
        pthread_attr_init(&small);
        EXPECT(pthread_attr_setstacksize(&small, 64 << 10) == 0);
        EXPECT(pthread_create(&thread, &small, work, p) == 0 && pthread_join(thread, nullptr) == 0);
    } else if (what == "handled") {
        one<<<1, 1>>>(p + 512, Side{PLAIN, true}, 1);
        raise(SIGUSR1);
        OK(cudaDeviceSynchronize());
    } else {
        work(p);
    }
}

// A program's own handler gets what is not about such pages: a write to memory that it has protected, and a
// breakpoint.
void own_handlers(std::istream &words) {
    std::string how;
    words >> how;
    unsigned *p = new_words("pinned");
    one<<<1, 1>>>(p + 512, Side{PLAIN, true}, 1);
    static char *page = static_cast<char *>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    static volatile sig_atomic_t faults = 0, traps = 0;
    auto on_fault = [](int, siginfo_t *info, void *) {
        EXPECT(info->si_addr == page + 7 && mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
        faults = faults + 1;
    };
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    EXPECT(sigaction(SIGSEGV, &action, nullptr) == 0);
    signal(SIGTRAP, [](int) { traps = traps + 1; });
    by_host(p, true);
    *static_cast<volatile char *>(page + 7) = 1;
    raise(SIGTRAP);
    by_host(p + 1, true);
    OK(cudaDeviceSynchronize());
    EXPECT(faults == 1 && traps == 1);
    // By default a fault ends the process.
    if (how == "default") {
        signal(SIGSEGV, SIG_DFL);
        mprotect(page, 4096, PROT_NONE);
        *static_cast<volatile char *>(page) = 1;
    }
}

// An instruction of a warp by every second lane, whose mask names all of them, or only those.
template <class Exchange> __global__ void in_branch(unsigned *p, unsigned mask, Exchange exchange) {
    unsigned value = threadIdx.x;
    if (threadIdx.x % 2 == 0) value = exchange(mask, value);
    p[threadIdx.x] = value;
}

// The lanes of a loop leave it after different turns.
__global__ void in_loop(unsigned *p, bool right) {
    unsigned sum = 0, count = right ? 4 : threadIdx.x % 4;
    for (unsigned i = 0; i < count; i++) sum += __shfl_xor_sync(~0u, threadIdx.x, 1);
    p[threadIdx.x] = sum;
}

// Other lanes are at another instruction of this kind, or have ended.
__global__ void two_branches(unsigned *p) {
    unsigned value = threadIdx.x, half = value < 16 ? 0xffff : 0xffff0000;
    if (value == 31) return;
    if (value < 16) value = __shfl_down_sync(half, value, 1);
    else value = __shfl_up_sync(half, value, 1);
    __syncwarp();
    p[threadIdx.x] = __shfl_sync(~0u, value, 0);
}

// The value of a lane that takes no part.
__global__ void from_outside(unsigned *p) {
    if (threadIdx.x < 16) p[threadIdx.x] = __shfl_sync(0xffff, threadIdx.x + 100, threadIdx.x + 8);
}

void masks(std::istream &words) {
    std::string what;
    bool right;
    words >> what >> right;
    unsigned *p = new_words("device"), mask = right ? 0x55555555 : ~0u;
    if (what == "shuffle") in_branch<<<1, 32>>>(p, mask, [] __device__(unsigned m, unsigned v) { return __shfl_down_sync(m, v, 2); });
    if (what == "ballot") in_branch<<<1, 32>>>(p, mask, [] __device__(unsigned m, unsigned v) { return __ballot_sync(m, v > 7); });
    if (what == "any") in_branch<<<1, 32>>>(p, mask, [] __device__(unsigned m, unsigned v) { return unsigned(__any_sync(m, v > 7)); });
    if (what == "match") in_branch<<<1, 32>>>(p, mask, [] __device__(unsigned m, unsigned v) { return __match_any_sync(m, v / 4); });
    if (what == "sum") in_branch<<<1, 32>>>(p, mask, [] __device__(unsigned m, unsigned v) { return __reduce_add_sync(m, v); });
    if (what == "many") in_branch<<<1, 32>>>(p, mask, [] __device__(unsigned m, unsigned v) {
        for (int i = 0; i < 100; i++) v += __shfl_xor_sync(m, v, 2);
        return v;
    });
    if (what == "loop") in_loop<<<1, 32>>>(p, right);
    if (what == "branches") two_branches<<<1, 32>>>(p);
    if (what == "outside") {
        from_outside<<<1, 32>>>(p);
        unsigned got[16];
        OK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
        EXPECT(got[7] == 115 && got[8] == 0xcdcdcdcd);
    }
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
}

// A kernel that may begin before the one before it is complete.
__global__ void produce(unsigned *p) {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    p[threadIdx.x] = 7;
}

__global__ void consume(unsigned *p, unsigned *out, bool waits) {
#if __CUDA_ARCH__ >= 900
    if (waits) cudaGridDependencySynchronize();
#endif
    out[threadIdx.x] = p[threadIdx.x] + 1;
}

// Whether the second kernel waits, and the attribute: set, not set, or with work in between. A third kernel
// comes after both.
void dependent(std::istream &words) {
    bool waits;
    std::string how;
    words >> waits >> how;
    unsigned *p = new_words("device"), *out = new_words("device");
    cudaStream_t s = stream();
    produce<<<1, 32, 0, s>>>(p);
    if (how == "copied") OK(cudaMemcpyAsync(out, p, 4, cudaMemcpyDeviceToDevice, s));
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = how != "unset";
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = s;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, consume, p, out, waits));
    produce<<<1, 32, 0, s>>>(p);
    OK(cudaStreamSynchronize(s));
}

// The parameters of a node are asked for once and set twice.
void stale(std::istream &words) {
    bool right;
    words >> right;
    unsigned *p = new_words("device");
    cudaGraph_t graph;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&graph, 0));
    Side side{PLAIN, true};
    unsigned value = 1;
    void *own[] = {&p, &side, &value};
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void *>(one);
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = own;
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    OK(cudaGraphKernelNodeGetParams(node, &params));
    for (unsigned turn = 2; turn < 5; turn++) {
        value = turn;
        if (right) params.kernelParams = own;
        else params.kernelParams[2] = &value;
        OK(cudaGraphKernelNodeSetParams(node, &params));
    }
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, nullptr));
    OK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
    EXPECT(value == 4);
}

// A device without concurrent managed access: the host touches memory that no kernel uses.
void exclusive(std::istream &words) {
    std::string access;
    bool right;
    words >> access >> right;
    setenv("CUDA_EMULATOR_MANAGED", "0", 1);
    unsigned *used = new_words("managed"), *other = new_words("managed");
    one<<<1, 1>>>(used, Side{PLAIN, true}, 1);
    if (right) OK(cudaDeviceSynchronize());
    by_host(other + 7, access == "write");
    OK(cudaDeviceSynchronize());
}

// What is right, and looks wrong.
void right_ones(std::istream &words) {
    std::string what;
    words >> what;
    unsigned values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {};
    if (what == "other_device") {
        // Memory of device 1 is written and read by calls that wait, the second one on device 0.
        unsigned *p;
        OK(cudaSetDevice(1));
        OK(cudaMalloc(&p, sizeof values));
        OK(cudaMemcpy(p, values, sizeof values, cudaMemcpyHostToDevice));
        OK(cudaSetDevice(0));
        OK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
    } else if (what == "log") {
        char path[] = "/tmp/cells-log-XXXXXX";
        int file = mkstemp(path);
        EXPECT(file >= 0);
        setenv("CUDA_LOG_FILE", path, 1);
        EXPECT(cudaSetDevice(99) == cudaErrorInvalidDevice);
        char text[256] = {};
        EXPECT(read(file, text, sizeof text - 1) > 0 && unlink(path) == 0);
        EXPECT(std::strstr(text, "cudaSetDevice: cudaErrorInvalidDevice\n"));
        memcpy(got, values, sizeof got);
    } else if (what == "no_pitch") {
        // A single row needs no pitch.
        cudaArray_t array;
        auto format = cudaCreateChannelDesc<unsigned>();
        OK(cudaMallocArray(&array, &format, 8, 1));
        OK(cudaMemcpy2DToArray(array, 0, 0, values, 0, sizeof values, 1, cudaMemcpyHostToDevice));
        OK(cudaMemcpy2DFromArray(got, 0, array, 0, 0, sizeof got, 1, cudaMemcpyDeviceToHost));
    } else {
        // A library is unloaded whose kernels have ended, while other work is pending.
        const char *ptx = ".version 8.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry put(.param .u64 p) {\n.reg .b64 %a;\nld.param.u64 %a, [p];\n"
                          "st.global.u32 [%a], 8;\nret;\n}\n";
        unsigned *p = new_words("device"), *other = new_words("device");
        cudaLibrary_t library;
        cudaKernel_t kernel;
        OK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
        OK(cudaLibraryGetKernel(&kernel, library, "put"));
        cudaStream_t a = stream(), b = stream();
        one<<<1, 1, 0, b>>>(other, Side{PLAIN, true}, 1);
        void *arguments[] = {&p};
        OK(cudaLaunchKernel(reinterpret_cast<void *>(kernel), 1, 1, arguments, 0, a));
        OK(cudaStreamSynchronize(a));
        OK(cudaLibraryUnload(library));
        OK(cudaDeviceSynchronize());
        memcpy(got, values, sizeof got);
    }
    EXPECT(memcmp(got, values, sizeof got) == 0);
}

// What the emulator says about a cell that runs in a child process.
std::string verdict(void (*run)(std::istream &), std::istream &words) {
    int ends[2];
    EXPECT(pipe(ends) == 0);
    std::fflush(stdout);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        run(words);
        std::exit(0);
    }
    close(ends[1]);
    std::string text(1 << 16, 0), rest(1 << 16, 0);
    size_t size = 0;
    for (ssize_t got; (got = read(ends[0], size < text.size() ? &text[size] : &rest[0], 4096)) > 0;)
        if (size + 4096 < text.size()) size += got;
    close(ends[0]);
    text.resize(size);
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    bool found = text.find("CUDA emulator: findings: ") != std::string::npos;
    if (WIFSIGNALED(status) && text.empty()) return "signal " + std::to_string(WTERMSIG(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        std::replace(text.begin(), text.end(), '\n', ' ');
        return "failed: " + text;
    }
    if (found) return "named";
    const std::string mark = "not checked: ";
    size_t at = text.find(mark);
    return at == std::string::npos ? "silent" : "unchecked " + text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
}

} // namespace

int main(int count, char **arguments) {
    EXPECT(count == 2);
    // Each child reads it before its first call.
    setenv("CUDA_EMULATOR_SCHEDULE", arguments[1], 1);
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        const std::map<std::string, void (*)(std::istream &)> kinds = {
            {"accesses", accesses}, {"ways", ways},       {"barriers", barriers},
            {"beyond", beyond},     {"signals", signals}, {"own_handlers", own_handlers},
            {"masks", masks},       {"dependent", dependent}, {"stale", stale},
            {"exclusive", exclusive}, {"right", right_ones},
        };
        auto run = kinds.at(kind);
        std::printf("%s\n", verdict(run, words).c_str());
    }
}
