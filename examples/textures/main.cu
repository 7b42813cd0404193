// One kernel paints an image, and another rotates it.
//
// The first kernel writes through a surface, and the second reads a texture.
#include "../check.cuh"
#include "image.cuh"

int main() {
    const unsigned n = 4;
    const float half_a_turn = 3.14159265f;
    float turned[n * n];

    cudaArray_t image;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&image, &format, n, n, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = image;
    cudaTextureDesc desc = {};
    desc.addressMode[0] = desc.addressMode[1] = cudaAddressModeBorder;
    desc.filterMode = cudaFilterModeLinear;
    cudaSurfaceObject_t surface;
    cudaTextureObject_t texture;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));

    float* d_turned;
    CHECK(cudaMalloc(&d_turned, sizeof turned));
    const dim3 block(16, 16);
    paint_gradient<<<1, block>>>(surface, n, n, 1.0f, 10.0f);
    rotate_image<<<1, block>>>(texture, d_turned, n, n, half_a_turn);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(turned, d_turned, sizeof turned, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n * n; ++i) std::printf("%.0f%c", turned[i], i % n + 1 < n ? ' ' : '\n');
    EXPECT(turned[0] == 33.0f);

    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(image));
    CHECK(cudaFree(d_turned));
}
