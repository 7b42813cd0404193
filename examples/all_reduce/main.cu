// Adds the vectors of all GPUs with NCCL.
//
// One process has all GPUs of the machine. Started by `launch N all_reduce`, each process has one, and NCCL
// finds the others at the address of rank 0. With NCCL_MULTI_RANK_GPU_ENABLE=1, which NCCL 2.32 knows, a
// single GPU has two ranks. `all_reduce bandwidth` prints a table of bus bandwidth, by the formula of
// nccl-tests.
// ci/twins links it with: nccl
#include "../check.cuh"

#include <cstring>
#include <string>
#include <vector>

#ifndef HAVE_NCCL
int main() {
    std::fprintf(stderr, "not run: no NCCL\n");
    return 77;
}
#else
#include <nccl.h>

#define NCCL(call)                                                                                                   \
    do {                                                                                                             \
        const ncclResult_t nccl_result = (call);                                                                     \
        if (nccl_result != ncclSuccess) {                                                                            \
            std::fprintf(stderr, "%s:%d: %s: %s (%d): %s\n", __FILE__, __LINE__, #call,                              \
                         ncclGetErrorString(nccl_result), int(nccl_result), ncclGetLastError(nullptr));              \
            std::exit(EXIT_FAILURE);                                                                                 \
        }                                                                                                            \
    } while (false)

static std::vector<ncclComm_t> comms;
static std::vector<cudaStream_t> streams;
static std::vector<int> devices;

// Adds the vectors of all ranks in place.
static void add(const std::vector<float*>& vectors, size_t count) {
    NCCL(ncclGroupStart());
    for (size_t i = 0; i < comms.size(); ++i) {
        NCCL(ncclAllReduce(vectors[i], vectors[i], count, ncclFloat, ncclSum, comms[i], streams[i]));
    }
    NCCL(ncclGroupEnd());
}

static void bandwidth(int size, bool is_first) {
    const int turns = 20;
    if (is_first) std::printf("%12s %10s %10s\n", "bytes", "us", "GB/s");
    for (int power = 20; power <= 28; power += 2) {
        const size_t bytes = size_t(1) << power, count = bytes / sizeof(float);
        std::vector<float*> vectors(comms.size());
        for (size_t i = 0; i < comms.size(); ++i) {
            CHECK(cudaSetDevice(devices[i]));
            CHECK(cudaMalloc(&vectors[i], bytes));
            CHECK(cudaMemset(vectors[i], 0, bytes));
            CHECK(cudaDeviceSynchronize());
        }
        CHECK(cudaSetDevice(devices[0]));
        cudaEvent_t start, stop;
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        for (int i = 0; i < 3; ++i) add(vectors, count);
        CHECK(cudaEventRecord(start, streams[0]));
        for (int i = 0; i < turns; ++i) add(vectors, count);
        CHECK(cudaEventRecord(stop, streams[0]));
        CHECK(cudaEventSynchronize(stop));
        float milliseconds = 0;
        CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
        const double seconds = double(milliseconds) / 1e3 / turns;
        const double bus = double(bytes) / seconds * 2.0 * (size - 1.0) / size;
        if (is_first) std::printf("%12zu %10.1f %10.2f\n", bytes, seconds * 1e6, bus / 1e9);
        CHECK(cudaEventDestroy(start));
        CHECK(cudaEventDestroy(stop));
        for (float* vector : vectors) CHECK(cudaFree(vector));
    }
}

int main(int argc, char** argv) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    if (std::strncmp(properties.name, "CUDA emulator", 13) == 0) {
        std::fprintf(stderr, "not run: no GPU\n");
        return 77;
    }
    int first = 0, size = 0;
    if (const char* rank = std::getenv("RANK")) {
        first = std::atoi(rank), size = std::atoi(std::getenv("WORLD_SIZE"));
        devices = {std::atoi(std::getenv("LOCAL_RANK"))};
        const std::string master = std::string(std::getenv("MASTER_ADDR")) + ":" + std::getenv("MASTER_PORT");
        setenv("NCCL_COMM_ID", master.c_str(), 1);
        CHECK(cudaSetDevice(devices[0]));
        ncclUniqueId id;
        NCCL(ncclGetUniqueId(&id));
        comms.resize(1);
        NCCL(ncclCommInitRank(&comms[0], size, id, first));
    } else {
        CHECK(cudaGetDeviceCount(&size));
        for (int i = 0; i < size; ++i) devices.push_back(i);
        if (size == 1 && std::getenv("NCCL_MULTI_RANK_GPU_ENABLE")) devices.push_back(0), size = 2;
        comms.resize(size);
        NCCL(ncclCommInitAll(comms.data(), size, devices.data()));
    }
    for (int device : devices) {
        streams.emplace_back();
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreateWithFlags(&streams.back(), cudaStreamNonBlocking));
    }

    if (argc > 1 && std::strcmp(argv[1], "bandwidth") == 0) {
        bandwidth(size, first == 0);
    } else {
        const size_t n = 1 << 16, bytes = n * sizeof(float);
        std::vector<float*> vectors(comms.size());
        std::vector<float> values(n), sums(n);
        for (size_t i = 0; i < comms.size(); ++i) {
            for (size_t at = 0; at < n; ++at) values[at] = float(first + i + at % 1000);
            CHECK(cudaSetDevice(devices[i]));
            CHECK(cudaMalloc(&vectors[i], bytes));
            CHECK(cudaMemcpy(vectors[i], values.data(), bytes, cudaMemcpyHostToDevice));
            CHECK(cudaDeviceSynchronize());
        }
        add(vectors, n);
        for (cudaStream_t stream : streams) CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(sums.data(), vectors[0], bytes, cudaMemcpyDeviceToHost));
        bool same = true;
        for (float* vector : vectors) {
            CHECK(cudaMemcpy(values.data(), vector, bytes, cudaMemcpyDeviceToHost));
            same = same && values == sums;
        }
        if (first == 0) {
            std::printf("%d ranks: the sums begin %g, %g, %g\n", size, sums[0], sums[1], sums[2]);
            std::printf("every rank of this process has them: %s\n", yes_no(same));
        }
        for (float* vector : vectors) CHECK(cudaFree(vector));
    }
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    for (ncclComm_t comm : comms) NCCL(ncclCommDestroy(comm));
    return EXIT_SUCCESS;
}
#endif
