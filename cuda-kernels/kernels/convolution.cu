#include "convolution.cuh"

extern "C" __global__ void convolve(const float* in, float* out, unsigned count, unsigned taps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0.0f;
    for (unsigned k = 0; k < taps; ++k) {
        // Before the start of the input this wraps to an index past its end.
        unsigned at = i + k - taps / 2;
        if (at < count) sum = fmaf(convolution_filter[k], in[at], sum);
    }
    out[i] = sum;
}
