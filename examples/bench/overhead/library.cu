// The host cost of each operation: the C++ side of `ci/bench`. It is a library that the Rust program
// beside it loads, so both make their calls in one process, through one libcudart, on one context.
//
// twin_new gets the objects that the operations use, twin_measure runs a batch of calls of one operation,
// and twin_end ends the twin.
#include "../../check.cuh"
#include "vector.cuh"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

// The objects that the operations use, as the Rust program makes and declares them.
struct Things {
    cudaStream_t stream, second;
    cudaEvent_t event, other;
    cudaMemPool_t pool;
    cudaGraphExec_t exec;
    int* numbers;
    float *a, *b, *c, *pinned, *pageable;
};

namespace {

const size_t bytes = 4096, mebibyte = size_t{1} << 20;

// The rows of planes and volumes, and their pitch.
const size_t row = 128, pitch = 256, rows = 16, layer_rows = 4, layers = 4;

// The copies of a batch, their bytes, and the distance of their starts.
const size_t copies = 64, small = 32, apart = 64;

// The volumes of a batch, the distance of their starts, their rows, and the pitch of these.
const size_t solids = 16, solid = 256, solid_row = 32, solid_pitch = 64, solid_rows = 2, solid_layers = 2;

// Returns the nanoseconds of one of many calls. The device is idle before the calls, and the function
// waits for it after them. Some calls ahead bring the code back into the caches, which the other sides
// have used meanwhile.
//
// The call is a template argument and not a std::function, so that the compiler can inline it.
template <typename Call>
double time(unsigned calls, Call call) {
    for (unsigned i = 0; i < calls / 5 + 1; ++i) call();
    CHECK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    CHECK(cudaDeviceSynchronize());
    return spent.count() / calls;
}

cudaMemcpy3DParms volume(float* to, float* from, size_t pitch, size_t row, size_t rows, size_t layers, cudaMemcpyKind kind) {
    cudaMemcpy3DParms parameters = {};
    parameters.dstPtr = make_cudaPitchedPtr(to, pitch, row, rows);
    parameters.srcPtr = make_cudaPitchedPtr(from, pitch, row, rows);
    parameters.extent = make_cudaExtent(row, rows, layers);
    parameters.kind = kind;
    return parameters;
}

// A batch of copies, whose lists are made once.
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

// A batch of copies of layers of rows, whose list is made once.
struct Batch3d {
#if CUDART_VERSION >= 12080
    std::vector<cudaMemcpy3DBatchOp> operations;
#else
    std::vector<cudaMemcpy3DParms> operations;
#endif

    Batch3d(float* to, float* from) {
        for (size_t i = 0; i < solids; ++i, to += solid / sizeof(float), from += solid / sizeof(float)) {
#if CUDART_VERSION >= 12080
            cudaMemcpy3DBatchOp operation = {};
            operation.src = operand(from);
            operation.dst = operand(to);
            operation.extent = make_cudaExtent(solid_row, solid_rows, solid_layers);
            operation.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
            operations.push_back(operation);
#else
            operations.push_back(volume(to, from, solid_pitch, solid_row, solid_rows, solid_layers, cudaMemcpyHostToDevice));
#endif
        }
    }

    void enqueue(cudaStream_t stream) {
#if CUDART_VERSION >= 13000
        CHECK(cudaMemcpy3DBatchAsync(operations.size(), operations.data(), 0, stream));
#elif CUDART_VERSION >= 12080
        size_t failed = 0;
        CHECK(cudaMemcpy3DBatchAsync(operations.size(), operations.data(), &failed, 0, stream));
#else
        for (const cudaMemcpy3DParms& parameters : operations) CHECK(cudaMemcpy3DAsync(&parameters, stream));
#endif
    }

private:
#if CUDART_VERSION >= 12080
    static cudaMemcpy3DOperand operand(float* pointer) {
        cudaMemcpy3DOperand operand = {};
        operand.type = cudaMemcpyOperandTypePointer;
        operand.op.ptr.ptr = pointer;
        operand.op.ptr.rowLength = solid_pitch;
        operand.op.ptr.layerHeight = solid_rows;
        return operand;
    }
#endif
};

// What a callback wakes.
struct Sleeper {
    std::mutex mutex;
    std::condition_variable woken;
    bool done = false;

    void sleep() {
        std::unique_lock<std::mutex> lock(mutex);
        woken.wait(lock, [this] { return done; });
        done = false;
    }
};

void CUDART_CB wake(cudaStream_t, cudaError_t, void* data) {
    auto* sleeper = static_cast<Sleeper*>(data);
    std::lock_guard<std::mutex> lock(sleeper->mutex);
    sleeper->done = true;
    sleeper->woken.notify_one();
}

void CUDART_CB count_up(void* counter) { static_cast<std::atomic<unsigned>*>(counter)->fetch_add(1); }

// The operations.
struct Twin : Things {
    std::atomic<unsigned> counter{0};
    Sleeper sleeper;
    cudaMemcpy3DParms parameters = volume(b, a, pitch, row, layer_rows, layers, cudaMemcpyDeviceToDevice);
    Batch batch{b, pinned, cudaMemcpyHostToDevice};
    Batch3d batch_3d{b, pinned};

    explicit Twin(const Things& things) : Things(things) {}

    void allocate_and_free() {
        float* pointer;
        CHECK(cudaMallocAsync(&pointer, bytes, stream));
        CHECK(cudaFreeAsync(pointer, stream));
    }

    void in_turn() {
        CHECK(cudaMemsetAsync(a, 0, bytes, stream));
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaStreamWaitEvent(second, event, 0));
        CHECK(cudaMemsetAsync(a, 0, bytes, second));
        CHECK(cudaEventRecord(other, second));
        CHECK(cudaStreamWaitEvent(stream, other, 0));
    }

    const std::map<std::string, std::function<double(unsigned)>> operations = {
        {"launch_two", [this](unsigned calls) {
             return time(calls, [this] {
                 add_one<<<1, 32, 0, stream>>>(numbers, 0);
                 CHECK(cudaGetLastError());
             });
         }},
        {"launch_three", [this](unsigned calls) {
             return time(calls, [this] {
                 vector_add<<<1, 32, 0, stream>>>(a, b, c, 0);
                 CHECK(cudaGetLastError());
             });
         }},
        {"launch_proven", [this](unsigned calls) {
             return time(calls, [this] {
                 vector_add<<<1, 32, 0, stream>>>(a, b, c, 0);
                 CHECK(cudaGetLastError());
             });
         }},
        {"event_record", [this](unsigned calls) { return time(calls, [this] { CHECK(cudaEventRecord(event, stream)); }); }},
        {"event_query", [this](unsigned calls) { return time(calls, [this] { CHECK(cudaEventQuery(event)); }); }},
        {"event_create", [this](unsigned calls) {
             return time(calls, [this] {
                 cudaEvent_t created;
                 CHECK(cudaEventCreateWithFlags(&created, cudaEventDisableTiming));
                 CHECK(cudaEventDestroy(created));
             });
         }},
        {"synchronise", [this](unsigned calls) { return time(calls, [this] { CHECK(cudaStreamSynchronize(stream)); }); }},
        {"host_function", [this](unsigned calls) {
             return time(calls, [this] { CHECK(cudaLaunchHostFunc(stream, count_up, &counter)); });
         }},
        {"wait_blocking", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemsetAsync(a, 0, bytes, stream));
                 CHECK(cudaStreamSynchronize(stream));
             });
         }},
        {"wait_woken", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemsetAsync(a, 0, bytes, stream));
                 CHECK(cudaStreamAddCallback(stream, wake, &sleeper, 0));
                 sleeper.sleep();
             });
         }},
        {"wait_polled", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemsetAsync(a, 0, bytes, stream));
                 cudaError_t code;
                 while ((code = cudaStreamQuery(stream)) == cudaErrorNotReady) {}
                 CHECK(code);
             });
         }},
        {"alloc_async", [this](unsigned calls) { return time(calls, [this] { allocate_and_free(); }); }},
        {"alloc_drop", [this](unsigned calls) { return time(calls, [this] { allocate_and_free(); }); }},
        {"alloc_pool", [this](unsigned calls) {
             return time(calls, [this] {
                 float* pointer;
                 CHECK(cudaMallocFromPoolAsync(&pointer, bytes, pool, stream));
                 CHECK(cudaFreeAsync(pointer, stream));
             });
         }},
        {"alloc", [this](unsigned calls) {
             return time(calls, [this] {
                 float* pointer;
                 CHECK(cudaMalloc(&pointer, mebibyte));
                 CHECK(cudaFree(pointer));
             });
         }},
        {"h2d_pinned", [this](unsigned calls) {
             return time(calls, [this] { CHECK(cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice, stream)); });
         }},
        {"h2d_scope", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemcpyAsync(a, pageable, bytes, cudaMemcpyHostToDevice, stream));
             });
         }},
        {"h2d_pageable", [this](unsigned calls) {
             return time(calls, [this] { CHECK(cudaMemcpy(a, pageable, bytes, cudaMemcpyHostToDevice)); });
         }},
        {"d2h_pageable", [this](unsigned calls) {
             return time(calls, [this] { CHECK(cudaMemcpy(pageable, a, bytes, cudaMemcpyDeviceToHost)); });
         }},
        {"d2d", [this](unsigned calls) {
             return time(calls, [this] { CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream)); });
         }},
        {"plane", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemcpy2DAsync(b, pitch, a, pitch, row, rows, cudaMemcpyDeviceToDevice, stream));
             });
         }},
        {"plane_pinned", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemcpy2DAsync(a, pitch, pinned, pitch, row, rows, cudaMemcpyHostToDevice, stream));
             });
         }},
        {"volume", [this](unsigned calls) { return time(calls, [this] { CHECK(cudaMemcpy3DAsync(&parameters, stream)); }); }},
        {"batch", [this](unsigned calls) { return time(calls, [this] { batch.enqueue(stream); }); }},
        {"batch_3d", [this](unsigned calls) { return time(calls, [this] { batch_3d.enqueue(stream); }); }},
        {"memset", [this](unsigned calls) { return time(calls, [this] { CHECK(cudaMemsetAsync(a, 0, bytes, stream)); }); }},
        {"graph", [this](unsigned calls) { return time(calls, [this] { CHECK(cudaGraphLaunch(exec, stream)); }); }},
        {"switch", [this](unsigned calls) { return time(calls, [this] { in_turn(); }); }},
        {"switch_by_hand", [this](unsigned calls) { return time(calls, [this] { in_turn(); }); }},
        {"round_trip", [this](unsigned calls) {
             return time(calls, [this] {
                 CHECK(cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice, stream));
                 CHECK(cudaMemcpyAsync(pinned, a, bytes, cudaMemcpyDeviceToHost, stream));
                 CHECK(cudaStreamSynchronize(stream));
             });
         }},
    };
};

}  // namespace

extern "C" void* twin_new(const Things* things) { return new Twin(*things); }

// Returns the nanoseconds of a call in a batch of `calls` calls, or a negative number for an unknown
// operation.
extern "C" double twin_measure(void* twin, const char* operation, unsigned calls) {
    const auto& operations = static_cast<Twin*>(twin)->operations;
    const auto found = operations.find(operation);
    return found == operations.end() ? -1 : found->second(calls);
}

extern "C" void twin_end(void* twin) { delete static_cast<Twin*>(twin); }
