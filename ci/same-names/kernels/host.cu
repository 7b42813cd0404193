// A library for C: a function that starts a kernel.
#include "shared.cuh"

static __global__ void add(float* x) { *x += NUMBER; }

int helper();
int helper() { return 10 * NUMBER; }

extern "C" int NAMED(host_, NUMBER)(float* x, cudaStream_t stream) {
    add<<<1, 1, 0, stream>>>(x);
    return helper() + made_once().value();
}
