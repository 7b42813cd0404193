// Large copies: the C++ side of that part of `ci/bench`. The Rust side is `examples/bench/bandwidth --serve`.
//
//     transfer [--size BYTES]     "512MiB", "64KiB" or a number
//
// Prints a description of the machine. Then it answers every line "CASE COPIES SAMPLES" of standard input
// with the rate in GB/s: the median of SAMPLES samples of COPIES copies each between two events, after
// four copies that do not count. A kernel of one thread holds the stream until all copies are enqueued.
#include "../../check.cuh"
#include "gate.cuh"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

const unsigned warmups = 4;

size_t parse(const std::string& text) {
    size_t end = 0;
    const size_t number = std::stoull(text, &end);
    const std::string unit = text.substr(end);
    if (unit == "GiB") return number << 30;
    if (unit == "MiB") return number << 20;
    if (unit == "KiB") return number << 10;
    EXPECT(unit.empty());
    return number;
}

double rate(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, unsigned copies, unsigned samples) {
    cudaStream_t stream;
    cudaEvent_t start, end;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    volatile unsigned* flag;
    CHECK(cudaHostAlloc((void**)&flag, sizeof(unsigned), cudaHostAllocMapped | cudaHostAllocPortable));
    std::vector<double> rates;
    for (unsigned sample = 0; sample < samples; ++sample) {
        *flag = 0;
        gate<<<1, 1, 0, stream>>>(flag);
        CHECK(cudaGetLastError());
        for (unsigned i = 0; i < warmups; ++i) CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
        CHECK(cudaEventRecord(start, stream));
        for (unsigned i = 0; i < copies; ++i) CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
        CHECK(cudaEventRecord(end, stream));
        *flag = 1;
        CHECK(cudaStreamSynchronize(stream));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        rates.push_back(double(bytes) * copies / (double(ms) / 1e3) / 1e9);
    }
    CHECK(cudaFreeHost((void*)flag));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaStreamDestroy(stream));
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    size_t bytes = size_t{512} << 20;
    for (int i = 1; i < argc; ++i) {
        EXPECT(std::strcmp(argv[i], "--size") == 0 && i + 1 < argc);
        bytes = parse(argv[++i]);
    }
    EXPECT(bytes > 0);
    cudaDeviceProp properties;
    int driver, runtime;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, gate));  // loads the kernel

    std::cout << properties.name << "; runtime " << runtime / 1000 << '.' << runtime % 1000 / 10 << ", driver for "
              << driver / 1000 << '.' << driver % 1000 / 10 << std::endl;
    std::string name;
    unsigned copies, samples;
    while (std::cin >> name >> copies >> samples) {
        EXPECT(copies > 0 && samples > 0);
        unsigned char *device, *other;
        CHECK(cudaMalloc(&device, bytes));
        CHECK(cudaMemset(device, 0, bytes));
        double found = 0.0;
        if (name == "device_local") {
            CHECK(cudaMalloc(&other, bytes));
            CHECK(cudaDeviceSynchronize());
            found = rate(other, device, bytes, cudaMemcpyDeviceToDevice, copies, samples);
            CHECK(cudaFree(other));
        } else {
            EXPECT(name == "h2d" || name == "d2h");
            CHECK(cudaHostAlloc((void**)&other, bytes, cudaHostAllocPortable));
            std::memset(other, 1, bytes);
            CHECK(cudaDeviceSynchronize());
            found = name == "h2d" ? rate(device, other, bytes, cudaMemcpyHostToDevice, copies, samples)
                                  : rate(other, device, bytes, cudaMemcpyDeviceToHost, copies, samples);
            CHECK(cudaFreeHost(other));
        }
        CHECK(cudaFree(device));
        std::cout << found << std::endl;
    }
}
