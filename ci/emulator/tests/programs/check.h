// Helpers that the programs of this folder share: checks that name their line, and gates that hold a stream.
#pragma once
#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#define EXPECT(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

#define CODE(expected, call)                                                         \
    do {                                                                             \
        cudaError_t code_ = (call);                                                  \
        if (code_ != (expected)) {                                                   \
            std::fprintf(stderr, "%s:%d: %s gave %s, not %s\n", __FILE__, __LINE__,  \
                         #call, cudaGetErrorName(code_), #expected);                 \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

#define OK(call) CODE(cudaSuccess, call)

// A host function that keeps its stream busy until the gate is opened.
class Gate {
  public:
    void close(cudaStream_t stream) { OK(cudaLaunchHostFunc(stream, wait, this)); }
    void open() {
        std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    // Waits until the stream has come to the gate.
    void reached() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return reached_; });
    }

  private:
    static void wait(void *self) {
        auto *gate = static_cast<Gate *>(self);
        std::unique_lock<std::mutex> lock(gate->mutex_);
        gate->reached_ = true;
        gate->changed_.notify_all();
        gate->changed_.wait(lock, [gate] { return gate->open_; });
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false, reached_ = false;
};

inline cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t made = nullptr;
    OK(cudaStreamCreateWithFlags(&made, flags));
    return made;
}

inline unsigned char *device(size_t bytes) {
    void *made = nullptr;
    OK(cudaMalloc(&made, bytes));
    return static_cast<unsigned char *>(made);
}

inline unsigned char *pinned(size_t bytes) {
    void *made = nullptr;
    OK(cudaMallocHost(&made, bytes));
    return static_cast<unsigned char *>(made);
}

// The first byte of device memory, read when all work is done.
inline int byte_at(const unsigned char *memory) {
    unsigned char byte = 0;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost));
    return byte;
}
