// Managed memory, with one address for host and device.
//
// The program gives advice for the memory and prefetches it.
#include "../check.cuh"
#include "vector.cuh"

int main() {
    const unsigned n = 1 << 16;
    float *a, *b, *sum;
    CHECK(cudaMallocManaged(&a, n * sizeof(float)));
    CHECK(cudaMallocManaged(&b, n * sizeof(float)));
    CHECK(cudaMallocManaged(&sum, n * sizeof(float)));
    for (unsigned i = 0; i < n; ++i) {
        a[i] = float(i);
        b[i] = 2.0f * float(i);
    }

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemLocation device{};
    device.type = cudaMemLocationTypeDevice;
    CHECK(cudaGetDevice(&device.id));
    CHECK(cudaMemAdvise(a, n * sizeof(float), cudaMemAdviseSetReadMostly, device));
    CHECK(cudaMemPrefetchAsync(a, n * sizeof(float), device, 0, stream));
    CHECK(cudaMemPrefetchAsync(b, n * sizeof(float), device, 0, stream));
    vector_add<<<n / 256, 256, 0, stream>>>(a, b, sum, n);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));

    for (unsigned i = 0; i < n; ++i) EXPECT(sum[i] == 3.0f * float(i));
    std::printf("sum[%u] = %.0f\n", n - 1, sum[n - 1]);
    int read_mostly = 0;
    CHECK(cudaMemRangeGetAttribute(&read_mostly, sizeof read_mostly, cudaMemRangeAttributeReadMostly, a, n * sizeof(float)));
    std::printf("a is mostly read: %s\n", yes_no(read_mostly != 0));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(sum));
}
