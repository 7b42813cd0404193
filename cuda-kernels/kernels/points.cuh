// Records of three coordinates: structs cross to the device as arrays and as kernel arguments by value.
#pragma once

#include <cuda_runtime.h>

/// A point in space.
struct Point {
    /// Coordinate along the first axis.
    float x;
    /// Coordinate along the second axis.
    float y;
    /// Coordinate along the third axis.
    float z;
};

/// Scales and moves every point, in place: each coordinate becomes `coordinate * scale + offset`.
extern "C" __global__ void transform_points(Point* points, Point scale, Point offset, unsigned count);
