// An array of structs, transformed on the device.
#include "../check.cuh"
#include "points.cuh"

#include <vector>

int main() {
    const unsigned n = 256, threads = 64;
    const size_t bytes = n * sizeof(Point);
    std::vector<Point> points(n);
    for (unsigned i = 0; i < n; ++i) points[i] = {float(i), float(2 * i), float(3 * i)};

    const Point scale = {2.0f, 2.0f, 0.5f}, offset = {1.0f, 0.0f, -1.0f};
    Point* d_points;
    CHECK(cudaMalloc(&d_points, bytes));
    CHECK(cudaMemcpy(d_points, points.data(), bytes, cudaMemcpyHostToDevice));
    transform_points<<<n / threads, threads>>>(d_points, scale, offset, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(points.data(), d_points, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_points));

    for (unsigned i = 0; i < n; ++i) {
        const Point& p = points[i];
        EXPECT(p.x == float(2 * i) + 1.0f && p.y == float(4 * i) && p.z == 1.5f * float(i) - 1.0f);
        if (i % 85 == 0) std::printf("point %u: (%.1f, %.1f, %.1f)\n", i, p.x, p.y, p.z);
    }
    std::printf("all %u points are right\n", n);
}
