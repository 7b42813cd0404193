// A measuring program that answers questions, as in serve.rs: it prints a description of the machine. Then
// it answers every line "OPERATION CALLS BATCHES" of standard input with nanoseconds.
#pragma once

#include "../check.cuh"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

inline double nanoseconds(Clock::duration spent) { return std::chrono::duration<double, std::nano>(spent).count(); }

// The size of the measurement for one answer: the calls of a batch, and the batches that count. One more
// comes before them.
struct Plan {
    unsigned calls, batches;

    // Returns the nanoseconds of one of many calls.
    template <typename Call>
    double time(Call call) const {
        return time_batches(calls, [&] {
            const auto start = Clock::now();
            for (unsigned i = 0; i < calls; ++i) call();
            return Clock::now() - start;
        });
    }

    // Returns the nanoseconds of one of the operations of a batch, which measures itself. The device is idle
    // before each batch.
    template <typename Batch>
    double time_batches(unsigned operations, Batch batch) const {
        std::vector<double> times;
        for (unsigned at = 0; at <= batches; ++at) {
            CHECK(cudaDeviceSynchronize());
            const Clock::duration spent = batch();
            if (at > 0) times.push_back(nanoseconds(spent) / operations);
        }
        CHECK(cudaDeviceSynchronize());
        std::sort(times.begin(), times.end());
        return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    }
};

template <typename Measure>
void serve(Measure measure) {
    cudaDeviceProp properties;
    int driver, runtime;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    std::cout << properties.name << "; runtime " << runtime / 1000 << '.' << runtime % 1000 / 10 << ", driver for "
              << driver / 1000 << '.' << driver % 1000 / 10 << std::endl;
    std::string operation;
    Plan plan;
    while (std::cin >> operation >> plan.calls >> plan.batches) {
        EXPECT(plan.calls > 0 && plan.batches > 0);
        std::cout << measure(operation, plan) << std::endl;
    }
}
