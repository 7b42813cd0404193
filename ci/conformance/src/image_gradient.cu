// Reads with derivatives in three dimensions, for which the driver has functions that it links to a module.
// The others are in a module of their own.
#include "image.cuh"

extern "C" __global__ void case_image_gradients(cudaTextureObject_t image, int way, const ImageRead* given, float4* out,
                                                unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    ImageRead it = given[i];
    float4 dx = make_float4(it.dx[0], it.dx[1], it.dx[2], 0), dy = make_float4(it.dy[0], it.dy[1], it.dy[2], 0);
    // The numbers are those of `Way` in cases/image.rs.
    out[i] = way == 14 ? tex3DGrad<float4>(image, it.at[0], it.at[1], it.at[2], dx, dy)
                       : texCubemapGrad<float4>(image, it.at[0], it.at[1], it.at[2], dx, dy);
}
