// Kernels that differ in how many buffers they take.
#pragma once

#include <cuda_runtime.h>

/// Writes one to the first element of each buffer.
extern "C" __global__ void buffers_4(int* a, int* b, int* c, int* d);

/// Writes one to the first element of each buffer.
extern "C" __global__ void buffers_16(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int* i, int* j, int* k, int* l,
                           int* m, int* n, int* o, int* p);
