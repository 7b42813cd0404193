// Single reads of textures and surfaces of every kind at positions that a program chooses, for tests.
#pragma once

#include <cuda_runtime.h>

namespace probe {

/// `out[i]` is the line's value at `x[i]`.
__global__ void line(cudaTextureObject_t image, const float* x, float* out, unsigned count);

/// `out[i]` is the plane's value at `x[i]`, `y[i]`.
__global__ void plane(cudaTextureObject_t image, const float* x, const float* y, float* out, unsigned count);

/// `out[i]` is the volume's value at `x[i]`, `x[i]`, `x[i]`.
__global__ void solid(cudaTextureObject_t image, const float* x, float* out, unsigned count);

/// `out[i]` is the value of layer `layer[i]` at `x[i]`, `x[i]`.
__global__ void layers(cudaTextureObject_t image, const float* x, const int* layer, float* out, unsigned count);

/// `out[i]` is the value of layer `layer[i]` of lines at `x[i]`.
__global__ void lines(cudaTextureObject_t image, const float* x, const int* layer, float* out, unsigned count);

/// `out[i]` is the value in the middle of the plane at level `level[i]`.
__global__ void levels(cudaTextureObject_t image, const float* level, float* out, unsigned count);

/// `out[i]` is element `at[i]` of linear memory.
__global__ void numbered(cudaTextureObject_t image, const int* at, float* out, unsigned count);

/// `out[4 i]` and the next three elements are the bytes of the plane at `x[i]`, `x[i]`.
__global__ void bytes(cudaTextureObject_t image, const float* x, unsigned* out, unsigned count);

/// `out[i]` is the integer of the plane at `x[i]`, `x[i]`.
__global__ void integers(cudaTextureObject_t image, const float* x, int* out, unsigned count);

/// Adds 1 to each of `width` x `height` elements.
__global__ void surface_increment(cudaSurfaceObject_t image, unsigned width, unsigned height);

/// Copies `width` x `height` elements from one surface to the other.
__global__ void surface_copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to, unsigned width, unsigned height);

/// Writes `100 z + 10 y + x` to each of `width` x `height` x `depth` elements.
__global__ void surface_solid(cudaSurfaceObject_t image, unsigned width, unsigned height, unsigned depth);

/// Writes the same to layers.
__global__ void surface_layers(cudaSurfaceObject_t image, unsigned width, unsigned height, unsigned depth);

/// Writes `{x, y, 7, 255}` to each of `width` x `height` elements of four bytes.
__global__ void surface_bytes(cudaSurfaceObject_t image, unsigned width, unsigned height);

/// Reads column `x[i]` of row `y[i]`. Outside the image, `out[i]` is zero and `out[count + i]` is the
/// nearest element. Then writes -1 there; a write outside has no effect.
__global__ void surface_outside(cudaSurfaceObject_t image, const int* x, const int* y, float* out, unsigned count);

/// Reads column `x` of row `y`, and traps if the position is outside.
__global__ void surface_trap(cudaSurfaceObject_t image, int x, int y, float* out);

}  // namespace probe
