// Convolution with a filter in constant memory, and a histogram that is counted in device memory.
#pragma once

#include <cuda_runtime.h>

/// The elements of the longest filter: the one in the middle, and as many on either side.
#define CONVOLUTION_MOST 31

/// The filter. A launch uses only the first `taps` elements.
__constant__ float convolution_filter[CONVOLUTION_MOST];

/// Convolves: `out[i]` is the sum over `k` of `filter[k] * in[i + k - taps / 2]`. Past either end, `in`
/// counts as zero.
///
/// `taps` is odd and at most `CONVOLUTION_MOST`.
/// @reads convolution_filter
extern "C" __global__ void convolve(const float* in, float* out, unsigned count, unsigned taps);
