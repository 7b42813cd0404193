// Host functions continue the work of several streams.
//
// Each stream doubles its numbers on the device and copies them back. Then a host function checks them on a
// thread of the runtime, and reports that the work is complete. The host waits only for these reports.
#include "../check.cuh"
#include "vector.cuh"

#include <condition_variable>
#include <mutex>

const unsigned works = 8, n = 4096, threads = 256;

std::mutex lock;
std::condition_variable reported;
unsigned reports = 0;

struct Work {
    unsigned number;
    int *h_data, *d_data;
    cudaStream_t stream;
    unsigned right;
};

void check(void* data) {
    Work* work = static_cast<Work*>(data);
    work->right = 0;
    for (unsigned i = 0; i < n; ++i) work->right += work->h_data[i] == int(2 * (work->number + i));
    std::lock_guard<std::mutex> guard(lock);
    ++reports;
    reported.notify_one();
}

int main() {
    const size_t bytes = n * sizeof(int);
    Work all[works];
    for (unsigned number = 0; number < works; ++number) {
        Work& work = all[number];
        work.number = number;
        CHECK(cudaMallocHost(&work.h_data, bytes));
        CHECK(cudaMalloc(&work.d_data, bytes));
        CHECK(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking));
        for (unsigned i = 0; i < n; ++i) work.h_data[i] = int(number + i);
    }
    for (Work& work : all) {
        CHECK(cudaMemcpyAsync(work.d_data, work.h_data, bytes, cudaMemcpyHostToDevice, work.stream));
        double_values<<<n / threads, threads, 0, work.stream>>>(work.d_data, n);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(work.h_data, work.d_data, bytes, cudaMemcpyDeviceToHost, work.stream));
        CHECK(cudaLaunchHostFunc(work.stream, check, &work));
    }

    std::unique_lock<std::mutex> guard(lock);
    reported.wait(guard, [] { return reports == works; });
    for (const Work& work : all) std::printf("work %u: %u of %u numbers are right\n", work.number, work.right, n);
    for (Work& work : all) {
        CHECK(cudaStreamDestroy(work.stream));
        CHECK(cudaFree(work.d_data));
        CHECK(cudaFreeHost(work.h_data));
    }
}
