// A server overlaps requests on a pool of streams.
//
// Each stream has a thread and buffers of its own. The thread takes the next request, submits its work, and
// blocks until that is complete. (The Rust port serves all requests on one thread, which awaits the streams.)
#include "../check.cuh"
#include "vector.cuh"

#include <atomic>
#include <thread>
#include <vector>

static const int requests = 64, lanes = 4;
static const unsigned n = 1 << 12;

// Sums the squares of `n` numbers around the request's.
static long long answer(int request, cudaStream_t stream, int* h_numbers, int* d_numbers, int* d_squares) {
    const size_t bytes = n * sizeof(int);
    for (unsigned i = 0; i < n; ++i) h_numbers[i] = (request + int(i)) % 100;
    CHECK(cudaMemcpyAsync(d_numbers, h_numbers, bytes, cudaMemcpyHostToDevice, stream));
    square<<<n / 256, 256, 0, stream>>>(d_numbers, d_squares, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(h_numbers, d_squares, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    long long sum = 0;
    for (unsigned i = 0; i < n; ++i) sum += h_numbers[i];
    return sum;
}

static void serve(std::atomic<int>& next, std::vector<long long>& answers) {
    const size_t bytes = n * sizeof(int);
    cudaStream_t stream;
    int *h_numbers, *d_numbers, *d_squares;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&h_numbers, bytes));
    CHECK(cudaMalloc(&d_numbers, bytes));
    CHECK(cudaMalloc(&d_squares, bytes));
    for (int request; (request = next++) < requests;) {
        answers[size_t(request)] = answer(request, stream, h_numbers, d_numbers, d_squares);
    }
    CHECK(cudaFree(d_squares));
    CHECK(cudaFree(d_numbers));
    CHECK(cudaFreeHost(h_numbers));
    CHECK(cudaStreamDestroy(stream));
}

int main() {
    std::atomic<int> next{0};
    std::vector<long long> answers(requests);
    std::vector<std::thread> threads;
    for (int lane = 0; lane < lanes; ++lane) threads.emplace_back([&] { serve(next, answers); });
    for (auto& thread : threads) thread.join();
    long long sum = 0;
    for (long long one : answers) sum += one;
    std::printf("%zu requests on %d streams\n", answers.size(), lanes);
    std::printf("the first answer is %lld, the last %lld\n", answers.front(), answers.back());
    std::printf("all together %lld\n", sum);
}
