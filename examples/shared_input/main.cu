// Four streams share an input, each with its part of an array.
//
// Each stream adds a number that all of them read, and copies its part to the host: the copies overlap the
// kernels of other streams. The kernel declares the number as `int*`, but only reads it. `shared_input
// ELEMENTS` chooses the size of the work. Times go to standard error.
// ci/compare runs it with: 4096
#include "../check.cuh"
#include "vector.cuh"

int main(int argc, char** argv) {
    const unsigned n = argc > 1 ? std::atoi(argv[1]) : 1 << 24;
    const unsigned stream_count = 4, threads = 256;
    const size_t bytes = n * sizeof(int);
    const int rounds = 100, step = 5;
    int *h_data, *d_data, *d_step;
    CHECK(cudaMallocHost(&h_data, bytes));
    CHECK(cudaMalloc(&d_data, bytes));
    CHECK(cudaMalloc(&d_step, sizeof step));
    CHECK(cudaMemcpy(d_step, &step, sizeof step, cudaMemcpyHostToDevice));

    cudaStream_t streams[stream_count];
    for (cudaStream_t& stream : streams) CHECK(cudaStreamCreate(&stream));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));

    for (unsigned used : {stream_count, 1u, stream_count}) {
        const unsigned part = n / used;
        CHECK(cudaMemset(d_data, 0, bytes));
        CHECK(cudaEventRecord(start, 0));
        for (unsigned s = 0; s < used; ++s) {
            add_step<<<part / threads, threads, 0, streams[s]>>>(d_data + s * part, d_step, part, rounds);
            CHECK(cudaGetLastError());
        }
        for (unsigned s = 0; s < used; ++s)
            CHECK(cudaMemcpyAsync(h_data + s * part, d_data + s * part, bytes / used, cudaMemcpyDeviceToHost, streams[s]));
        CHECK(cudaEventRecord(stop, 0));
        CHECK(cudaEventSynchronize(stop));

        unsigned right = 0;
        for (unsigned i = 0; i < n; ++i) right += h_data[i] == rounds * step;
        std::printf("%u streams: %u of %u elements are right\n", used, right, n);
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        std::fprintf(stderr, "%u streams: %.3f ms\n", used, ms);
    }

    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(d_data));
    CHECK(cudaFree(d_step));
    CHECK(cudaFreeHost(h_data));
}
