// Convolution with a filter in constant memory, and a histogram that is counted in device memory.
#pragma once

#include <cuda_runtime.h>

/// Elements of the longest filter: the one in the middle, and as many on either side of it.
#define CONVOLUTION_MOST 31

/// The filter. Only the first elements are used, as many as a launch says.
__constant__ float convolution_filter[CONVOLUTION_MOST];

/// Convolves: `out[i]` is the sum over `k` of `filter[k] * in[i + k - taps / 2]`; past either end `in` is
/// zero.
///
/// `taps` is odd and at most `CONVOLUTION_MOST`.
/// @reads convolution_filter
extern "C" __global__ void convolve(const float* in, float* out, unsigned count, unsigned taps);
