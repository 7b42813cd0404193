// What each operation costs the host: the C++ side of `ci/bench`.
//
// Says what it runs on, then answers every line "OPERATION CALLS BATCHES" of standard input with the nanoseconds that one
// call takes: the median over the batches, each of so many calls, after one batch that is not counted.
#include "../../check.cuh"
#include "vector.cuh"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

const size_t bytes = 4096, mebibyte = size_t{1} << 20;

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

void CUDART_CB count_up(void* counter) { static_cast<std::atomic<unsigned>*>(counter)->fetch_add(1); }

}  // namespace

int main() {
    cudaDeviceProp properties;
    int driver, runtime;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));

    cudaStream_t stream;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventRecord(event, stream));
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
        {"h2d_pageable", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpy(a, pageable.data(), bytes, cudaMemcpyHostToDevice)); });
         }},
        {"d2h_pageable", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpy(pageable.data(), a, bytes, cudaMemcpyDeviceToHost)); });
         }},
        {"d2d", [&](Plan plan) {
             return time(plan, [&] { CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream)); });
         }},
        {"memset", [&](Plan plan) { return time(plan, [&] { CHECK(cudaMemsetAsync(a, 0, bytes, stream)); }); }},
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

    CHECK(cudaFreeHost(pinned));
    for (float* buffer : {a, b, c}) CHECK(cudaFree(buffer));
    CHECK(cudaFree(numbers));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
}
