// Two devices exchange results, and the host gathers them.
//
// Each has its own stream and buffers. On a machine with one device the program prints that and ends with
// success.
#include "../check.cuh"
#include "fill.cuh"
#include "vector.cuh"

#include <vector>

int main() {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) {
        std::printf("this machine has one device: nothing to exchange\n");
        return 0;
    }

    const unsigned n = 1 << 14, threads = 256, blocks = n / threads;
    const size_t bytes = n * sizeof(float);
    cudaStream_t streams[2];
    float *d_own[2], *d_other[2], *d_sum[2];
    for (int device = 0; device < 2; ++device) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreate(&streams[device]));
        CHECK(cudaMalloc(&d_own[device], bytes));
        CHECK(cudaMalloc(&d_other[device], bytes));
        CHECK(cudaMalloc(&d_sum[device], bytes));
        fill_f32<<<blocks, threads, 0, streams[device]>>>(d_own[device], float(10 + device), n);
        CHECK(cudaGetLastError());
    }
    for (int device = 0; device < 2; ++device) CHECK(cudaStreamSynchronize(streams[device]));

    CHECK(cudaMemcpyPeer(d_other[0], 0, d_own[1], 1, bytes));
    CHECK(cudaMemcpyPeer(d_other[1], 1, d_own[0], 0, bytes));
    for (int device = 0; device < 2; ++device) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceSynchronize());
        vector_add<<<blocks, threads, 0, streams[device]>>>(d_own[device], d_other[device], d_sum[device], n);
        CHECK(cudaGetLastError());
    }

    for (int device = 0; device < 2; ++device) {
        std::vector<float> other(n), sum(n);
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamSynchronize(streams[device]));
        CHECK(cudaMemcpy(other.data(), d_other[device], bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(sum.data(), d_sum[device], bytes, cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < n; ++i) EXPECT(other[i] == float(11 - device) && sum[i] == 21.0f);
        std::printf("device %d: received %.0f from the other, %u sums are %.0f\n", device, other[0], n, sum[0]);
        CHECK(cudaStreamDestroy(streams[device]));
        CHECK(cudaFree(d_own[device]));
        CHECK(cudaFree(d_other[device]));
        CHECK(cudaFree(d_sum[device]));
    }
}
