#include "probe.cuh"

namespace probe {

namespace {

__device__ unsigned number() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ int column() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__device__ int row() { return static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); }

}  // namespace

__global__ void line(cudaTextureObject_t image, const float* x, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex1D<float>(image, x[i]);
}

__global__ void plane(cudaTextureObject_t image, const float* x, const float* y, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex2D<float>(image, x[i], y[i]);
}

__global__ void solid(cudaTextureObject_t image, const float* x, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex3D<float>(image, x[i], x[i], x[i]);
}

__global__ void layers(cudaTextureObject_t image, const float* x, const int* layer, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex2DLayered<float>(image, x[i], x[i], layer[i]);
}

__global__ void lines(cudaTextureObject_t image, const float* x, const int* layer, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex1DLayered<float>(image, x[i], layer[i]);
}

__global__ void levels(cudaTextureObject_t image, const float* level, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex2DLod<float>(image, 0.5f, 0.5f, level[i]);
}

__global__ void numbered(cudaTextureObject_t image, const int* at, float* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex1Dfetch<float>(image, at[i]);
}

__global__ void bytes(cudaTextureObject_t image, const float* x, unsigned* out, unsigned count) {
    unsigned i = number();
    if (i >= count) return;
    uchar4 found = tex2D<uchar4>(image, x[i], x[i]);
    out[4 * i] = found.x;
    out[4 * i + 1] = found.y;
    out[4 * i + 2] = found.z;
    out[4 * i + 3] = found.w;
}

__global__ void integers(cudaTextureObject_t image, const float* x, int* out, unsigned count) {
    unsigned i = number();
    if (i < count) out[i] = tex2D<short>(image, x[i], x[i]);
}

__global__ void surface_increment(cudaSurfaceObject_t image, unsigned width, unsigned height) {
    int x = column(), y = row();
    if (x >= static_cast<int>(width) || y >= static_cast<int>(height)) return;
    float value = surf2Dread<float>(image, x * 4, y);
    surf2Dwrite(value + 1.0f, image, x * 4, y);
}

__global__ void surface_copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to, unsigned width, unsigned height) {
    int x = column(), y = row();
    if (x >= static_cast<int>(width) || y >= static_cast<int>(height)) return;
    surf2Dwrite(surf2Dread<float>(from, x * 4, y), to, x * 4, y);
}

__global__ void surface_solid(cudaSurfaceObject_t image, unsigned width, unsigned height, unsigned depth) {
    int x = column(), y = row();
    if (x >= static_cast<int>(width) || y >= static_cast<int>(height)) return;
    for (int z = 0; z < static_cast<int>(depth); ++z) {
        surf3Dwrite(static_cast<float>(100 * z + 10 * y + x), image, x * 4, y, z);
    }
}

__global__ void surface_layers(cudaSurfaceObject_t image, unsigned width, unsigned height, unsigned depth) {
    int x = column(), y = row();
    if (x >= static_cast<int>(width) || y >= static_cast<int>(height)) return;
    for (int z = 0; z < static_cast<int>(depth); ++z) {
        surf2DLayeredwrite(static_cast<float>(100 * z + 10 * y + x), image, x * 4, y, z);
    }
}

__global__ void surface_bytes(cudaSurfaceObject_t image, unsigned width, unsigned height) {
    int x = column(), y = row();
    if (x >= static_cast<int>(width) || y >= static_cast<int>(height)) return;
    surf2Dwrite(make_uchar4(static_cast<unsigned char>(x), static_cast<unsigned char>(y), 7, 255), image, x * 4, y);
}

__global__ void surface_outside(cudaSurfaceObject_t image, const int* x, const int* y, float* out, unsigned count) {
    unsigned i = number();
    if (i >= count) return;
    out[i] = surf2Dread<float>(image, x[i] * 4, y[i], cudaBoundaryModeZero);
    out[count + i] = surf2Dread<float>(image, x[i] * 4, y[i], cudaBoundaryModeClamp);
    surf2Dwrite(-1.0f, image, x[i] * 4, y[i], cudaBoundaryModeZero);
}

__global__ void surface_trap(cudaSurfaceObject_t image, int x, int y, float* out) {
    *out = surf2Dread<float>(image, x * 4, y, cudaBoundaryModeTrap);
}

}  // namespace probe
