// Included by with.cu as a header with prototypes, types and functions of its own.
#pragma once
#define HEADER_SIDE 24
constexpr int header_depth = 3;
enum class HeaderMode : short { Off, On };
struct HeaderPoint { float x, y; __host__ __device__ [[nodiscard]] static constexpr int dims() { return 2; } };
template <class T> struct HeaderBox { T it; __device__ T get() const { return it; } };
[[noreturn]] void header_fails(const char* why);
__attribute__((noreturn)) void header_fails_too(int code);
__host__ __device__ [[nodiscard]] inline float header_half(float x) { return x / 2; }
__device__ [[maybe_unused]] static int header_hidden(int x) { return __popc(x); }
__global__ void header_prototype(HeaderPoint* p, HeaderMode mode);
__global__ void header_kernel(const HeaderPoint* in, float* out) {}
__device__ inline unsigned header_lane() { unsigned lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }
