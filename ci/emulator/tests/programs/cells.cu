// Pairs of accesses, each cell in a process of its own: cells SCHEDULE. Standard input has a cell in each
// line: words with spaces between them. `tests/emulator/cells.rs` makes them, and says what is expected.
// Prints for each cell what the emulator did: `named`, `silent`, or `unchecked` and what of it.
#include "check.h"

#include <cooperative_groups.h>
#include <iostream>
#include <sstream>
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
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "failed: " + text;
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
        auto run = kind == "accesses" ? accesses : kind == "ways" ? ways : barriers;
        std::printf("%s\n", verdict(run, words).c_str());
    }
}
