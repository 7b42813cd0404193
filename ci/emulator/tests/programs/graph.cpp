// Capture and graphs without kernels, one case a run: graph CASE
#include "check.h"

#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace {

constexpr size_t N = 4096;

cudaStreamCaptureStatus status(cudaStream_t s) {
    cudaStreamCaptureStatus found;
    OK(cudaStreamIsCapturing(s, &found));
    return found;
}

size_t nodes(cudaGraph_t graph) {
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    return count;
}

cudaEvent_t event() {
    cudaEvent_t made = nullptr;
    OK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    return made;
}

void CUDART_CB count(void *counter) { ++*static_cast<std::atomic<int> *>(counter); }

// Nothing captured runs before the graph is launched, and then it runs every time.
void capture() {
    auto *memory = device(N);
    auto *host = pinned(N);
    unsigned char pageable[16];
    std::memset(pageable, 3, sizeof pageable);
    std::atomic<int> calls{0};
    OK(cudaMemset(memory, 1, N));
    OK(cudaDeviceSynchronize());
    cudaStream_t s = stream();
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    EXPECT(status(s) == cudaStreamCaptureStatusActive);
    OK(cudaMemsetAsync(memory, 7, N, s));
    OK(cudaMemcpyAsync(memory, pageable, sizeof pageable, cudaMemcpyHostToDevice, s));
    OK(cudaMemcpyAsync(host, memory, N, cudaMemcpyDeviceToHost, s));
    OK(cudaLaunchHostFunc(s, count, &calls));
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(s, &graph));
    EXPECT(nodes(graph) == 4);
    EXPECT(byte_at(memory) == 1 && calls == 0);
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    // A pageable source is read by each launch, not by the capture.
    pageable[0] = 5;
    for (int round = 1; round <= 3; round++) {
        host[0] = host[N - 1] = 0;
        OK(cudaGraphLaunch(exec, s));
        OK(cudaStreamSynchronize(s));
        EXPECT(host[0] == 5 && host[1] == 3 && host[N - 1] == 7 && calls == round);
    }
    OK(cudaGraphExecDestroy(exec));
    CODE(cudaErrorInvalidValue, cudaGraphLaunch(exec, s));
}

// Events carry a capture to other streams and back; the branches of a graph are ordered only as they were.
void fork_join() {
    auto *memory = device(2 * N);
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t fork = event(), join = event();
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(memory, 1, 2 * N, a));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    EXPECT(status(b) == cudaStreamCaptureStatusActive);
    OK(cudaMemsetAsync(memory, 2, N, b));
    OK(cudaMemsetAsync(memory + N, 3, N, a));
    OK(cudaEventRecord(join, b));
    OK(cudaStreamWaitEvent(a, join, 0));
    OK(cudaMemcpyAsync(memory + 1, memory + N, 1, cudaMemcpyDeviceToDevice, a));
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(a, &graph));
    EXPECT(status(b) == cudaStreamCaptureStatusNone);
    size_t edges = 0;
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    EXPECT(nodes(graph) == 4 && edges == 4);
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, b));
    EXPECT(byte_at(memory) == 2 && byte_at(memory + 1) == 3 && byte_at(memory + N) == 3);
}

// A capture into a graph comes after the nodes that it names, and destroys the graph if it fails.
void into() {
    auto *memory = device(N);
    cudaStream_t a = stream(), b = stream();
    cudaGraph_t graph = nullptr, ended = nullptr, other = nullptr;
    cudaGraphNode_t first = nullptr, beside = nullptr, foreign = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
    OK(cudaGraphAddEmptyNode(&beside, graph, nullptr, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, nullptr, 0));
    auto mode = cudaStreamCaptureModeThreadLocal;
    CODE(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(a, graph, &foreign, nullptr, 1, mode));
    OK(cudaStreamBeginCaptureToGraph(a, graph, &first, nullptr, 1, mode));
    OK(cudaMemsetAsync(memory, 1, N, a));
    cudaStreamCaptureStatus found;
    unsigned long long id = 0;
    cudaGraph_t in = nullptr;
    const cudaGraphNode_t *before = nullptr;
    size_t count = 0;
    OK(cudaStreamGetCaptureInfo(a, &found, &id, &in, &before, nullptr, &count));
    EXPECT(found == cudaStreamCaptureStatusActive && id != 0 && in == graph);
    EXPECT(count == 1 && before[0] != first && before[0] != beside);
    OK(cudaStreamEndCapture(a, &ended));
    EXPECT(ended == graph && nodes(graph) == 3);
    cudaGraphNode_t from = nullptr, to = nullptr;
    size_t edges = 1;
    OK(cudaGraphGetEdges(graph, &from, &to, nullptr, &edges));
    EXPECT(edges == 1 && from == first && to != beside);

    // A fork that does not join.
    cudaEvent_t fork = event();
    OK(cudaStreamBeginCaptureToGraph(a, graph, nullptr, nullptr, 0, mode));
    OK(cudaEventRecord(fork, a));
    OK(cudaStreamWaitEvent(b, fork, 0));
    OK(cudaMemsetAsync(memory, 2, N, b));
    CODE(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(a, &ended));
    EXPECT(ended == nullptr);
    CODE(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    EXPECT(status(a) == cudaStreamCaptureStatusNone);
}

// Forbidden calls, and the state of the capture after them.
void rules() {
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t e = event();
    cudaGraph_t graph = nullptr;
    void *memory = nullptr;
    auto ends = [&](cudaError_t code) { CODE(code, cudaStreamEndCapture(a, &graph)); };
    // Two captures do not merge, and neither survives the attempt.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(e, b));
    CODE(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(a, e, 0));
    CODE(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(device(16), 0, 16, b));
    ends(cudaErrorStreamCaptureInvalidated);
    CODE(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(b, &graph));
    // A thread of its own capture is bound by it, other threads are not, and a relaxed thread is not.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    std::thread([&] { OK(cudaMalloc(&memory, 16)); }).join();
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaFree(memory));
    OK(cudaEventQuery(event()));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(status(a) == cudaStreamCaptureStatusActive);
    CODE(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 16));
    EXPECT(status(a) == cudaStreamCaptureStatusInvalidated);
    ends(cudaErrorStreamCaptureInvalidated);
    // Another thread that ends it does end it.
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    std::thread([&] { CODE(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(a, &graph)); }).join();
    EXPECT(status(a) == cudaStreamCaptureStatusNone);
    // The legacy stream while a blocking stream is captured.
    cudaStream_t blocking = stream(cudaStreamDefault);
    OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    CODE(cudaErrorStreamCaptureImplicit, cudaMemcpyAsync(device(16), device(16), 16, cudaMemcpyDefault, nullptr));
    CODE(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
    // External records and waits become nodes, and work only in a capture.
    CODE(cudaErrorIllegalState, cudaEventRecordWithFlags(e, a, cudaEventRecordExternal));
    OK(cudaEventRecord(e, b));
    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaStreamWaitEvent(a, e, cudaEventWaitExternal));
    OK(cudaEventRecordWithFlags(e, a, cudaEventRecordExternal));
    ends(cudaSuccess);
    EXPECT(nodes(graph) == 2);
    // A stream that is destroyed takes its capture with it.
    OK(cudaStreamBeginCapture(b, cudaStreamCaptureModeGlobal));
    OK(cudaStreamDestroy(b));
    OK(cudaMalloc(&memory, 16));
    OK(cudaDeviceSynchronize());
}

// A graph that is built by hand, looked at, copied, and changed after it was instantiated.
void built() {
    auto *memory = device(N);
    std::atomic<int> calls{0};
    cudaGraph_t graph = nullptr, copy = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill = nullptr, host = nullptr, part = nullptr, none = nullptr, twin = nullptr;
    cudaMemsetParams set = {};
    set.dst = memory;
    set.value = 0x01020304;
    set.elementSize = 4;
    set.width = N / 4;
    set.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    cudaHostNodeParams called = {count, &calls};
    OK(cudaGraphAddHostNode(&host, graph, &fill, 1, &called));
    OK(cudaGraphAddMemcpyNode1D(&part, graph, &fill, 1, memory + 8, memory, 1, cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddEmptyNode(&none, graph, nullptr, 0));
    cudaGraphNode_t stranger = nullptr;
    CODE(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&twin, graph, &stranger, 1));
    cudaGraphNode_t from[] = {host, part}, to[] = {none, none};
    OK(cudaGraphAddDependencies(graph, from, to, nullptr, 2));
    CODE(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, from, to, nullptr, 1));
    cudaGraphNode_t found[4] = {};
    size_t room = 4;
    OK(cudaGraphGetNodes(graph, found, &room));
    EXPECT(room == 4 && found[0] == fill && found[3] == none);
    room = 1;
    OK(cudaGraphNodeGetDependencies(none, found, nullptr, &room));
    EXPECT(room == 1 && found[0] == host);
    room = 4;
    OK(cudaGraphGetRootNodes(graph, found, &room));
    EXPECT(room == 1 && found[0] == fill && found[1] == nullptr);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(part, &type));
    EXPECT(type == cudaGraphNodeTypeMemcpy);
    cudaMemsetParams seen = {};
    OK(cudaGraphMemsetNodeGetParams(fill, &seen));
    EXPECT(seen.dst == memory && seen.value == set.value && seen.width == N / 4);
    CODE(cudaErrorInvalidValue, cudaGraphMemsetNodeGetParams(host, &seen));
    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphNodeFindInClone(&twin, fill, copy));
    EXPECT(twin != fill);
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    cudaStream_t s = stream();
    OK(cudaGraphLaunch(exec, s));
    EXPECT(byte_at(memory) == 4 && byte_at(memory + 3) == 1 && byte_at(memory + 8) == 4 && calls == 1);
    // One node of the executable graph, then all of them after another graph's.
    set.value = 0x01020305;
    OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
    OK(cudaGraphNodeSetEnabled(exec, part, 0));
    OK(cudaGraphLaunch(exec, s));
    EXPECT(byte_at(memory) == 5 && byte_at(memory + 8) == 5);
    set.value = 0x01020306;
    OK(cudaGraphMemsetNodeSetParams(twin, &set));
    cudaGraphExecUpdateResultInfo result;
    OK(cudaGraphExecUpdate(exec, copy, &result));
    OK(cudaGraphLaunch(exec, s));
    EXPECT(byte_at(memory) == 6 && calls == 3);
    OK(cudaGraphDestroyNode(twin));
    CODE(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, copy, &result));
    EXPECT(result.result == cudaGraphExecUpdateErrorTopologyChanged);
    // A cycle cannot be instantiated.
    cudaGraphNode_t back[] = {none}, first[] = {fill};
    OK(cudaGraphAddDependencies(graph, back, first, nullptr, 1));
    CODE(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    CODE(cudaErrorInvalidValue, cudaGraphDestroy(graph));
}

// Launches of one executable graph do not overlap, whatever their streams; a child graph runs in its place.
void launches() {
    auto *memory = device(N);
    cudaGraph_t inner = nullptr, graph = nullptr, owned = nullptr;
    OK(cudaGraphCreate(&inner, 0));
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t node = nullptr, before = nullptr, child = nullptr;
    OK(cudaGraphAddMemcpyNode1D(&node, inner, nullptr, 0, memory + 1, memory, 1, cudaMemcpyDeviceToDevice));
    cudaMemsetParams set = {};
    set.dst = memory;
    set.value = 9;
    set.elementSize = 1;
    set.width = 1;
    set.height = 1;
    OK(cudaGraphAddMemsetNode(&before, graph, nullptr, 0, &set));
    OK(cudaGraphAddChildGraphNode(&child, graph, &before, 1, inner));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, &child, 1, memory + 2, memory + 1, 1, cudaMemcpyDeviceToDevice));
    OK(cudaGraphChildGraphNodeGetGraph(child, &owned));
    CODE(cudaErrorInvalidValue, cudaGraphDestroy(owned));
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphUpload(exec, stream()));
    cudaStream_t a = stream(), b = stream();
    Gate gate;
    gate.close(a);
    OK(cudaGraphLaunch(exec, a));
    OK(cudaGraphLaunch(exec, b));
    gate.reached();
    CODE(cudaErrorNotReady, cudaStreamQuery(b));
    gate.open();
    OK(cudaStreamSynchronize(b));
    EXPECT(byte_at(memory + 2) == 9);
}

// The destructor of a user object runs when no graph needs it any more, and not before its last launch is
// over.
void user_objects() {
    std::atomic<int> ends{0};
    cudaUserObject_t object = nullptr;
    OK(cudaUserObjectCreate(&object, &ends, count, 1, cudaUserObjectNoDestructorSync));
    cudaGraph_t graph = nullptr;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    cudaGraphExec_t exec = nullptr;
    cudaGraph_t copy = nullptr;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphClone(&copy, graph));
    OK(cudaGraphDestroy(graph));
    cudaStream_t s = stream();
    Gate gate;
    gate.close(s);
    OK(cudaGraphLaunch(exec, s));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(copy));
    gate.reached();
    EXPECT(ends == 0);
    gate.open();
    OK(cudaDeviceSynchronize());
    // The runtime calls the function when it gets to it.
    while (ends == 0) std::this_thread::yield();
    EXPECT(ends == 1);
}

const std::map<std::string, void (*)()> cases = {
    {"capture", capture}, {"fork_join", fork_join}, {"into", into},
    {"rules", rules},     {"built", built},         {"launches", launches},
    {"user_objects", user_objects},
};

}  // namespace

int main(int argc, char **argv) {
    auto found = argc == 2 ? cases.find(argv[1]) : cases.end();
    if (found == cases.end()) {
        std::fprintf(stderr, "usage: graph CASE\n");
        return 2;
    }
    found->second();
    return 0;
}
