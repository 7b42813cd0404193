// Errors of calls that fail; work continues after them.
//
// One line for each mistake goes to standard output, and the library's whole sentence goes to standard
// error. A mistake has no lasting effect: memory is unchanged, and work goes on.
#include "../check.cuh"
#include "vector.cuh"

#include <cstdint>
#include <vector>

void report(const char* mistake, cudaError_t code) {
    EXPECT(code != cudaSuccess);
    std::fprintf(stderr, "%s: %s\n", mistake, cudaGetErrorString(code));
    std::printf("%s: %s (%d)\n", mistake, cudaGetErrorName(code), int(code));
    EXPECT(cudaGetLastError() == code);  // clears the error
    EXPECT(cudaGetLastError() == cudaSuccess);
}

void make_mistakes() {
    const size_t n = 1000, too_much = SIZE_MAX / 2;
    std::vector<uint8_t> host(2 * n);
    uint8_t* p = nullptr;
    size_t pitch;

    report("more device memory than there is", cudaMalloc(&p, too_much));
    report("more pinned memory than there is", cudaMallocHost(&p, too_much));
    report("more managed memory than there is", cudaMallocManaged(&p, too_much));
    report("more rows than there is memory for", cudaMallocPitch(&p, &pitch, 1, SIZE_MAX));
    report("pinned memory with unknown flags", cudaHostAlloc(&p, n, 1 << 20));
    report("registering no memory at all", cudaHostRegister(nullptr, n, cudaHostRegisterDefault));
    EXPECT(p == nullptr);

    uint8_t* d_data;
    CHECK(cudaMalloc(&d_data, n));
    CHECK(cudaMemset(d_data, 1, n));
    report("an upload longer than its destination", cudaMemcpy(d_data, host.data(), 2 * n, cudaMemcpyHostToDevice));
    report("a download longer than its source", cudaMemcpy(host.data(), d_data, 2 * n, cudaMemcpyDeviceToHost));
    report("a memset longer than its destination", cudaMemset(d_data, 0, 2 * n));
    report("a copy from a null pointer", cudaMemcpy(d_data, nullptr, n, cudaMemcpyHostToDevice));
    report("a copy in no direction", cudaMemcpy(d_data, host.data(), n, cudaMemcpyKind(100)));
    report("a copy on the device with host memory", cudaMemcpy(d_data, host.data(), n, cudaMemcpyDeviceToDevice));

    report("a launch of no blocks", (square<<<0, 32>>>(nullptr, nullptr, 0), cudaPeekAtLastError()));
    report("a launch of blocks too large", (square<<<1, 4096>>>(nullptr, nullptr, 0), cudaPeekAtLastError()));
    report("a device that is not there", cudaSetDevice(1000));

    std::vector<uint8_t> ones(n);
    CHECK(cudaMemcpy(ones.data(), d_data, n, cudaMemcpyDeviceToHost));
    for (uint8_t one : ones) EXPECT(one == 1);
    CHECK(cudaFree(d_data));
    report("a copy from memory that is freed", cudaMemcpy(host.data(), d_data, n, cudaMemcpyDeviceToHost));
    report("memory freed twice", cudaFree(d_data));
    report("host memory freed as device memory", cudaFree(host.data()));
}

int main() {
    make_mistakes();
    size_t before, after, total;
    CHECK(cudaMemGetInfo(&before, &total));
    std::printf("and all of it once more\n");
    make_mistakes();
    CHECK(cudaMemGetInfo(&after, &total));
    std::printf("free device memory is what it was: %s\n", yes_no(after == before));
}
