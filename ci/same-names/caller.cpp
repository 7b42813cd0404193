// Starts a kernel that it takes by its name.
#include <cstddef>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)

// As CUDA's headers declare them.
struct Dim3 {
    unsigned x, y, z;
};
extern "C" int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*);

extern "C" void NAMED(ops_, PACKAGE)(float* x);

extern "C" int NAMED(call_ops_, PACKAGE)(float* x, void* stream) {
    void* arguments[] = {&x};
    const Dim3 one = {1, 1, 1};
    return cudaLaunchKernel(reinterpret_cast<const void*>(&NAMED(ops_, PACKAGE)), one, one, arguments, 0, stream);
}
