// The bandwidth of device memory, measured with five kernels.
//
//     stream_triad [--arraysize N] [--numtimes N] [--csv | --no-times]
//
// The sizes and the report are those of BabelStream. Each iteration runs the five kernels. The host's
// clock times each kernel, and the first iteration does not count. A kernel's rate is that of its best
// time. The arrays are checked at the end. "no-times" leaves out the values that vary from run to run.
// ci/compare runs it with: --arraysize 8192 --numtimes 4 --no-times
#include "../check.cuh"
#include "stream.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

const double start_a = 0.1, start_b = 0.2, start_c = 0.0;

struct Kernel {
    const char* name;
    double arrays;  // the number of arrays that it reads or writes
    std::vector<double> times;
};

template <typename Run>
double seconds(Run run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Returns the mean distance of the elements from the expected value.
double error_of(const std::vector<double>& elements, double expected) {
    double sum = 0.0;
    for (double element : elements) sum += std::fabs(element - expected);
    return sum / double(elements.size());
}

}  // namespace

int main(int argc, char** argv) {
    size_t size = size_t{1} << 25, iterations = 100;
    bool csv = false, no_times = false;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--csv") {
            csv = true;
        } else if (argument == "--no-times") {
            no_times = true;
        } else if (argument == "--arraysize" && i + 1 < argc) {
            size = std::strtoull(argv[++i], nullptr, 10);
        } else if (argument == "--numtimes" && i + 1 < argc) {
            iterations = std::strtoull(argv[++i], nullptr, 10);
        } else {
            std::fprintf(stderr, "stream_triad [--arraysize N] [--numtimes N] [--csv | --no-times]\n");
            return 2;
        }
    }
    EXPECT(size > 0 && size % STREAM_THREADS == 0 && size < (size_t{1} << 32) && iterations >= 2);

    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    const double megabytes = double(size * sizeof(double)) * 1e-6;
    if (!csv) {
        std::printf("Five kernels %zu times on %s\n", iterations, properties.name);
        std::printf("Precision: double\n");
        std::printf("Array size: %.1f MB, of three arrays: %.1f MB\n", megabytes, 3.0 * megabytes);
    }

    double *a, *b, *c, *d_sums;
    const unsigned blocks = unsigned(size / STREAM_THREADS), dot_blocks = unsigned(properties.multiProcessorCount) * 4;
    CHECK(cudaMalloc(&a, size * sizeof(double)));
    CHECK(cudaMalloc(&b, size * sizeof(double)));
    CHECK(cudaMalloc(&c, size * sizeof(double)));
    CHECK(cudaMalloc(&d_sums, dot_blocks * sizeof(double)));
    std::vector<double> sums(dot_blocks);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_init<<<blocks, STREAM_THREADS, 0, stream>>>(a, b, c, start_a, start_b, start_c);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));

    std::vector<Kernel> kernels = {{"Copy", 2, {}}, {"Mul", 2, {}}, {"Add", 3, {}}, {"Triad", 3, {}}, {"Dot", 2, {}}};
    double dot = 0.0;
    for (size_t i = 0; i < iterations; ++i) {
        kernels[0].times.push_back(seconds([&] {
            stream_copy<<<blocks, STREAM_THREADS, 0, stream>>>(a, c);
            CHECK(cudaGetLastError());
            CHECK(cudaStreamSynchronize(stream));
        }));
        kernels[1].times.push_back(seconds([&] {
            stream_mul<<<blocks, STREAM_THREADS, 0, stream>>>(b, c);
            CHECK(cudaGetLastError());
            CHECK(cudaStreamSynchronize(stream));
        }));
        kernels[2].times.push_back(seconds([&] {
            stream_add<<<blocks, STREAM_THREADS, 0, stream>>>(a, b, c);
            CHECK(cudaGetLastError());
            CHECK(cudaStreamSynchronize(stream));
        }));
        kernels[3].times.push_back(seconds([&] {
            stream_triad<<<blocks, STREAM_THREADS, 0, stream>>>(a, b, c);
            CHECK(cudaGetLastError());
            CHECK(cudaStreamSynchronize(stream));
        }));
        kernels[4].times.push_back(seconds([&] {
            stream_dot<<<dot_blocks, STREAM_THREADS, 0, stream>>>(a, b, d_sums, unsigned(size));
            CHECK(cudaGetLastError());
            CHECK(cudaStreamSynchronize(stream));
            CHECK(cudaMemcpy(sums.data(), d_sums, dot_blocks * sizeof(double), cudaMemcpyDeviceToHost));
            dot = 0.0;
            for (double sum : sums) dot += sum;
        }));
    }

    // Computes the same with three numbers.
    double in_a = start_a, in_b = start_b, in_c = start_c;
    for (size_t i = 0; i < iterations; ++i) {
        in_c = in_a;
        in_b = STREAM_SCALAR * in_c;
        in_c = in_a + in_b;
        in_a = in_b + STREAM_SCALAR * in_c;
    }
    const double epsilon = std::numeric_limits<double>::epsilon() * 100.0;
    const double in_dot = in_a * in_b * double(size);
    bool right = true;
    std::vector<double> host(size);
    const struct {
        const char* name;
        double* device;
        double expected;
    } arrays[] = {{"a", a, in_a}, {"b", b, in_b}, {"c", c, in_c}};
    for (const auto& array : arrays) {
        CHECK(cudaMemcpy(host.data(), array.device, size * sizeof(double), cudaMemcpyDeviceToHost));
        const double error = error_of(host, array.expected);
        if (error > epsilon) {
            std::fprintf(stderr, "Validation failed on %s: average error %g\n", array.name, error);
            right = false;
        }
    }
    const double dot_error = std::fabs((dot - in_dot) / in_dot);
    if (dot_error > 1e-8) {
        std::fprintf(stderr, "Validation failed on the sum: error %g, sum %.15g, expected %.15g\n", dot_error, dot, in_dot);
        right = false;
    }

    if (csv) {
        std::printf("function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n");
    } else if (no_times) {
        std::printf("%-12s%s\n", "Function", "MBytes");
    } else {
        std::printf("%-12s%-12s%-12s%-12s%s\n", "Function", "MBytes/sec", "Min (sec)", "Max", "Average");
    }
    for (const Kernel& kernel : kernels) {
        const auto first = kernel.times.begin() + 1, last = kernel.times.end();
        const double least = *std::min_element(first, last), most = *std::max_element(first, last);
        double average = 0.0;
        for (auto time = first; time != last; ++time) average += *time / double(last - first);
        const double moved = kernel.arrays * megabytes;
        if (csv) {
            std::printf("%s,%zu,%zu,%zu,%.3f,%.9f,%.9f,%.9f\n", kernel.name, iterations, size, sizeof(double), moved / least,
                        least, most, average);
        } else if (no_times) {
            std::printf("%-12s%.3f\n", kernel.name, moved);
        } else {
            std::printf("%-12s%-12.3f%-12.5f%-12.5f%.5f\n", kernel.name, moved / least, least, most, average);
        }
    }
    if (!csv && right) std::printf("Validation passed: the arrays and the sum are right\n");

    CHECK(cudaStreamDestroy(stream));
    for (double* buffer : {a, b, c, d_sums}) CHECK(cudaFree(buffer));
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
