// Matrix products of any shape, naive and tiled.
//
// They are computed element by element, and tile by tile through shared memory, in blocks of 16 x 16
// threads, for square, ragged and thin shapes. Every product goes through a staging buffer on the device.
// The numbers are small integers, so both methods and the host give identical results.
#include "../check.cuh"
#include "matrix.cuh"

#include <vector>

void multiply(unsigned rows, unsigned inner, unsigned columns) {
    std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns);
    for (unsigned i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 3.0f;
    for (unsigned i = 0; i < b.size(); ++i) b[i] = float(i % 5) - 1.0f;

    float *d_a, *d_b, *d_c, *d_staging;
    CHECK(cudaMalloc(&d_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_c, c.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_staging, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    const dim3 block(16, 16), grid((columns + 15) / 16, (rows + 15) / 16);
    for (const char* way : {"naive", "tiled"}) {
        if (way[0] == 'n')
            matrix_multiply_naive<<<grid, block>>>(d_a, d_b, d_c, rows, inner, columns);
        else
            matrix_multiply_tiled<<<grid, block>>>(d_a, d_b, d_c, rows, inner, columns);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(d_staging, d_c, c.size() * sizeof(float), cudaMemcpyDeviceToDevice));
        CHECK(cudaMemcpy(c.data(), d_staging, c.size() * sizeof(float), cudaMemcpyDeviceToHost));

        double sum = 0;
        for (unsigned row = 0; row < rows; ++row)
            for (unsigned column = 0; column < columns; ++column) {
                float expected = 0;
                for (unsigned k = 0; k < inner; ++k) expected += a[row * inner + k] * b[k * columns + column];
                EXPECT(c[row * columns + column] == expected);
                sum += expected;
            }
        std::printf("%u x %u times %u x %u, %s: right, the elements' sum is %.0f\n", rows, inner, inner, columns, way, sum);
    }

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    CHECK(cudaFree(d_staging));
}

int main() {
    multiply(64, 64, 64);
    multiply(33, 17, 70);
    multiply(16, 100, 5);
    multiply(1, 1, 1);
}
