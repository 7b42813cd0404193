// Chooses the size of a block by the occupancy of the device.
//
// A kernel runs with small blocks, and then with blocks of the size for which the most threads run at the
// same time. Times go to standard error.
#include "../check.cuh"
#include "vector.cuh"

#include <vector>

const int n = 100000;

double occupancy(int block) {
    int device, blocks;
    cudaDeviceProp properties;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, square, block, 0));
    return 100.0 * blocks * block / properties.maxThreadsPerMultiProcessor;
}

void run(const char* name, int block, const int* d_in, int* d_out) {
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaMemset(d_out, 0, n * sizeof(int)));
    const int grid = (n + block - 1) / block;
    CHECK(cudaEventRecord(start, 0));
    square<<<grid, block>>>(d_in, d_out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop, 0));
    CHECK(cudaEventSynchronize(stop));

    std::vector<int> squares(n);
    CHECK(cudaMemcpy(squares.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) EXPECT(squares[i] == (i % 100) * (i % 100));
    std::printf("%s: %d blocks of %d, occupancy %.1f %%\n", name, grid, block, occupancy(block));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    std::fprintf(stderr, "%s: %.3f ms\n", name, ms);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
}

int main() {
    std::vector<int> numbers(n);
    for (int i = 0; i < n; ++i) numbers[i] = i % 100;
    int *d_numbers, *d_squares;
    CHECK(cudaMalloc(&d_numbers, n * sizeof(int)));
    CHECK(cudaMalloc(&d_squares, n * sizeof(int)));
    CHECK(cudaMemcpy(d_numbers, numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    run("small blocks", 32, d_numbers, d_squares);
    int least, block;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &block, square, 0, 0));
    std::printf("the device is full with %d blocks of %d\n", least, block);
    run("suggested blocks", block, d_numbers, d_squares);

    CHECK(cudaFree(d_numbers));
    CHECK(cudaFree(d_squares));
}
