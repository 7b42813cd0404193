// Classic mistakes, one a case: mistakes CASE [right]. With `right` the program is correct. A comment
// `// CASE: WORD` marks a line that the finding of the case must name.
#include "check.h"

#include <thread>
#include <vector>

namespace {

constexpr int N = 4096;
constexpr size_t BYTES = N * sizeof(int);
bool right = false;

__global__ void fill(int *data, int value) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    data[at] = value;
}

__global__ void add(const int *from, int *to) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    to[at] += from[at];
}

__global__ void count(int *to) { atomicAdd(to, 1); }

int *ints() {
    int *made = nullptr;
    OK(cudaMalloc(&made, BYTES));
    OK(cudaMemset(made, 0, BYTES));
    OK(cudaDeviceSynchronize());
    return made;
}

// A blocking copy to the host waits for the legacy stream only.
void missing_synchronisation() {
    int *data = ints();
    cudaStream_t a = stream();
    std::vector<int> host(N);
    fill<<<N / 256, 256, 0, a>>>(data, 1); // missing_synchronisation: first
    if (right) OK(cudaStreamSynchronize(a));
    OK(cudaMemcpy(host.data(), data, BYTES, cudaMemcpyDeviceToHost)); // missing_synchronisation: second
}

void two_streams() {
    int *data = ints(), *sum = ints();
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    fill<<<N / 256, 256, 0, a>>>(data, 1); // two_streams: first
    if (right) {
        OK(cudaEventRecord(event, a));
        OK(cudaStreamWaitEvent(b, event, 0));
    }
    add<<<N / 256, 256, 0, b>>>(data, sum); // two_streams: second
    // Different bytes of one allocation, and atomic accesses to the same, are no race.
    OK(cudaDeviceSynchronize());
    OK(cudaMemsetAsync(data, 1, BYTES / 2, a));
    OK(cudaMemsetAsync(data + N / 2, 2, BYTES / 2, b));
    OK(cudaDeviceSynchronize());
    count<<<1, 32, 0, a>>>(data);
    count<<<1, 32, 0, b>>>(data);
    OK(cudaDeviceSynchronize());
}

void event_too_early() {
    int *data = ints(), *sum = ints();
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    if (!right) OK(cudaEventRecord(event, a));
    OK(cudaMemsetAsync(data, 1, BYTES, a)); // event_too_early: first
    if (right) OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    add<<<N / 256, 256, 0, b>>>(data, sum); // event_too_early: second
    OK(cudaDeviceSynchronize());
}

// A second copy overwrites the staging buffer while the first reads it.
void buffer_reused() {
    int *data = ints(), *other = ints();
    int *staging = reinterpret_cast<int *>(pinned(BYTES));
    cudaStream_t a = stream(), b = stream();
    OK(cudaMemcpyAsync(data, staging, BYTES, cudaMemcpyHostToDevice, a)); // buffer_reused: first
    if (right) OK(cudaStreamSynchronize(a));
    OK(cudaMemcpyAsync(staging, other, BYTES, cudaMemcpyDeviceToHost, b)); // buffer_reused: second
    OK(cudaDeviceSynchronize());
}

void freed_on_another_stream() {
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    int *data = nullptr;
    OK(cudaMallocAsync(&data, BYTES, a));
    fill<<<N / 256, 256, 0, a>>>(data, 1); // freed_on_another_stream: first
    if (right) {
        OK(cudaEventRecord(event, a));
        OK(cudaStreamWaitEvent(b, event, 0));
    }
    OK(cudaFreeAsync(data, b)); // freed_on_another_stream: second
    cudaDeviceSynchronize();
}

void used_before_allocated() {
    cudaStream_t a = stream(), b = stream();
    int *data = nullptr;
    OK(cudaMallocAsync(&data, BYTES, a)); // used_before_allocated: first
    fill<<<N / 256, 256, 0, right ? a : b>>>(data, 1); // used_before_allocated: second
    OK(cudaDeviceSynchronize());
}

// The legacy stream waits for blocking streams and not for others.
void legacy_stream() {
    int *data = ints();
    cudaStream_t a = stream(right ? cudaStreamDefault : cudaStreamNonBlocking);
    fill<<<N / 256, 256>>>(data, 1); // legacy_stream: first
    OK(cudaMemsetAsync(data, 0, BYTES, a)); // legacy_stream: second
    OK(cudaDeviceSynchronize());
}

// Two branches of a graph that nothing joins.
void graph_branches() {
    int *data = ints(), *sum = ints();
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t fork = nullptr, join = nullptr;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(sum, 0, BYTES, a));
    if (!right) OK(cudaEventRecord(fork, a));
    fill<<<N / 256, 256, 0, a>>>(data, 1); // graph_branches: first
    if (right) OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    add<<<N / 256, 256, 0, b>>>(data, sum); // graph_branches: second
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(a, &graph));
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int turn = 0; turn < 2; turn++) OK(cudaGraphLaunch(exec, a)); // graph_branches: launch
    OK(cudaDeviceSynchronize());
}

__global__ void count_down(cudaGraphConditionalHandle handle, int *left) {
    cudaGraphSetConditional(handle, --*left > 0);
}

// The body of a loop: a kernel for which another one of the same turn must wait. Turns do not overlap.
void loop_body() {
    int *data = ints(), *sum = ints();
    cudaStream_t a = stream();
    cudaGraph_t graph = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop = {};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = handle;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node = nullptr, first = nullptr, second = nullptr, third = nullptr;
    OK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));
    cudaGraph_t body = loop.conditional.phGraph_out[0];
    int value = 3;
    void *filled[] = {&data, &value}, *added[] = {&data, &sum}, *counted[] = {&handle, nullptr};
    cudaKernelNodeParams kernel = {};
    kernel.gridDim = dim3(N / 256);
    kernel.blockDim = dim3(256);
    kernel.func = reinterpret_cast<void *>(fill);
    kernel.kernelParams = filled;
    OK(cudaGraphAddKernelNode(&first, body, nullptr, 0, &kernel)); // loop_body: first
    kernel.func = reinterpret_cast<void *>(add);
    kernel.kernelParams = added;
    OK(cudaGraphAddKernelNode(&second, body, &first, right ? 1 : 0, &kernel)); // loop_body: second
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.func = reinterpret_cast<void *>(count_down);
    int *left = ints(), turns = 3;
    OK(cudaMemcpy(left, &turns, sizeof turns, cudaMemcpyHostToDevice));
    OK(cudaDeviceSynchronize());
    counted[1] = &left;
    kernel.kernelParams = counted;
    OK(cudaGraphAddKernelNode(&third, body, &second, 1, &kernel));
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, a)); // loop_body: launch
    OK(cudaStreamSynchronize(a));
    int host = 0;
    OK(cudaMemcpy(&host, left, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 0);
}

// Another thread may use memory for whose work one thread has waited.
void threads() {
    int *data = ints();
    cudaStream_t a = stream(), b = stream();
    fill<<<N / 256, 256, 0, a>>>(data, 1); // threads: first
    std::thread([&] { if (right) OK(cudaStreamSynchronize(a)); }).join();
    fill<<<N / 256, 256, 0, b>>>(data, 2); // threads: second
    OK(cudaDeviceSynchronize());
}

// The host reads managed memory that a kernel writes.
void managed_read_by_the_host() {
    int *data = nullptr;
    OK(cudaMallocManaged(&data, BYTES));
    for (int at = 0; at < N; at++) data[at] = 1;
    cudaStream_t a = stream();
    fill<<<N / 256, 256, 0, a>>>(data, 2); // managed_read_by_the_host: first
    if (right) OK(cudaStreamSynchronize(a));
    volatile int value = data[7]; // managed_read_by_the_host: second
    (void)value;
    OK(cudaDeviceSynchronize());
    EXPECT(data[7] == 2 && data[N - 1] == 2);
    OK(cudaFree(data));
}

// The host fills a staging buffer again while a copy reads it.
void staging_overwritten() {
    int *data = ints();
    int *staging = reinterpret_cast<int *>(pinned(BYTES));
    cudaStream_t a = stream();
    staging[3] = 1;
    OK(cudaMemcpyAsync(data, staging, BYTES, cudaMemcpyHostToDevice, a)); // staging_overwritten: first
    EXPECT(staging[3] == 1);
    if (right) OK(cudaStreamSynchronize(a));
    staging[3] = 2; // staging_overwritten: second
    OK(cudaDeviceSynchronize());
    OK(cudaFreeHost(staging));
}

// The host reads a result before the copy is known to have come.
void result_read_too_early() {
    int *data = ints();
    unsigned char *result = pinned(BYTES);
    cudaStream_t a = stream();
    OK(cudaMemcpyAsync(result, data, BYTES, cudaMemcpyDeviceToHost, a)); // result_read_too_early: first
    if (right) OK(cudaStreamSynchronize(a));
    volatile int value = result[9]; // result_read_too_early: second
    (void)value;
    OK(cudaDeviceSynchronize());
    EXPECT(result[0] == 0);
}

// A host function that uses a buffer in its stream's order, and one that does not.
void host_function() {
    int *data = ints();
    int *staging = reinterpret_cast<int *>(pinned(BYTES));
    cudaStream_t a = stream(), b = stream();
    auto prepare = [](void *at) { static_cast<int *>(at)[1] = 5; };
    OK(cudaLaunchHostFunc(right ? a : b, prepare, staging)); // host_function: first
    OK(cudaMemcpyAsync(data, staging, BYTES, cudaMemcpyHostToDevice, a)); // host_function: second
    OK(cudaDeviceSynchronize());
}

__device__ int variable[N];

void symbols() {
    int *data = ints();
    cudaStream_t a = stream(), b = stream();
    OK(cudaMemcpyToSymbolAsync(variable, data, BYTES, 0, cudaMemcpyDeviceToDevice, a)); // symbols: first
    if (right) OK(cudaStreamSynchronize(a));
    OK(cudaMemcpyFromSymbolAsync(data, variable, BYTES, 0, cudaMemcpyDeviceToDevice, b)); // symbols: second
    OK(cudaDeviceSynchronize());
}

void uninitialised() {
    int *data = nullptr, first = 0;
    OK(cudaMalloc(&data, BYTES)); // uninitialised: memory
    if (right) OK(cudaMemset(data, 0, BYTES));
    OK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost)); // uninitialised: read
    OK(cudaFree(data));
}

void double_free() {
    int *data = ints();
    OK(cudaFree(data)); // double_free: first
    if (!right) CODE(cudaErrorInvalidValue, cudaFree(data)); // double_free: second
}

void wrong_kind() {
    int *data = ints();
    std::vector<int> host(N);
    cudaMemcpyKind kind = right ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
    cudaMemcpy(data, host.data(), BYTES, kind); // wrong_kind: copy
    OK(cudaDeviceSynchronize());
}

// The direction is that of swapped pointers.
void swapped_direction() {
    int *data = nullptr;
    OK(cudaMalloc(&data, BYTES)); // swapped_direction: memory
    OK(cudaMemset(data, 0, BYTES));
    std::vector<int> host(N);
    cudaMemcpyKind kind = right ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    CODE(right ? cudaSuccess : cudaErrorInvalidValue, cudaMemcpy(host.data(), data, BYTES, kind)); // swapped_direction: copy
}

void host_pointer() {
    int *data = ints();
    std::vector<int> host(N);
    fill<<<N / 256, 256>>>(right ? data : host.data(), 1); // host_pointer: launch
    CODE(right ? cudaSuccess : cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

void other_device() {
    int *data = nullptr;
    OK(cudaSetDevice(right ? 0 : 1));
    OK(cudaMalloc(&data, BYTES)); // other_device: memory
    OK(cudaSetDevice(0));
    fill<<<N / 256, 256>>>(data, 1); // other_device: launch
    CODE(right ? cudaSuccess : cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

// Streams of one device for the memory of two, as a student's program had it. The right program also has a
// launch that fails, whose error it reads.
void unread_launches() {
    cudaStream_t streams[2];
    int *data[2];
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        data[device] = ints();
        if (!right) OK(cudaSetDevice(0));
        streams[device] = stream();
    }
    for (int turn = 0; turn < 6; turn++) {
        OK(cudaSetDevice(turn % 2));
        fill<<<N / 256, 256, 0, streams[turn % 2]>>>(data[turn % 2], turn); // unread_launches: launch
    }
    if (right) {
        fill<<<1, 4096>>>(data[1], 1);
        CODE(cudaErrorInvalidValue, cudaPeekAtLastError());
        fill<<<1, 4096>>>(data[1], 1);
        CODE(cudaErrorInvalidValue, cudaGetLastError());
    }
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
}

void past_the_end() {
    int *data = ints();
    std::vector<int> host(N + 1);
    cudaMemcpy(data, host.data(), BYTES + (right ? 0 : 4), cudaMemcpyHostToDevice); // past_the_end: copy
    OK(cudaDeviceSynchronize());
}

void kernel_past_the_end() {
    int *data = ints();
    fill<<<N / 256 + (right ? 0 : 1), 256>>>(data, 1); // kernel_past_the_end: launch
    CODE(right ? cudaSuccess : cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

void misaligned() {
    char *data = reinterpret_cast<char *>(ints());
    fill<<<1, 256>>>(reinterpret_cast<int *>(data + (right ? 4 : 2)), 1); // misaligned: launch
    CODE(right ? cudaSuccess : cudaErrorMisalignedAddress, cudaDeviceSynchronize());
}

void pitch_too_large() {
    size_t pitch = 0;
    char *data = nullptr;
    std::vector<char> host(100 * 16);
    OK(cudaMallocPitch(&data, &pitch, 100, 16));
    size_t given = right ? pitch : 2 * pitch;
    cudaMemcpy2D(data, given, host.data(), 100, 100, 16, cudaMemcpyHostToDevice); // pitch_too_large: copy
    OK(cudaDeviceSynchronize());
}

void leak() {
    void *data = nullptr;
    OK(cudaMalloc(&data, 100)); // leak: memory
    if (right) OK(cudaFree(data));
}

void call_cuda(void *) {
    int device = 0;
    cudaGetDevice(&device); // cuda_in_a_host_function: call
}

// The result is a local variable, which is gone when the copy ends.
__attribute__((noinline)) int read_one(const int *data, cudaStream_t a) {
    int result = -1;
    OK(cudaMemcpyAsync(&result, data, sizeof result, cudaMemcpyDeviceToHost, a)); // returned_too_early: first
    if (right) OK(cudaStreamSynchronize(a));
    return result;
}

void returned_too_early() {
    int *data = ints();
    cudaStream_t a = stream();
    int result = read_one(data, a);
    OK(cudaStreamSynchronize(a)); // returned_too_early: second
    if (right && result != 0) std::exit(1);
}

void nothing(void *) {}

void cuda_in_a_host_function() {
    cudaStream_t a = stream();
    OK(cudaLaunchHostFunc(a, right ? nothing : call_cuda, nullptr));
    OK(cudaDeviceSynchronize());
}

/// A graph of a fill and a copy, made executable and launched.
struct Nodes {
    int *data = ints();
    cudaStream_t a = stream();
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t fill, copy;
    cudaGraphExec_t exec;

    Nodes() {
        OK(cudaDeviceSynchronize());
        OK(cudaGraphCreate(&graph, 0));
        cudaMemsetParams set = {data, 0, 5, 1, 64, 1};
        OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
        OK(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, data + 64, data, 64, cudaMemcpyDeviceToDevice));
        OK(cudaGraphInstantiate(&exec, graph, 0));
        OK(cudaGraphLaunch(exec, a));
    }
};

void disabled_memset() {
    Nodes nodes;
    OK(cudaGraphNodeSetEnabled(nodes.exec, right ? nodes.copy : nodes.fill, 0)); // disabled_memset: call
    OK(cudaGraphLaunch(nodes.exec, nodes.a));
    OK(cudaDeviceSynchronize());
}

void disabled_after_a_change() {
    Nodes nodes;
    OK(cudaGraphExecMemcpyNodeSetParams1D(nodes.exec, nodes.copy, nodes.data + 64, nodes.data, 32, cudaMemcpyDeviceToDevice));
    if (right) OK(cudaGraphLaunch(nodes.exec, nodes.a));
    OK(cudaGraphNodeSetEnabled(nodes.exec, nodes.copy, 0)); // disabled_after_a_change: call
    OK(cudaGraphLaunch(nodes.exec, nodes.a));
    OK(cudaDeviceSynchronize());
}

} // namespace

int main(int count, char **words) {
    const std::string name = count > 1 ? words[1] : "";
    right = count > 2;
#define RUN(test) if (name == #test) { test(); return 0; }
    RUN(missing_synchronisation) RUN(two_streams) RUN(event_too_early) RUN(buffer_reused)
    RUN(freed_on_another_stream) RUN(used_before_allocated) RUN(legacy_stream) RUN(graph_branches) RUN(loop_body) RUN(threads)
    RUN(managed_read_by_the_host) RUN(staging_overwritten) RUN(result_read_too_early) RUN(returned_too_early)
    RUN(host_function)
    RUN(symbols) RUN(uninitialised) RUN(double_free) RUN(wrong_kind) RUN(swapped_direction) RUN(host_pointer)
    RUN(other_device) RUN(unread_launches) RUN(past_the_end)
    RUN(kernel_past_the_end) RUN(misaligned) RUN(pitch_too_large)
    RUN(leak) RUN(cuda_in_a_host_function) RUN(disabled_memset) RUN(disabled_after_a_change)
    std::fprintf(stderr, "no such case: %s\n", name.c_str());
    return 2;
}
