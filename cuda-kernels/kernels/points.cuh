// Points of three coordinates: structs reach the device as arrays and as kernel arguments by value.
#pragma once

#include <cuda_runtime.h>

/// A point in space.
struct Point {
    /// The coordinate along the first axis.
    float x;
    /// The coordinate along the second axis.
    float y;
    /// The coordinate along the third axis.
    float z;
};

/// Scales and moves every point in place: each coordinate becomes `coordinate * scale + offset`.
extern "C" __global__ void transform_points(Point* points, Point scale, Point offset, unsigned count);
