// Images: read by textures, which filter and handle positions outside, and written by surfaces.
#pragma once

#include <cuda_runtime.h>

/// Rotates an image by an angle around its centre. `out` has `width` x `height` elements, row by row.
/// Each element gets the texture's value at the position that the rotation maps to it.
///
/// The texture has `float` elements and coordinates that count elements. Any two-dimensional block works:
/// `x` runs over columns, `y` over rows.
extern "C" __global__ void rotate_image(cudaTextureObject_t image, float* out, unsigned width, unsigned height, float angle);

/// Writes `step_x` times the column plus `step_y` times the row to each of `width` x `height` `float`
/// elements.
///
/// Any two-dimensional block works: `x` runs over columns, `y` over rows.
extern "C" __global__ void paint_gradient(cudaSurfaceObject_t image, unsigned width, unsigned height, float step_x,
                                          float step_y);
