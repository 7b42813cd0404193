// Replaces cuda_runtime.h and the headers of small numbers for documentation builds without a toolkit. It has
// what prototypes of kernels need. Such builds do not use layouts, so only the names matter.
#ifndef CUDA_STAND_IN
#define CUDA_STAND_IN
#include <stddef.h>
#include <stdint.h>

#define __host__
#define __device__
#define __shared__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))

#define VECTORS(name, type)               \
    struct name##1 { type x; };           \
    struct name##2 { type x, y; };        \
    struct name##3 { type x, y, z; };     \
    struct name##4 { type x, y, z, w; };
VECTORS(char, signed char)
VECTORS(uchar, unsigned char)
VECTORS(short, short)
VECTORS(ushort, unsigned short)
VECTORS(int, int)
VECTORS(uint, unsigned)
VECTORS(long, long)
VECTORS(ulong, unsigned long)
VECTORS(longlong, long long)
VECTORS(ulonglong, unsigned long long)
VECTORS(float, float)
VECTORS(double, double)
#undef VECTORS

struct __half { unsigned short x; };
struct __half2 { __half x, y; };
typedef __half half;
typedef __half2 half2;
struct __nv_bfloat16 { unsigned short x; };
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
struct __nv_fp8_e4m3 { unsigned char __x; };
struct __nv_fp8_e5m2 { unsigned char __x; };
struct __nv_fp8_e8m0 { unsigned char __x; };
struct __nv_fp8x2_e4m3 { unsigned short __x; };
struct __nv_fp8x2_e5m2 { unsigned short __x; };
struct __nv_fp8x4_e4m3 { unsigned __x; };
struct __nv_fp8x4_e5m2 { unsigned __x; };
struct __nv_fp4_e2m1 { unsigned char __x; };
struct __nv_fp4x2_e2m1 { unsigned char __x; };
struct __nv_fp4x4_e2m1 { unsigned short __x; };

struct dim3 { unsigned x, y, z; };
struct cudaPitchedPtr { void* ptr; size_t pitch, xsize, ysize; };
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef unsigned long long cudaGraphConditionalHandle;
#endif
