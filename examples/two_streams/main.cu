// Two streams share one buffer, in the right order.
//
// The first doubles it and copies it back, and the second adds one and copies it back. In C++ the program
// must make the second stream wait for the first. Without the event the two race, and no error reports
// that. `two_streams race` leaves the event out. (The Rust port needs no event: the crate sees the
// conflict and orders the two.)
#include "../check.cuh"
#include "vector.cuh"

#include <cstring>
#include <vector>

int main(int argc, char** argv) {
    const bool ordered = argc < 2 || std::strcmp(argv[1], "race") != 0;
    const unsigned n = 1 << 16, threads = 256;
    const size_t bytes = n * sizeof(int);
    std::vector<int> input(n);
    for (unsigned i = 0; i < n; ++i) input[i] = int(i % 1000);

    int *d_data, *h_doubled, *h_plus_one;
    CHECK(cudaMalloc(&d_data, bytes));
    CHECK(cudaMallocHost(&h_doubled, bytes));
    CHECK(cudaMallocHost(&h_plus_one, bytes));
    cudaStream_t first, second;
    cudaEvent_t doubled;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&doubled, cudaEventDisableTiming));

    CHECK(cudaMemcpy(d_data, input.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    double_values<<<n / threads, threads, 0, first>>>(d_data, n);
    CHECK(cudaMemcpyAsync(h_doubled, d_data, bytes, cudaMemcpyDeviceToHost, first));
    if (ordered) {
        CHECK(cudaEventRecord(doubled, first));
        CHECK(cudaStreamWaitEvent(second, doubled, 0));
    }
    add_one<<<n / threads, threads, 0, second>>>(d_data, n);
    CHECK(cudaMemcpyAsync(h_plus_one, d_data, bytes, cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamSynchronize(first));

    unsigned right = 0;
    for (unsigned i = 0; i < n; ++i) right += h_doubled[i] == 2 * input[i] && h_plus_one[i] == 2 * input[i] + 1;
    std::printf("%d doubled is %d, plus one %d\n", input[n - 1], h_doubled[n - 1], h_plus_one[n - 1]);
    std::printf("%u of %u elements are right\n", right, n);

    CHECK(cudaEventDestroy(doubled));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(d_data));
    CHECK(cudaFreeHost(h_doubled));
    CHECK(cudaFreeHost(h_plus_one));
    return right == n ? EXIT_SUCCESS : EXIT_FAILURE;
}
