#include "image.cuh"

extern "C" __global__ void rotate_image(cudaTextureObject_t image, float* out, unsigned width, unsigned height, float angle) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= height || column >= width) return;

    // The centre of an element is half an element from its edge.
    float middle_x = 0.5f * static_cast<float>(width);
    float middle_y = 0.5f * static_cast<float>(height);
    float x = static_cast<float>(column) + 0.5f - middle_x;
    float y = static_cast<float>(row) + 0.5f - middle_y;
    float sine = sinf(angle);
    float cosine = cosf(angle);
    out[static_cast<size_t>(row) * width + column] =
        tex2D<float>(image, fmaf(x, cosine, y * sine) + middle_x, fmaf(y, cosine, -x * sine) + middle_y);
}

extern "C" __global__ void paint_gradient(cudaSurfaceObject_t image, unsigned width, unsigned height, float step_x,
                                          float step_y) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= height || column >= width) return;

    float value = fmaf(step_x, static_cast<float>(column), step_y * static_cast<float>(row));
    // Surface functions count the column in bytes.
    surf2Dwrite(value, image, static_cast<int>(column * sizeof(float)), static_cast<int>(row));
}
