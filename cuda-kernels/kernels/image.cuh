// Images: read by textures, which filter and know what is outside, and written by surfaces.
#pragma once

#include <cuda_runtime.h>

/// Turns an image by an angle around its middle: each element of `out`, `width` x `height` of them row by
/// row, is what the texture has at the place that comes to lie there.
///
/// The texture is one of `float` by coordinates that count elements. Any two-dimensional block will do: `x`
/// runs over columns, `y` over rows.
extern "C" __global__ void rotate_image(cudaTextureObject_t image, float* out, unsigned width, unsigned height, float angle);

/// Writes `step_x` times the column plus `step_y` times the row to each of `width` x `height` elements of
/// `float`.
///
/// Any two-dimensional block will do: `x` runs over columns, `y` over rows.
extern "C" __global__ void paint_gradient(cudaSurfaceObject_t image, unsigned width, unsigned height, float step_x,
                                          float step_y);
