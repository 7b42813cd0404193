// What each operation costs the host: the C++ side of `ci/bench`.
//
// Says what it runs on, then answers every line "OPERATION CALLS BATCHES" of standard input with the nanoseconds that one
// call takes: the median over the batches, each of so many calls, after one batch that is not counted.
#include "../../check.cuh"
#include "vector.cuh"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

const size_t bytes = 4096, mebibyte = size_t{1} << 20;

// Rows of planes and volumes, and what one begins after another.
const size_t row = 128, pitch = 256, rows = 16, layer_rows = 4, layers = 4;

// Copies of a batch, their bytes, and what one begins after another.
const size_t copies = 64, small = 32, apart = 64;

struct Plan {
    unsigned calls, batches;
};

// The calls are a template's argument and not a std::function, so that the compiler sees into them.
template <typename Call>
double time(Plan plan, Call call) {
    std::vector<double> times;
    for (unsigned batch = 0; batch <= plan.batches; ++batch) {
        CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        for (unsigned i = 0; i < plan.calls; ++i) call();
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        if (batch > 0) times.push_back(spent.count() / plan.calls);
    }
    CHECK(cudaDeviceSynchronize());
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

cudaMemcpy3DParms volume(float* to, float* from) {
    cudaMemcpy3DParms parameters = {};
    parameters.dstPtr = make_cudaPitchedPtr(to, pitch, row, layer_rows);
    parameters.srcPtr = make_cudaPitchedPtr(from, pitch, row, layer_rows);
    parameters.extent = make_cudaExtent(row, layer_rows, layers);
    parameters.kind = cudaMemcpyDeviceToDevice;
    return parameters;
}

// A batch whose lists are made once.
struct Batch {
    std::vector<void*> to;
    std::vector<void*> from;
    std::vector<size_t> sizes;
    cudaMemcpyKind kind;

    Batch(float* destination, float* source, cudaMemcpyKind kind) : sizes(copies, small), kind(kind) {
        for (size_t i = 0; i < copies; ++i) {
            to.push_back(reinterpret_cast<char*>(destination) + i * apart);
            from.push_back(reinterpret_cast<char*>(source) + i * apart);
        }
    }

    void enqueue(cudaStream_t stream) {
#if CUDART_VERSION >= 12080
        cudaMemcpyAttributes attributes = {};
        attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        size_t start = 0;
#if CUDART_VERSION >= 13000
        CHECK(cudaMemcpyBatchAsync(to.data(), const_cast<const void**>(from.data()), sizes.data(), copies, &attributes, &start, 1,
                                   stream));
#else
        size_t failed = 0;
        CHECK(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), copies, &attributes, &start, 1, &failed, stream));
#endif
#else
        for (size_t i = 0; i < copies; ++i) CHECK(cudaMemcpyAsync(to[i], from[i], sizes[i], kind, stream));
#endif
    }
};

void CUDART_CB count_up(void* counter) { static_cast<std::atomic<unsigned>*>(counter)->fetch_add(1); }

}  // namespace

int main() {
    cudaDeviceProp properties;
    int driver, runtime;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));

    cudaStream_t stream, second;
    cudaEvent_t event, other;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    int* numbers;
    float *a, *b, *c, *pinned;
    CHECK(cudaMalloc(&numbers, bytes));
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&c, bytes));
    CHECK(cudaMallocHost(&pinned, bytes));
    CHECK(cudaMemset(a, 0, bytes));
    std::fill_n(pinned, bytes / sizeof(float), 0.0f);
    std::vector<float> pageable(bytes / sizeof(float));
    std::atomic<unsigned> counter{0};
    cudaMemPool_t pool;
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &wanted));
    uint64_t keep = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    const cudaMemcpy3DParms parameters = volume(b, a);
    Batch batch(b, pinned, cudaMemcpyHostToDevice);
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice, stream));
    add_one<<<1, 32, 0, stream>>>(numbers, 0);
    CHECK(cudaMemcpyAsync(pinned, a, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    const auto in_turn = [&] {
        CHECK(cudaMemsetAsync(a, 0, bytes, stream));
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaStreamWaitEvent(second, event, 0));
        CHECK(cudaMemsetAsync(a, 0, bytes, second));
        CHECK(cudaEventRecord(other, second));
        CHECK(cudaStreamWaitEvent(stream, other, 0));
    };
    const std::map<std::string, std::function<double(Plan)>> operations = {
        {"launch_two", [&](Plan plan) {
             return time(plan, [&] {
                 add_one<<<1, 32, 0, stream>>>(numbers, 0);
                 CHECK(cudaGetLastError());
             });
         }},
        {"launch_three", [&](Plan plan) {
             return time(plan, [&] {
                 vector_add<<<1, 32, 0, stream>>>(a, b, c, 0);
                 CHECK(cudaGetLastError());
             });
         }},
        {"event_record", [&](Plan plan) { return time(plan, [&] { CHECK(cudaEventRecord(event, stream)); }); }},
        {"event_query", [&](Plan plan) { return time(plan, [&] { CHECK(cudaEventQuery(event)); }); }},
        {"event_create", [&](Plan plan) {
             return time(plan, [&] {
                 cudaEvent_t created;
                 CHECK(cudaEventCreateWithFlags(&created, cudaEventDisableTiming));
                 CHECK(cudaEventDestroy(created));
             });
         }},
        {"synchronise", [&](Plan plan) { return time(plan, [&] { CHECK(cudaStreamSynchronize(stream)); }); }},
        {"host_function", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaLaunchHostFunc(stream, count_up, &counter)); });
         }},
        {"alloc_async", [&](Plan plan) {
             return time(plan, [&] {
                 float* pointer;
                 CHECK(cudaMallocAsync(&pointer, bytes, stream));
                 CHECK(cudaFreeAsync(pointer, stream));
             });
         }},
        {"alloc_pool", [&](Plan plan) {
             return time(plan, [&] {
                 float* pointer;
                 CHECK(cudaMallocFromPoolAsync(&pointer, bytes, pool, stream));
                 CHECK(cudaFreeAsync(pointer, stream));
             });
         }},
        {"alloc", [&](Plan plan) {
             return time(plan, [&] {
                 float* pointer;
                 CHECK(cudaMalloc(&pointer, mebibyte));
                 CHECK(cudaFree(pointer));
             });
         }},
        {"h2d_pinned", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice, stream)); });
         }},
        {"h2d_scope", [&](Plan plan) {
             return time(plan, [&] {
                 CHECK(cudaMemcpyAsync(a, pageable.data(), bytes, cudaMemcpyHostToDevice, stream));
             });
         }},
        {"h2d_pageable", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpy(a, pageable.data(), bytes, cudaMemcpyHostToDevice)); });
         }},
        {"d2h_pageable", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpy(pageable.data(), a, bytes, cudaMemcpyDeviceToHost)); });
         }},
        {"d2d", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream)); });
         }},
        {"plane", [&](Plan plan) {
             return time(plan, [&] {
                 CHECK(cudaMemcpy2DAsync(b, pitch, a, pitch, row, rows, cudaMemcpyDeviceToDevice, stream));
             });
         }},
        {"plane_pinned", [&](Plan plan) {
             return time(plan, [&] {
                 CHECK(cudaMemcpy2DAsync(a, pitch, pinned, pitch, row, rows, cudaMemcpyHostToDevice, stream));
             });
         }},
        {"volume", [&](Plan plan) { return time(plan, [&] { CHECK(cudaMemcpy3DAsync(&parameters, stream)); }); }},
        {"batch", [&](Plan plan) { return time(plan, [&] { batch.enqueue(stream); }); }},
        {"memset", [&](Plan plan) { return time(plan, [&] { CHECK(cudaMemsetAsync(a, 0, bytes, stream)); }); }},
        {"graph", [&](Plan plan) { return time(plan, [&] { CHECK(cudaGraphLaunch(exec, stream)); }); }},
        {"switch", [&](Plan plan) { return time(plan, in_turn); }},
        {"switch_by_hand", [&](Plan plan) { return time(plan, in_turn); }},
        {"round_trip", [&](Plan plan) {
             return time(plan, [&] {
                 CHECK(cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice, stream));
                 CHECK(cudaMemcpyAsync(pinned, a, bytes, cudaMemcpyDeviceToHost, stream));
                 CHECK(cudaStreamSynchronize(stream));
             });
         }},
    };

    std::cout << properties.name << "; runtime " << runtime / 1000 << '.' << runtime % 1000 / 10 << ", driver for "
              << driver / 1000 << '.' << driver % 1000 / 10 << std::endl;
    std::string operation;
    Plan plan;
    while (std::cin >> operation >> plan.calls >> plan.batches) {
        const auto found = operations.find(operation);
        EXPECT(found != operations.end() && plan.calls > 0 && plan.batches > 0);
        std::cout << found->second(plan) << std::endl;
    }

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaFreeHost(pinned));
    for (float* buffer : {a, b, c}) CHECK(cudaFree(buffer));
    CHECK(cudaFree(numbers));
    for (cudaEvent_t each : {event, other}) CHECK(cudaEventDestroy(each));
    for (cudaStream_t each : {stream, second}) CHECK(cudaStreamDestroy(each));
}
