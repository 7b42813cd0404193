// A filter in constant memory that the host sets.
//
// A kernel reads the filter.
#include "../check.cuh"

// A variable belongs to its source file, so the kernel that reads it is here too.
namespace {

__constant__ float filter[31];

__global__ void convolve_here(const float* in, float* out, unsigned count, unsigned taps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0.0f;
    for (unsigned k = 0; k < taps; ++k) {
        unsigned at = i + k - taps / 2;
        if (at < count) sum = fmaf(filter[k], in[at], sum);
    }
    out[i] = sum;
}

}  // namespace

int main() {
    const unsigned n = 16, taps = 3;
    const float smooth[taps] = {0.25f, 0.5f, 0.25f}, edges[taps] = {-1.0f, 0.0f, 1.0f};
    float signal[n], result[n];
    for (unsigned i = 0; i < n; ++i) signal[i] = i < n / 2 ? 0.0f : 8.0f;

    float *d_signal, *d_result;
    CHECK(cudaMalloc(&d_signal, sizeof signal));
    CHECK(cudaMalloc(&d_result, sizeof result));
    CHECK(cudaMemcpy(d_signal, signal, sizeof signal, cudaMemcpyHostToDevice));
    for (const float* taps_of : {smooth, edges}) {
        CHECK(cudaMemcpyToSymbol(filter, taps_of, taps * sizeof(float)));
        convolve_here<<<1, n>>>(d_signal, d_result, n, taps);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(result, d_result, sizeof result, cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < n; ++i) std::printf("%.1f%c", result[i], i + 1 < n ? ' ' : '\n');
        EXPECT(result[n / 2 - 1] == (taps_of == smooth ? 2.0f : 8.0f));
    }
    float back[taps];
    CHECK(cudaMemcpyFromSymbol(back, filter, sizeof back));
    EXPECT(back[0] == -1.0f && back[1] == 0.0f && back[2] == 1.0f);
    CHECK(cudaFree(d_signal));
    CHECK(cudaFree(d_result));
}
