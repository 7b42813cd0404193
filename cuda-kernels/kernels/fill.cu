#include "fill.cuh"

namespace {

// A grid-stride loop: any grid fills any length.
template <typename T>
__device__ void fill(T* out, T value, unsigned count) {
    unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long first = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (unsigned long long i = first; i < count; i += step) out[i] = value;
}

}  // namespace

extern "C" __global__ void fill_u8(unsigned char* out, unsigned char value, unsigned count) {
    fill(out, value, count);
}
extern "C" __global__ void fill_i32(int* out, int value, unsigned count) { fill(out, value, count); }
extern "C" __global__ void fill_u32(unsigned* out, unsigned value, unsigned count) { fill(out, value, count); }
extern "C" __global__ void fill_u64(unsigned long long* out, unsigned long long value, unsigned count) {
    fill(out, value, count);
}
extern "C" __global__ void fill_f32(float* out, float value, unsigned count) { fill(out, value, count); }
extern "C" __global__ void fill_f64(double* out, double value, unsigned count) { fill(out, value, count); }
