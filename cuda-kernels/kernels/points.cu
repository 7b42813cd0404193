#include "points.cuh"

extern "C" __global__ void transform_points(Point* points, Point scale, Point offset, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;

    Point point = points[i];
    point.x = fmaf(point.x, scale.x, offset.x);
    point.y = fmaf(point.y, scale.y, offset.y);
    point.z = fmaf(point.z, scale.z, offset.z);
    points[i] = point;
}
