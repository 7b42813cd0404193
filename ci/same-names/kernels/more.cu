// A second source of the same build, with what is made for C and C++.
#include "shared.cuh"

// For C++.
extern "C" __global__ void NAMED(ops_, PACKAGE)(float* x) { *x += NUMBER; }

int helper() { return NUMBER; }

extern "C" int NAMED(launch_, PACKAGE)(float* data, unsigned count, cudaStream_t stream) {
    launch_scale(data, count, stream);
    return made_once().value() + at_start.value() + helper();
}
