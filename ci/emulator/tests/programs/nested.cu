// Kernels that launch kernels: nested CASE checks what a GPU does too. The cases of mistakes race, and do not
// with `right`: nested CASE [right]. A comment `// CASE: WORD` marks a line that the finding must name.
#include "check.h"

#include <vector>

namespace {

constexpr int N = 256;

__global__ void set(int *to, int value) { to[threadIdx.x] = value; }
__global__ void add(int *to, int value) { atomicAdd(to, value); }
__global__ void copy(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void append(int *list, int value) { list[1 + atomicAdd(list, 1)] = value; }
__global__ void __launch_bounds__(128) bounded(int *to) { atomicAdd(to, 1); }
__global__ void dynamic(int *to) {
    extern __shared__ int mine[];
    mine[threadIdx.x] = 1;
    atomicAdd(to, mine[threadIdx.x]);
}

// A child sees what its parent has written before the launch, and the stream of the host goes on once all
// children are over.
__global__ void doubled(int *data, int *result) {
    data[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) copy<<<1, N>>>(result, data);
}
void visibility(int *data) {
    int *result = data + N;
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    doubled<<<1, N, 0, a>>>(data, result);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    copy<<<1, N, 0, b>>>(data + 2 * N, result);
    std::vector<int> host(N);
    OK(cudaMemcpyAsync(host.data(), data + 2 * N, N * sizeof(int), cudaMemcpyDeviceToHost, b));
    OK(cudaStreamSynchronize(b));
    for (int at = 0; at < N; at++) EXPECT(host[at] == 2 * at);
}

// The NULL stream of a block orders the launches of all its threads.
__global__ void in_turn(int *list) {
    for (unsigned turn = 0; turn < blockDim.x; turn++) {
        if (threadIdx.x == turn) append<<<1, 1>>>(list + 64 * blockIdx.x, turn);
        __syncthreads();
    }
}
void null_stream(int *data) {
    in_turn<<<3, 8>>>(data);
    std::vector<int> host(3 * 64);
    OK(cudaMemcpy(host.data(), data, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int block = 0; block < 3; block++) {
        EXPECT(host[64 * block] == 8);
        for (int at = 0; at < 8; at++) EXPECT(host[64 * block + 1 + at] == at);
    }
}

// Streams and events of a grid.
__global__ void ordered(int *list, int *codes) {
    cudaStream_t a = nullptr, b = nullptr;
    cudaEvent_t event = nullptr;
    codes[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    codes[1] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    codes[2] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (int turn = 0; turn < 4; turn++) {
        append<<<1, 1, 0, a>>>(list, 2 * turn);
        codes[3] = cudaEventRecord(event, a);
        codes[4] = cudaStreamWaitEvent(b, event, 0);
        append<<<1, 1, 0, b>>>(list, 2 * turn + 1);
        codes[5] = cudaEventRecord(event, b);
        codes[6] = cudaStreamWaitEvent(a, event, 0);
    }
    codes[7] = cudaEventDestroy(event);
    codes[8] = cudaStreamDestroy(a);
    codes[9] = cudaStreamDestroy(b);
    codes[10] = cudaGetLastError();
}
void named_streams(int *data) {
    ordered<<<1, 1>>>(data, data + 64);
    std::vector<int> host(128);
    OK(cudaMemcpy(host.data(), data, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 8);
    for (int at = 0; at < 8; at++) EXPECT(host[1 + at] == at);
    for (int at = 0; at <= 10; at++) EXPECT(host[64 + at] == cudaSuccess);
}

// A tail begins when the grid and its children are over. A tail's own tail comes before the rest.
__global__ void tail_of_a_tail(int *list) {
    list[1 + atomicAdd(list, 1)] = 10;
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 11);
}
__global__ void with_tail(int *list) {
    tail_of_a_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(list);
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 2);
    append<<<1, 1>>>(list, 0);
    append<<<1, 1>>>(list, 1);
}
void tail(int *data) {
    with_tail<<<1, 1>>>(data);
    append<<<1, 1>>>(data, 3);
    int host[7], expected[] = {6, 0, 1, 10, 11, 2, 3};
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int at = 0; at < 7; at++) EXPECT(host[at] == expected[at]);
}

// A tail sees all that the grid has written, before its launch and after.
__global__ void before_tail(int *data, int *result) {
    data[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) copy<<<1, N, 0, cudaStreamTailLaunch>>>(result, data);
    data[threadIdx.x] += N;
}
void tail_alone(int *data) {
    before_tail<<<1, N>>>(data, data + N);
    std::vector<int> host(N);
    OK(cudaMemcpy(host.data(), data + N, N * sizeof(int), cudaMemcpyDeviceToHost));
    for (int at = 0; at < N; at++) EXPECT(host[at] == N + at);
}

// Fire and forget, and recursion.
__global__ void tree(int *count, int depth) {
    atomicAdd(count, 1);
    if (depth > 0) tree<<<1, 2, 0, cudaStreamFireAndForget>>>(count, depth - 1);
}
void recursion(int *data) {
    tree<<<1, 2>>>(data, 6);
    int host = 0;
    OK(cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 254);
}

// Copies, memsets and memory of the device's heap.
__global__ void moves(char *data, int *codes) {
    codes[0] = cudaMemsetAsync(data, 7, 64, 0);
    codes[1] = cudaMemcpyAsync(data + 64, data, 32, cudaMemcpyDeviceToDevice, 0);
    codes[2] = cudaMemset2DAsync(data + 256, 16, 5, 8, 4, 0);
    codes[3] = cudaMemcpy2DAsync(data + 512, 8, data + 256, 16, 8, 4, cudaMemcpyDefault, 0);
    cudaMemcpy3DParms all = {};
    all.srcPtr.ptr = data + 256;
    all.srcPtr.pitch = all.srcPtr.xsize = 16;
    all.srcPtr.ysize = 2;
    all.dstPtr = all.srcPtr;
    all.dstPtr.ptr = data + 768;
    all.dstPos.x = 4;
    all.extent.width = 8;
    all.extent.height = all.extent.depth = 2;
    all.kind = cudaMemcpyDeviceToDevice;
    codes[4] = cudaMemcpy3DAsync(&all, 0);
    int *heap = nullptr;
    codes[5] = cudaMalloc(&heap, N * sizeof(int));
    set<<<1, N>>>(heap, 9);
    copy<<<1, 4>>>(reinterpret_cast<int *>(data + 1024), heap);
    codes[6] = cudaFree(nullptr);
    codes[7] = cudaGetLastError();
}
void memory(int *data) {
    moves<<<1, 1>>>(reinterpret_cast<char *>(data), data + 512);
    std::vector<int> codes(8);
    std::vector<char> host(2048);
    OK(cudaMemcpy(host.data(), data, host.size(), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(codes.data(), data + 512, codes.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int code : codes) EXPECT(code == cudaSuccess);
    // An H200 (driver 580) writes zeros here, whatever value a kernel's memset is given.
    EXPECT(host[63] == 7 && host[64] == 7 && host[95] == 7 && host[96] == 0);
    EXPECT(host[256 + 48 + 7] == 5 && host[256 + 8] == 0 && host[512 + 31] == 5 && host[512 + 32] == 0);
    EXPECT(host[768 + 3] == 0 && host[768 + 4] == 5 && host[768 + 48 + 11] == 5 && host[768 + 48 + 12] == 0);
    EXPECT(host[1024] == 9 && host[1036] == 9 && host[1040] == 0);
}

// Errors belong to the thread, and a launch that fails starts nothing.
__global__ void refused(int *codes, int *count) {
    if (threadIdx.x == 1) {
        add<<<1, 2048>>>(count, 1);
        codes[0] = cudaPeekAtLastError() != cudaSuccess;
        codes[1] = cudaGetLastError() != cudaSuccess;
        codes[2] = cudaGetLastError();
        bounded<<<1, 256>>>(count);
        codes[3] = cudaGetLastError() != cudaSuccess;
        dynamic<<<1, 32, 300 << 10>>>(count);
        codes[4] = cudaGetLastError() != cudaSuccess;
        dynamic<<<1, 32, 48 << 10>>>(count);
        codes[5] = cudaGetLastError();
        add<<<1, 2048>>>(count, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) codes[6] = cudaPeekAtLastError();
}
void errors(int *data) {
    refused<<<1, 2>>>(data, data + 16);
    int host[17], expected[] = {1, 1, 0, 1, 1, 0, 0};
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int at = 0; at < 7; at++) EXPECT(host[at] == expected[at]);
    EXPECT(host[16] == 32);
}

// Calls that return an error, as an H200 does.
__global__ void mistaken(int *codes) {
    __shared__ int own;
    int value = 0;
    const auto nowhere = reinterpret_cast<void *>(16);
    const auto unknown = reinterpret_cast<cudaStream_t>(0x1234560);
    cudaStream_t stream;
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    add<<<0, 1>>>(codes, 1), codes[0] = cudaGetLastError();
    add<<<dim3(1, 70000), 1>>>(codes, 1), codes[1] = cudaGetLastError();
    add<<<1, 1, 0, unknown>>>(codes, 1), codes[2] = cudaGetLastError();
    codes[3] = cudaMemsetAsync(nowhere, 1, 64, 0);
    codes[4] = cudaMemcpyAsync(nowhere, codes, 64, cudaMemcpyDeviceToDevice, 0);
    codes[5] = cudaMemsetAsync(&value, 1, 4, 0);
    codes[6] = cudaMemsetAsync(&own, 1, 4, 0);
    codes[7] = cudaStreamCreateWithFlags(&stream, 77);
    codes[8] = cudaEventCreateWithFlags(&event, 0);
    codes[9] = cudaStreamDestroy(unknown);
    codes[10] = cudaStreamWaitEvent(0, nullptr, 0);
    codes[11] = cudaEventRecord(event, cudaStreamTailLaunch);
    codes[12] = cudaStreamWaitEvent(cudaStreamFireAndForget, event, 0);
    codes[13] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99);
    codes[14] = cudaMemcpyAsync(codes, codes + 32, 16, cudaMemcpyHostToDevice, 0);
    cudaFuncAttributes attributes;
    codes[15] = cudaFuncGetAttributes(&attributes, nullptr);
    codes[16] = cudaMemsetAsync(codes, 1, 0, unknown);
}
void refusals(int *data) {
    mistaken<<<1, 1>>>(data);
    int host[17], expected[] = {9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 101, 21, 1, 0};
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int at = 0; at < 17; at++) EXPECT(host[at] == expected[at]);
}

// Calls and children that end the context, as on an H200.
__global__ void nowhere(int *) { *reinterpret_cast<volatile int *>(16) = 1; }
__global__ void fatal(int which, int *data) {
    const auto unknown = reinterpret_cast<cudaEvent_t>(0x1234);
    if (which == 0) nowhere<<<1, 1>>>(data);
    if (which == 1) cudaEventRecord(unknown, 0);
    if (which == 2) cudaEventDestroy(unknown);
    if (which == 3) cudaFree(reinterpret_cast<void *>(16));
    if (which == 4) cudaLaunchDevice(nullptr, cudaGetParameterBuffer(8, 16), dim3(1), dim3(1), 0, 0);
}
void end(int *data, int which) {
    fatal<<<1, 1>>>(which, data);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

// The launches of a tail and the events of a grid have limits.
__global__ void many(int *codes, int *count) {
    for (int turn = 0; turn < 3000; turn++) {
        add<<<1, 1, 0, cudaStreamTailLaunch>>>(count, 1);
        if (int code = cudaGetLastError()) codes[0]++, codes[1] = code;
    }
    cudaEvent_t event = nullptr;
    for (int turn = 0; turn < 5000; turn++)
        if (int code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming)) codes[2]++, codes[3] = code;
}
void limits(int *data) {
    many<<<1, 1>>>(data, data + 4);
    int host[5], expected[] = {952, cudaErrorLaunchPendingCountExceeded, 904, cudaErrorMemoryAllocation, 2048};
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int at = 0; at < 5; at++) EXPECT(host[at] == expected[at]);
}

// Questions that kernels may ask the runtime.
__global__ void asking(int *values) {
    size_t limit = 0;
    values[0] = cudaGetDevice(&values[1]);
    values[2] = cudaDeviceGetAttribute(&values[3], cudaDevAttrWarpSize, 0);
    values[4] = cudaRuntimeGetVersion(&values[5]);
    values[6] = cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    values[7] = limit > 0;
    cudaFuncAttributes attributes;
    values[8] = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(bounded));
    values[9] = attributes.maxThreadsPerBlock;
    values[10] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&values[11], reinterpret_cast<const void *>(bounded), 64, 0);
    const char *name = cudaGetErrorName(cudaErrorInvalidValue), *known = "cudaErrorInvalidValue";
    values[12] = 0;
    while (*name != 0 && *name == *known) name++, known++, values[12]++;
}
void questions(int *data) {
    asking<<<1, 1>>>(data);
    int host[13];
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int at : {0, 2, 4, 6, 8, 10}) EXPECT(host[at] == cudaSuccess);
    EXPECT(host[1] == 0 && host[3] == 32 && host[5] > 0 && host[7] == 1 && host[9] == 128);
    EXPECT(host[11] > 0 && host[12] == 21);
}

// A graph's node, a kernel with children, comes before its successor with all of them.
void graph(int *data) {
    cudaStream_t a = stream();
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    doubled<<<1, N, 0, a>>>(data, data + N);
    copy<<<1, N, 0, a>>>(data + 2 * N, data + N);
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(a, &graph));
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int turn = 0; turn < 2; turn++) {
        OK(cudaMemsetAsync(data + N, 0, 2 * N * sizeof(int), a));
        OK(cudaGraphLaunch(exec, a));
        int host = 0;
        OK(cudaMemcpyAsync(&host, data + 3 * N - 1, sizeof host, cudaMemcpyDeviceToHost, a));
        OK(cudaStreamSynchronize(a));
        EXPECT(host == 2 * (N - 1));
    }
}

// A kernel cannot wait for its child: it reads the result too early.
__global__ void last_read(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x] + 1; }
__global__ void reads_early(int *data, bool right) {
    set<<<1, N>>>(data, 5); // parent_reads_early: launch
    if (right)
        last_read<<<1, N, 0, cudaStreamTailLaunch>>>(data + N, data);
    else
        data[N] = data[0] + 1; // parent_reads_early: read
}
void parent_reads_early(int *data, bool right) { reads_early<<<1, 1>>>(data, right); }

// A write of the parent behind the launch may come before or after its child reads.
__global__ void writes_late(int *data, bool right) {
    if (right) data[1] = 3;
    copy<<<1, 16>>>(data + N, data); // parent_writes_late: launch
    if (!right) data[1] = 3;         // parent_writes_late: write
}
void parent_writes_late(int *data, bool right) { writes_late<<<1, 1>>>(data, right); }

// Two children on streams of their own.
__global__ void two_children(int *data, bool right) {
    set<<<1, N, 0, right ? nullptr : cudaStreamFireAndForget>>>(data, 1); // siblings: first
    set<<<1, N, 0, right ? nullptr : cudaStreamFireAndForget>>>(data, 2); // siblings: second
}
void siblings(int *data, bool right) { two_children<<<1, 1>>>(data, right); }

// Each block has a NULL stream of its own.
__global__ void two_blocks(int *data, bool right) {
    if (!right || blockIdx.x == 0) set<<<1, N>>>(data, blockIdx.x); // blocks: launch
}
void blocks(int *data, bool right) { two_blocks<<<2, 1>>>(data, right); }

// A grandchild is over when the next launch on its parent's stream begins.
__global__ void grandparent(int *data, bool right) {
    cudaStream_t other = nullptr;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    doubled<<<1, N>>>(data, data + N);
    copy<<<1, N, 0, right ? nullptr : other>>>(data + 2 * N, data + N); // grandchildren: second
}
void grandchildren(int *data, bool right) { grandparent<<<1, 1>>>(data, right); }

} // namespace

int main(int count, char **words) {
    const std::string name = count > 1 ? words[1] : "";
    const bool right = count > 2;
    int *data = nullptr;
    OK(cudaMalloc(&data, 16 * N * sizeof(int)));
    OK(cudaMemset(data, 0, 16 * N * sizeof(int)));
    OK(cudaDeviceSynchronize());
    bool known = false;
#define RUN(test) if (name == #test) known = true, test(data);
#define MISTAKE(test) if (name == #test) known = true, test(data, right);
    RUN(visibility) RUN(null_stream) RUN(named_streams) RUN(tail) RUN(tail_alone) RUN(recursion) RUN(memory) RUN(errors) RUN(limits)
    RUN(questions) RUN(graph) RUN(refusals)
    if (name == "end") return end(data, std::atoi(words[2])), 0;
    MISTAKE(parent_reads_early) MISTAKE(parent_writes_late) MISTAKE(siblings) MISTAKE(blocks) MISTAKE(grandchildren)
    OK(cudaDeviceSynchronize());
    OK(cudaFree(data));
    return known ? 0 : 2;
}
