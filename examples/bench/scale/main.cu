// How costs grow: the C++ side of that part of `ci/bench`.
//
// Answers questions as serve.cuh describes. An operation is a case and a size: "threads_memset_16",
// "parts_8192". main.rs beside this file has the same cases.
#include "../serve.cuh"
#include "buffers.cu"
#include "vector.cuh"

#include <atomic>
#include <thread>

namespace {

const size_t elements = 1024, bytes = elements * sizeof(float), part = 64, small = 256, streamed = 4 << 20;
const unsigned threads_of_a_block = 32;

cudaStream_t new_stream() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

template <typename T>
T* new_buffer(size_t count) {
    T* buffer;
    CHECK(cudaMalloc(&buffer, count * sizeof(T)));
    return buffer;
}

// A stream and the memory that its operations write.
struct Own {
    cudaStream_t stream = new_stream();
    int* numbers = new_buffer<int>(elements);
    float* sums = new_buffer<float>(elements);

    void free() {
        CHECK(cudaFree(numbers));
        CHECK(cudaFree(sums));
        CHECK(cudaStreamDestroy(stream));
    }
};

void read_shared(const float* shared, Own& own) {
    vector_add<<<1, threads_of_a_block, 0, own.stream>>>(shared, shared, own.sums, threads_of_a_block);
    CHECK(cudaGetLastError());
}

// Waits until as many threads have come here.
void meet(std::atomic<unsigned>& arrived, unsigned expected) {
    arrived.fetch_add(1);
    while (arrived.load() < expected) std::this_thread::yield();
}

// Threads that make the same calls at the same time, each on its own stream. A batch takes from the start of
// the first thread to the end of the last one.
template <typename Call>
double threads(Plan plan, unsigned count, Call call) {
    using Span = std::pair<Clock::time_point, Clock::time_point>;
    std::vector<std::vector<Span>> spans(count);
    std::atomic<unsigned> arrived{0};
    std::vector<std::thread> running;
    for (std::vector<Span>& batches : spans) {
        running.emplace_back([&] {
            Own own;
            unsigned expected = 0;
            for (unsigned batch = 0; batch <= plan.batches; ++batch) {
                meet(arrived, expected += count);
                const auto start = Clock::now();
                for (unsigned i = 0; i < plan.calls; ++i) call(own);
                batches.emplace_back(start, Clock::now());
                meet(arrived, expected += count);
                CHECK(cudaStreamSynchronize(own.stream));
            }
            own.free();
        });
    }
    for (std::thread& thread : running) thread.join();
    unsigned batch = 0;
    return plan.time_batches(plan.calls * count, [&] {
        Span whole = spans[0][batch];
        for (const std::vector<Span>& batches : spans) {
            whole.first = std::min(whole.first, batches[batch].first);
            whole.second = std::max(whole.second, batches[batch].second);
        }
        ++batch;
        return whole.second - whole.first;
    });
}

double streams(Plan plan, unsigned count, const float* shared) {
    std::vector<Own> owns(count);
    size_t at = 0;
    const double time = plan.time([&] { read_shared(shared, owns[at++ % count]); });
    for (Own& own : owns) own.free();
    return time;
}

double parts(Plan plan, unsigned count) {
    std::vector<cudaStream_t> streams(8);
    for (cudaStream_t& stream : streams) stream = new_stream();
    unsigned char* buffer = new_buffer<unsigned char>(count * part);
    const unsigned rounds = std::max(1u, plan.calls / count);
    const double time = plan.time_batches(rounds * count, [&] {
        const auto start = Clock::now();
        for (unsigned round = 0; round < rounds; ++round) {
            for (unsigned i = 0; i < count; ++i) CHECK(cudaMemsetAsync(buffer + i * part, 0, part, streams[i % streams.size()]));
        }
        return Clock::now() - start;
    });
    CHECK(cudaFree(buffer));
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    return time;
}

cudaGraph_t chain(unsigned nodes, int* numbers) {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t last;
    for (unsigned i = 0; i < nodes; ++i) {
        unsigned count = threads_of_a_block;
        void* arguments[] = {&numbers, &count};
        cudaKernelNodeParams parameters = {};
        parameters.func = reinterpret_cast<void*>(add_one);
        parameters.gridDim = dim3(1);
        parameters.blockDim = dim3(threads_of_a_block);
        parameters.kernelParams = arguments;
        cudaGraphNode_t node;
        CHECK(cudaGraphAddKernelNode(&node, graph, i > 0 ? &last : nullptr, i > 0 ? 1 : 0, &parameters));
        last = node;
    }
    return graph;
}

double graph_chain(Plan plan, unsigned nodes, int* numbers) {
    return plan.time_batches(nodes, [&] {
        const auto start = Clock::now();
        const cudaGraph_t graph = chain(nodes, numbers);
        const auto spent = Clock::now() - start;
        CHECK(cudaGraphDestroy(graph));
        return spent;
    });
}

double graph_fills(Plan plan, unsigned nodes) {
    std::vector<unsigned char*> buffers(nodes);
    for (unsigned char*& buffer : buffers) buffer = new_buffer<unsigned char>(small);
    const double time = plan.time_batches(nodes, [&] {
        const auto start = Clock::now();
        cudaGraph_t graph;
        CHECK(cudaGraphCreate(&graph, 0));
        for (unsigned char* buffer : buffers) {
            cudaMemsetParams parameters = {};
            parameters.dst = buffer;
            parameters.elementSize = 1;
            parameters.width = small;
            parameters.height = 1;
            cudaGraphNode_t node;
            CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &parameters));
        }
        const auto spent = Clock::now() - start;
        CHECK(cudaGraphDestroy(graph));
        return spent;
    });
    for (unsigned char* buffer : buffers) CHECK(cudaFree(buffer));
    return time;
}

double graph_instantiate(Plan plan, unsigned nodes, int* numbers) {
    const cudaGraph_t graph = chain(nodes, numbers);
    const double time = plan.time_batches(nodes, [&] {
        const auto start = Clock::now();
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        const auto spent = Clock::now() - start;
        CHECK(cudaGraphExecDestroy(exec));
        return spent;
    });
    CHECK(cudaGraphDestroy(graph));
    return time;
}

double graph_launch(Plan plan, unsigned nodes, const Own& own) {
    const cudaGraph_t graph = chain(nodes, own.numbers);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    const double time = plan.time_batches(1, [&] {
        const auto start = Clock::now();
        CHECK(cudaGraphLaunch(exec, own.stream));
        return Clock::now() - start;
    });
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return time;
}

double buffers(Plan plan, unsigned count, cudaStream_t stream) {
    std::vector<int*> buffers(16);
    for (int*& buffer : buffers) buffer = new_buffer<int>(elements);
    int* const* b = buffers.data();
    const double time = plan.time([&] {
        if (count == 1) {
            add_one<<<1, 1, 0, stream>>>(b[0], 1);
        } else if (count == 4) {
            buffers_4<<<1, 1, 0, stream>>>(b[0], b[1], b[2], b[3]);
        } else {
            EXPECT(count == 16);
            buffers_16<<<1, 1, 0, stream>>>(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
                                                       b[11], b[12], b[13], b[14], b[15]);
        }
        CHECK(cudaGetLastError());
    });
    for (int* buffer : buffers) CHECK(cudaFree(buffer));
    return time;
}

double live(Plan plan, unsigned count, cudaMemPool_t pool, cudaStream_t stream) {
    const auto allocate = [&] {
        void* memory;
        CHECK(cudaMallocFromPoolAsync(&memory, small, pool, stream));
        return memory;
    };
    std::vector<void*> all(count);
    for (void*& memory : all) memory = allocate();
    const double time = plan.time([&] { CHECK(cudaFreeAsync(allocate(), stream)); });
    for (void* memory : all) CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaStreamSynchronize(stream));
    return time;
}

double from_slice(Plan plan, size_t size) {
    const std::vector<unsigned char> host(size, 1);
    return plan.time([&] {
        unsigned char* device = new_buffer<unsigned char>(size);
        CHECK(cudaMemcpy(device, host.data(), size, cudaMemcpyHostToDevice));
        CHECK(cudaFree(device));
    });
}

double to_vec(Plan plan, size_t size) {
    unsigned char* device = new_buffer<unsigned char>(size);
    CHECK(cudaMemset(device, 1, size));
    const double time = plan.time([&] {
        std::vector<unsigned char> host(size);
        CHECK(cudaMemcpy(host.data(), device, size, cudaMemcpyDeviceToHost));
    });
    CHECK(cudaFree(device));
    return time;
}

double scope(Plan plan, size_t size, cudaStream_t stream) {
    const std::vector<unsigned char> host(size, 1);
    unsigned char* device = new_buffer<unsigned char>(size);
    const double time = plan.time([&] {
        CHECK(cudaMemcpyAsync(device, host.data(), size, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
    });
    CHECK(cudaFree(device));
    return time;
}

double host(Plan plan, size_t size, cudaStream_t stream) {
    unsigned char* device = new_buffer<unsigned char>(size);
    CHECK(cudaMemset(device, 1, size));
    unsigned char* pinned;
    CHECK(cudaMallocHost(&pinned, size));
    const double time = plan.time([&] {
        CHECK(cudaMemcpyAsync(pinned, device, size, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(*static_cast<volatile unsigned char*>(pinned) == 1);
    });
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    return time;
}

// Brings an array through the device in chunks: three streams, four buffers, and events between the steps.
// The time of a chunk.
double pipeline(Plan plan, size_t bytes) {
    struct Buffer {
        int *in = nullptr, *out = nullptr;
        cudaEvent_t arrived = nullptr, computed = nullptr, returned = nullptr;
    };
    const size_t chunk = bytes / sizeof(int), chunks = streamed / bytes;
    int *in, *out;
    CHECK(cudaMallocHost(&in, streamed));
    CHECK(cudaMallocHost(&out, streamed));
    const cudaStream_t up = new_stream(), work = new_stream(), down = new_stream();
    std::vector<Buffer> buffers(4);
    for (Buffer& buffer : buffers) {
        buffer.in = new_buffer<int>(chunk);
        buffer.out = new_buffer<int>(chunk);
        for (cudaEvent_t* event : {&buffer.arrived, &buffer.computed, &buffer.returned}) {
            CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        }
    }
    const double time = plan.time_batches(unsigned(chunks), [&] {
        const auto start = Clock::now();
        for (size_t i = 0; i < chunks; ++i) {
            const Buffer& buffer = buffers[i % buffers.size()];
            CHECK(cudaStreamWaitEvent(up, buffer.computed, 0));
            CHECK(cudaMemcpyAsync(buffer.in, in + i * chunk, bytes, cudaMemcpyHostToDevice, up));
            CHECK(cudaEventRecord(buffer.arrived, up));
            CHECK(cudaStreamWaitEvent(work, buffer.arrived, 0));
            CHECK(cudaStreamWaitEvent(work, buffer.returned, 0));
            square<<<unsigned(chunk / 256), 256, 0, work>>>(buffer.in, buffer.out, unsigned(chunk));
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(buffer.computed, work));
            CHECK(cudaStreamWaitEvent(down, buffer.computed, 0));
            CHECK(cudaMemcpyAsync(out + i * chunk, buffer.out, bytes, cudaMemcpyDeviceToHost, down));
            CHECK(cudaEventRecord(buffer.returned, down));
        }
        CHECK(cudaStreamSynchronize(down));
        return Clock::now() - start;
    });
    for (Buffer& buffer : buffers) {
        CHECK(cudaFree(buffer.in));
        CHECK(cudaFree(buffer.out));
        for (cudaEvent_t event : {buffer.arrived, buffer.computed, buffer.returned}) CHECK(cudaEventDestroy(event));
    }
    for (cudaStream_t stream : {up, work, down}) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    return time;
}

// The objects that several cases use.
struct Scale {
    Own own;
    cudaMemPool_t pool = nullptr;
    float* shared = new_buffer<float>(elements);

    Scale() {
        CHECK(cudaMemset(shared, 0, bytes));
        cudaMemPoolProps properties = {};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        CHECK(cudaMemPoolCreate(&pool, &properties));
        cudaMemPool_t standard;
        CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
        for (cudaMemPool_t each : {pool, standard}) {
            uint64_t most = UINT64_MAX;
            CHECK(cudaMemPoolSetAttribute(each, cudaMemPoolAttrReleaseThreshold, &most));
        }
    }

    double measure(const std::string& name, unsigned size, Plan plan) {
        if (name == "threads_launch") {
            return threads(plan, size, [](Own& own) {
                add_one<<<1, threads_of_a_block, 0, own.stream>>>(own.numbers, threads_of_a_block);
                CHECK(cudaGetLastError());
            });
        }
        if (name == "threads_shared") return threads(plan, size, [this](Own& own) { read_shared(shared, own); });
        if (name == "threads_memset") {
            return threads(plan, size, [](Own& own) { CHECK(cudaMemsetAsync(own.numbers, 0, bytes, own.stream)); });
        }
        if (name == "threads_alloc") {
            return threads(plan, size, [](Own& own) {
                void* memory;
                CHECK(cudaMallocAsync(&memory, bytes, own.stream));
                CHECK(cudaFreeAsync(memory, own.stream));
            });
        }
        if (name == "streams") return streams(plan, size, shared);
        if (name == "parts") return parts(plan, size);
        if (name == "graph_chain") return graph_chain(plan, size, own.numbers);
        if (name == "graph_fills") return graph_fills(plan, size);
        if (name == "graph_instantiate") return graph_instantiate(plan, size, own.numbers);
        if (name == "graph_launch") return graph_launch(plan, size, own);
        if (name == "buffers") return buffers(plan, size, own.stream);
        if (name == "live") return live(plan, size, pool, own.stream);
        if (name == "from_slice") return from_slice(plan, size);
        if (name == "to_vec") return to_vec(plan, size);
        if (name == "scope") return scope(plan, size, own.stream);
        if (name == "host") return host(plan, size, own.stream);
        if (name == "pipeline") return pipeline(plan, size);
        if (name == "event") {
            return plan.time([] {
                cudaEvent_t event;
                CHECK(cudaEventCreate(&event));
                CHECK(cudaEventDestroy(event));
            });
        }
        if (name == "stream") {
            return plan.time([] {
                cudaStream_t stream;
                CHECK(cudaStreamCreate(&stream));
                CHECK(cudaStreamDestroy(stream));
            });
        }
        if (name == "pinned") {
            return plan.time([&] {
                void* memory;
                CHECK(cudaMallocHost(&memory, size));
                CHECK(cudaFreeHost(memory));
            });
        }
        EXPECT(name == "device");
        return plan.time([&] { CHECK(cudaFree(new_buffer<unsigned char>(size))); });
    }
};

}  // namespace

int main() {
    Scale scale;
    serve([&](const std::string& operation, Plan plan) {
        const size_t last = operation.rfind('_');
        EXPECT(last != std::string::npos);
        return scale.measure(operation.substr(0, last), unsigned(std::stoul(operation.substr(last + 1))), plan);
    });
    scale.own.free();
    CHECK(cudaFree(scale.shared));
    CHECK(cudaMemPoolDestroy(scale.pool));
}
