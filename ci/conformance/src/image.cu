// The kernels of the cases that read and write images.
#include "image.cuh"

// The numbers are those of `Way` in cases/image.rs.
template <typename T>
__device__ T read_image(cudaTextureObject_t image, int way, const ImageRead& it) {
    float x = it.at[0], y = it.at[1], z = it.at[2], level = it.level;
    int layer = static_cast<int>(it.layer);
    float2 dx = make_float2(it.dx[0], it.dx[1]), dy = make_float2(it.dy[0], it.dy[1]);
    switch (way) {
    case 0: return tex1Dfetch<T>(image, static_cast<int>(x));
    case 1: return tex1D<T>(image, x);
    case 2: return tex1DLod<T>(image, x, level);
    case 3: return tex1DGrad<T>(image, x, dx.x, dy.x);
    case 4: return tex1DLayered<T>(image, x, layer);
    case 5: return tex1DLayeredLod<T>(image, x, layer, level);
    case 6: return tex2D<T>(image, x, y);
    case 7: return tex2DLod<T>(image, x, y, level);
    case 8: return tex2DGrad<T>(image, x, y, dx, dy);
    case 9: return tex2DLayered<T>(image, x, y, layer);
    case 10: return tex2DLayeredLod<T>(image, x, y, layer, level);
    case 11: return tex2DLayeredGrad<T>(image, x, y, layer, dx, dy);
    case 12: return tex3D<T>(image, x, y, z);
    case 13: return tex3DLod<T>(image, x, y, z, level);
    case 15: return texCubemap<T>(image, x, y, z);
    case 16: return texCubemapLod<T>(image, x, y, z, level);
    case 18: return texCubemapLayered<T>(image, x, y, z, layer);
    case 19: return texCubemapLayeredLod<T>(image, x, y, z, layer, level);
    case 20: return tex2Dgather<T>(image, x, y, 0);
    case 21: return tex2Dgather<T>(image, x, y, 1);
    case 22: return tex2Dgather<T>(image, x, y, 2);
    default: return tex2Dgather<T>(image, x, y, 3);
    }
}

extern "C" {

__global__ void case_image_floats(cudaTextureObject_t image, int way, const ImageRead* given, float4* out, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = read_image<float4>(image, way, given[i]);
}

__global__ void case_image_integers(cudaTextureObject_t image, int way, const ImageRead* given, uint4* out, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = read_image<uint4>(image, way, given[i]);
}

// Writes the column, row and layer of each element, and reads what is there afterwards.
__global__ void case_image_write(cudaSurfaceObject_t image, int way, int x, int y, int z, float value, float* out) {
    int at = x * static_cast<int>(sizeof(float));
    switch (way) {
    case 0:
        surf1Dwrite(value, image, at, cudaBoundaryModeZero);
        *out = surf1Dread<float>(image, at, cudaBoundaryModeClamp);
        break;
    case 1:
        surf2Dwrite(value, image, at, y, cudaBoundaryModeZero);
        *out = surf2Dread<float>(image, at, y, cudaBoundaryModeClamp);
        break;
    case 2:
        surf3Dwrite(value, image, at, y, z, cudaBoundaryModeZero);
        *out = surf3Dread<float>(image, at, y, z, cudaBoundaryModeClamp);
        break;
    case 3:
        surf2DLayeredwrite(value, image, at, y, z, cudaBoundaryModeZero);
        *out = surf2DLayeredread<float>(image, at, y, z, cudaBoundaryModeClamp);
        break;
    case 4:
        surfCubemapwrite(value, image, at, y, z, cudaBoundaryModeZero);
        *out = surfCubemapread<float>(image, at, y, z, cudaBoundaryModeClamp);
        break;
    default:
        surfCubemapLayeredwrite(value, image, at, y, z, cudaBoundaryModeZero);
        *out = surfCubemapLayeredread<float>(image, at, y, z, cudaBoundaryModeClamp);
    }
}
}
