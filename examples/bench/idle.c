// A libcudart that does nothing, for ci/instructions: only a program's own host time is left. Memory is the
// host's, handles are numbers, a captured graph is one chain of kernels, and every kernel has the attributes
// that let a launch be proven. ci/instructions adds all other functions, which only return success.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned x, y, z;
} dim3;

static uintptr_t handles = 0x1000;

static int handle(void** result) {
    *result = (void*)(handles += 64);
    return 0;
}

static int memory(void** result, size_t bytes) {
    *result = aligned_alloc(512, (bytes / 512 + 1) * 512);
    return *result ? 0 : 2;
}

static int number(int* result, int value) {
    *result = value;
    return 0;
}

int cudaGetDeviceCount(int* count) { return number(count, 1); }
int cudaGetDevice(int* device) { return number(device, 0); }
int cudaRuntimeGetVersion(int* version) { return number(version, CUDART_VERSION); }
int cudaDriverGetVersion(int* version) { return number(version, CUDART_VERSION); }
int cudaDeviceGetAttribute(int* value, int attribute, int device) {
    (void)attribute, (void)device;
    return number(value, 1024);
}
int cudaMalloc(void** pointer, size_t bytes) { return memory(pointer, bytes); }
int cudaMallocHost(void** pointer, size_t bytes) { return memory(pointer, bytes); }
int cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    (void)flags;
    return memory(pointer, bytes);
}
int cudaStreamCreateWithFlags(void** stream, unsigned flags) { return (void)flags, handle(stream); }
int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    return (void)flags, (void)priority, handle(stream);
}
int cudaEventCreateWithFlags(void** event, unsigned flags) { return (void)flags, handle(event); }
int cudaStreamIsCapturing(void* stream, int* status) { return (void)stream, number(status, 0); }

// The operations since the last capture began, which are the nodes of its graph.
static size_t operations;

int cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** values, size_t shared, void* stream) {
    (void)kernel, (void)grid, (void)block, (void)values, (void)shared, (void)stream;
    return operations++, 0;
}
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
    (void)to, (void)from, (void)bytes, (void)kind, (void)stream;
    return operations++, 0;
}
int cudaMemsetAsync(void* to, int value, size_t bytes, void* stream) {
    (void)to, (void)value, (void)bytes, (void)stream;
    return operations++, 0;
}
int cudaStreamBeginCapture(void* stream, int mode) {
    (void)stream, (void)mode;
    return operations = 0, 0;
}
int cudaGraphNodeGetType(void* node, int* type) { return (void)node, number(type, 0); }
int cudaStreamEndCapture(void* stream, void** graph) { return (void)stream, handle(graph); }
int cudaGraphInstantiate(void** exec, void* graph, unsigned long long flags) {
    return (void)graph, (void)flags, handle(exec);
}
int cudaGraphGetNodes(void* graph, uintptr_t* nodes, size_t* count) {
    (void)graph;
    *count = operations;
    for (size_t at = 0; nodes && at < operations; ++at) nodes[at] = 64 * (at + 1);
    return 0;
}
static int edges(uintptr_t* from, uintptr_t* to, size_t* count) {
    *count = operations ? operations - 1 : 0;
    for (size_t at = 0; from && at < *count; ++at) from[at] = 64 * (at + 1), to[at] = 64 * (at + 2);
    return 0;
}
#if CUDART_VERSION >= 13000
int cudaGraphGetEdges(void* graph, uintptr_t* from, uintptr_t* to, void* data, size_t* count) {
    return (void)graph, (void)data, edges(from, to, count);
}
#else
int cudaGraphGetEdges(void* graph, uintptr_t* from, uintptr_t* to, size_t* count) {
    return (void)graph, edges(from, to, count);
}
#endif

// The fields up to the version of the PTX and of the machine code; see `cudaFuncAttributes`.
int cudaFuncGetAttributes(void* attributes, const void* kernel) {
    const struct {
        size_t shared, constant, local;
        int threads, registers, ptx, binary, cache, dynamic_shared;
    } some = {0, 0, 0, 1024, 32, PTX_VERSION, 90, 0, 49152};
    (void)kernel;
    memcpy(attributes, &some, sizeof some);
    return 0;
}

// What `kernel<<<...>>>` in C++ calls.
static struct {
    dim3 grid, block;
    size_t shared;
    void* stream;
} pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
    pushed.grid = grid, pushed.block = block, pushed.shared = shared, pushed.stream = stream;
    return 0;
}
int __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = pushed.grid, *block = pushed.block, *shared = pushed.shared, *(void**)stream = pushed.stream;
    return 0;
}
int __cudaGetKernel(void** kernel, const void* stub) {
    *kernel = (void*)stub;
    return 0;
}
void** __cudaRegisterFatBinary(void* binary) {
    static void* registered;
    (void)binary;
    return &registered;
}
