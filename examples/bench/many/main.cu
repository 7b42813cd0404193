// Many small copies: the C++ side of that part of `ci/bench`.
//
// Prints a description of the machine. Then it answers every line "OPERATION CALLS BATCHES" of standard
// input with the nanoseconds that 64 copies take until all have arrived: the median over BATCHES batches
// of CALLS rounds each, after one batch that does not count. An operation is a direction, a method and
// the bytes of a copy: "h2d_loop_4096", "d2h_batch_256", "d2d_kernel_65536".
#include "../serve.cuh"
#include "copy_many.cuh"

namespace {

const size_t copies = 64, largest = 65536;

// 64 parts of the same size, with gaps of that size.
struct Places {
    std::vector<unsigned char*> at;
    Places(unsigned char* start, size_t bytes) {
        for (size_t i = 0; i < copies; ++i) at.push_back(start + 2 * i * bytes);
    }
};

void loop(const Places& to, const Places& from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    for (size_t i = 0; i < copies; ++i) CHECK(cudaMemcpyAsync(to.at[i], from.at[i], bytes, kind, stream));
}

void batch(const Places& to, const Places& from, size_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    std::vector<void*> destinations(to.at.begin(), to.at.end());
    std::vector<const void*> sources(from.at.begin(), from.at.end());
    const std::vector<size_t> sizes(copies, bytes);
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t start = 0;
    CHECK(cudaMemcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), copies, &attributes, &start, 1, stream));
#elif CUDART_VERSION >= 12080
    std::vector<void*> destinations(to.at.begin(), to.at.end()), sources(from.at.begin(), from.at.end());
    std::vector<size_t> sizes(copies, bytes);
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t start = 0, failed = 0;
    CHECK(cudaMemcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), copies, &attributes, &start, 1, &failed,
                               stream));
#else
    loop(to, from, bytes, cudaMemcpyDefault, stream);
#endif
}

// All addresses are aligned, so chunks are counted from the first byte.
void kernel(const Places& to, const Places& from, size_t bytes, cudaStream_t stream) {
    CopyManySmall table;
    unsigned chunks = 0;
    for (size_t i = 0; i < copies; ++i) {
        table.ranges[i] = {from.at[i], to.at[i], bytes};
        chunks += unsigned((bytes + COPY_MANY_CHUNK - 1) / COPY_MANY_CHUNK);
        table.ends[i] = chunks;
    }
    copy_many_small<<<chunks, COPY_MANY_THREADS, 0, stream>>>(table, unsigned(copies));
    CHECK(cudaGetLastError());
}

}  // namespace

int main() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned char *a, *b, *host;
    CHECK(cudaMalloc(&a, 2 * copies * largest));
    CHECK(cudaMalloc(&b, 2 * copies * largest));
    CHECK(cudaMallocHost(&host, 2 * copies * largest));
    CHECK(cudaMemset(a, 1, 2 * copies * largest));
    std::fill_n(host, 2 * copies * largest, static_cast<unsigned char>(2));

    serve([&](const std::string& operation, Plan plan) {
        EXPECT(operation.size() > 4);
        const size_t last = operation.rfind('_');
        const std::string direction = operation.substr(0, 3), way = operation.substr(4, last - 4);
        const size_t bytes = std::stoul(operation.substr(last + 1));
        EXPECT(bytes > 0 && bytes <= largest && bytes % COPY_MANY_ALIGN == 0);
        const Places to(direction == "d2h" ? host : b, bytes), from(direction == "h2d" ? host : a, bytes);
        const cudaMemcpyKind kind = direction == "h2d"   ? cudaMemcpyHostToDevice
                                    : direction == "d2h" ? cudaMemcpyDeviceToHost
                                                         : cudaMemcpyDeviceToDevice;
        const auto once = [&] {
            if (way == "loop") {
                loop(to, from, bytes, kind, stream);
            } else if (way == "batch") {
                batch(to, from, bytes, stream);
            } else {
                EXPECT(way == "kernel");
                kernel(to, from, bytes, stream);
            }
            CHECK(cudaStreamSynchronize(stream));
        };
        return plan.time(once);
    });

    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaStreamDestroy(stream));
}
