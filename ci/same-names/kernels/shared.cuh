// What the sources of each package share, and the packages themselves: inline functions, a class with a
// virtual destructor, a template. NUMBER makes each different.
#pragma once
#include <cuda_runtime.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)

template <typename T> __global__ void scale(T* data, unsigned count) {
    if (threadIdx.x < count) data[threadIdx.x] *= NUMBER;
}

#ifdef __CUDACC__
inline void launch_scale(float* data, unsigned count, cudaStream_t stream) {
    scale<<<1, count, 0, stream>>>(data, count);
}

struct Base {
    int number;
    Base() : number(NUMBER) {}
    virtual ~Base() { number = 0; }
    virtual int value() const { return number; }
};

struct Derived : Base {
    virtual int value() const override { return 1000 * number; }
};

// Made before `main`.
inline Derived at_start;

inline const Base& made_once() {
    static const Derived made;
    return made;
}
#endif
