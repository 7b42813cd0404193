// The smallest whole program: it squares ten integers.
#include "../check.cuh"
#include "vector.cuh"

int main() {
    const int n = 10;
    int numbers[n], squares[n];
    for (int i = 0; i < n; ++i) numbers[i] = i;

    int *d_numbers, *d_squares;
    CHECK(cudaMalloc(&d_numbers, sizeof numbers));
    CHECK(cudaMalloc(&d_squares, sizeof squares));
    CHECK(cudaMemcpy(d_numbers, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    square<<<1, n>>>(d_numbers, d_squares, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(squares, d_squares, sizeof squares, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_numbers));
    CHECK(cudaFree(d_squares));

    for (int i = 0; i < n; ++i) {
        EXPECT(squares[i] == i * i);
        std::printf("%d squared is %d\n", i, squares[i]);
    }
}
