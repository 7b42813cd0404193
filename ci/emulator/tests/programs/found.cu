// What real programs do and small tests do not: each case returns 0 if it goes as on hardware.
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_fp16.h>

#define CHECK(call) do { cudaError_t code_ = (call); if (code_ != cudaSuccess) { \
    fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorName(code_)); return 1; } } while (0)
#define EXPECT(condition) do { if (!(condition)) { \
    fprintf(stderr, "line %d: %s\n", __LINE__, #condition); return 1; } } while (0)

__global__ void count_down(cudaGraphConditionalHandle handle, int* left) { cudaGraphSetConditional(handle, --*left > 0); }
__global__ void choose(cudaGraphConditionalHandle handle, int* value) { cudaGraphSetConditional(handle, *value); }
// Two conditional nodes that nothing orders add to one counter.
__global__ void add(int* to, int what) { atomicAdd(to, what); }

// A conditional node of a graph, after `before`, with bodies that each add a number to a counter.
static int conditional(cudaGraph_t graph, cudaGraphNode_t* before, cudaGraphConditionalHandle handle,
                       cudaGraphConditionalNodeType type, std::vector<int> numbers, int* counter, cudaGraph_t* bodies) {
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = numbers.size();
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, before, nullptr, before ? 1 : 0, &params));
    for (size_t n = 0; n < numbers.size(); n++) {
        bodies[n] = params.conditional.phGraph_out[n];
        cudaKernelNodeParams kernel = {};
        void* arguments[] = {&counter, &numbers[n]};
        kernel.func = (void*)add;
        kernel.gridDim = kernel.blockDim = dim3(1);
        kernel.kernelParams = arguments;
        cudaGraphNode_t inner;
        CHECK(cudaGraphAddKernelNode(&inner, bodies[n], nullptr, 0, &kernel));
    }
    return 0;
}

static int conditionals() {
    int* values;
    CHECK(cudaMallocManaged(&values, 4 * sizeof(int)));
    int *left = values, *counter = values + 1, *choice = values + 2, *chosen = values + 3;
    cudaGraph_t graph, bodies[3];
    CHECK(cudaGraphCreate(&graph, 0));
    // A loop, whose body ends by asking again, and then a choice.
    cudaGraphConditionalHandle loop, which, whether;
    CHECK(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&which, graph, 0, 0));
    CHECK(cudaGraphConditionalHandleCreate(&whether, graph, 0, 0));
    if (conditional(graph, nullptr, loop, cudaGraphCondTypeWhile, {1}, counter, bodies)) return 1;
    cudaGraphNode_t inner, first;
    size_t one = 1;
    CHECK(cudaGraphGetNodes(bodies[0], &inner, &one));
    cudaKernelNodeParams kernel = {};
    void* again[] = {&loop, &left};
    kernel.func = (void*)count_down;
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = again;
    CHECK(cudaGraphAddKernelNode(&first, bodies[0], &inner, 1, &kernel));
    void* pick[] = {&which, &choice};
    kernel.func = (void*)choose;
    kernel.kernelParams = pick;
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
    if (conditional(graph, &first, which, cudaGraphCondTypeSwitch, {10, 20, 30}, chosen, bodies)) return 1;
    pick[0] = &whether;
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
    if (conditional(graph, &first, whether, cudaGraphCondTypeIf, {100, 200}, values + 1, bodies)) return 1;
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int launch = 0; launch < 3; launch++) {
        *left = 5, *counter = 0, *choice = launch == 0 ? 2 : 0, *chosen = 0;
        if (launch == 2) *choice = 7;
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(*left == 0);
        EXPECT(*counter == (*choice ? 105 : 205));
        EXPECT(*chosen == (launch == 0 ? 30 : launch == 1 ? 10 : 0));
    }
    return 0;
}

__global__ void spin(long long cycles) { long long start = clock64(); while (clock64() - start < cycles) {} }
__global__ void pass(volatile int* flag) {
    if (blockIdx.x + 1 == gridDim.x) *flag = 1; else while (!*flag) __nanosleep(100);
}

static int polls() {
    int* flag;
    CHECK(cudaMallocManaged(&flag, sizeof(int)));
    *flag = 0;
    spin<<<1, 1>>>(100'000'000);
    CHECK(cudaDeviceSynchronize());
    pass<<<4, 64>>>(flag);
    CHECK(cudaDeviceSynchronize());
    return 0;
}

__global__ void sample(cudaTextureObject_t texture, float* out) { *out = tex2D<float>(texture, 0, 0); }

static int textures() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, 1, 1));
    float value = 7, *out;
    CHECK(cudaMemcpy2DToArray(array, 0, 0, &value, 4, 4, 1, cudaMemcpyHostToDevice));
    CHECK(cudaMallocManaged(&out, 4));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    sample<<<1, 1>>>(texture, out);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDeviceSynchronize());
    EXPECT(*out == 7);
    EXPECT(cudaDestroyTextureObject(texture) == cudaErrorInvalidValue);
    return 0;
}

static int captures() {
    int* counter;
    CHECK(cudaMallocManaged(&counter, 4));
    *counter = 0;
    cudaStream_t stream, other;
    cudaEvent_t fork, join;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    add<<<1, 1, 0, other>>>(counter, 3);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    CHECK(cudaStreamDestroy(other));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(*counter == 3);
    return 0;
}

// Memory of a graph that the program frees, and the graph's next launch.
static int graph_memory() {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.bytesize = 4096;
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaGraphNode_t node, fill;
    CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &memory));
    cudaMemsetParams set = {memory.dptr, 0, 5, 1, 4096, 1};
    CHECK(cudaGraphAddMemsetNode(&fill, graph, &node, 1, &set));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int way = 0; way < 3; way++) {
        CHECK(cudaGraphLaunch(exec, 0));
        unsigned char byte = 0;
        CHECK(cudaMemcpy(&byte, (char*)memory.dptr + 4095, 1, cudaMemcpyDeviceToHost));
        EXPECT(byte == 5);
        if (way == 0) CHECK(cudaFree(memory.dptr)); else CHECK(cudaFreeAsync(memory.dptr, 0));
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}

__global__ void round(float* out, int value) {
    out[0] = __half2float(__int2half_rd(value)), out[1] = __half2float(__int2half_ru(value));
    out[2] = __half2float(__int2half_rz(value)), out[3] = __half2float(__int2half_rn(value));
    out[4] = __half2float(__float2half_rd(1e-9f)), out[5] = __half2float(__float2half_ru(1e-9f));
    out[6] = __half2float(__float2half_rz(1e9f)), out[7] = __half2float(__float2half_rd(-1e-9f));
}

static int rounding() {
    float* out;
    CHECK(cudaMallocManaged(&out, 8 * sizeof(float)));
    for (int value : {2049, -2049}) {
        round<<<1, 1>>>(out, value);
        CHECK(cudaDeviceSynchronize());
        EXPECT(out[0] == (value > 0 ? 2048 : -2050) && out[1] == (value > 0 ? 2050 : -2048));
        EXPECT(out[2] == (value > 0 ? 2048 : -2048) && out[3] == (value > 0 ? 2048 : -2048));
        EXPECT(out[4] == 0 && out[5] == 5.9604645e-8f && out[6] == 65504 && out[7] == -5.9604645e-8f);
    }
    return 0;
}

__global__ void unwritten(unsigned* out) {
    __shared__ unsigned array[32];
    if (threadIdx.x == 99) array[0] = 1;
    __syncthreads();
    out[threadIdx.x] = array[threadIdx.x];
}

static int shared() {
    unsigned* out;
    CHECK(cudaMallocManaged(&out, 32 * sizeof(unsigned)));
    unwritten<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    EXPECT(out[5] == 0xcdcdcdcd);
    return 0;
}

int main(int, char** arguments) {
    struct { const char* name; int (*run)(); } cases[] = {
        {"conditionals", conditionals}, {"polls", polls}, {"textures", textures}, {"captures", captures},
        {"graph_memory", graph_memory}, {"rounding", rounding}, {"shared", shared},
    };
    for (auto& it : cases) if (!strcmp(it.name, arguments[1])) return it.run();
    return 2;
}
