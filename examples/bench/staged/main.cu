// Blocking copies between pageable memory and a device by cudaMemcpy: the C++ side of the program in this
// folder.
//
// Prints a description of the machine. Then it answers every line "OPERATION BYTES COPIES" of standard
// input with the nanoseconds of one copy: the median of COPIES copies, after one that does not count.
// Each copy uses the next part of the memory, so that its bytes are not in the processor's caches.
//
//     up       from host memory with data to the device
//     down     from the device to host memory that was written before
//     fresh    from the device to newly allocated host memory, which is freed afterwards
#include "../../check.cuh"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

template <typename Copy>
double time(unsigned copies, Copy copy) {
    std::vector<double> times;
    for (unsigned i = 0; i <= copies; ++i) {
        CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        copy();
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        if (i > 0) times.push_back(spent.count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
    EXPECT(count == 2);
    const size_t room = std::strtoull(arguments[1], nullptr, 10);
    cudaDeviceProp properties;
    int driver, runtime;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));

    char* device;
    CHECK(cudaMalloc(&device, room));
    CHECK(cudaMemset(device, 1, room));
    std::vector<char> host(room, 2);

    std::cout << properties.name << "; runtime " << runtime / 1000 << '.' << runtime % 1000 / 10 << ", driver for "
              << driver / 1000 << '.' << driver % 1000 / 10 << std::endl;
    std::string operation;
    size_t bytes;
    unsigned copies;
    size_t next = 0;
    while (std::cin >> operation >> bytes >> copies) {
        EXPECT(bytes > 0 && bytes <= room && copies > 0);
        const auto at = [&] {
            if (next + bytes > room) next = 0;
            next += bytes;
            return next - bytes;
        };
        double spent = 0;
        if (operation == "up") {
            spent = time(copies, [&] {
                const size_t here = at();
                CHECK(cudaMemcpy(device + here, &host[here], bytes, cudaMemcpyHostToDevice));
            });
        } else if (operation == "down") {
            spent = time(copies, [&] {
                const size_t here = at();
                CHECK(cudaMemcpy(&host[here], device + here, bytes, cudaMemcpyDeviceToHost));
            });
        } else {
            EXPECT(operation == "fresh");
            spent = time(copies, [&] {
                void* memory = std::malloc(bytes);
                CHECK(cudaMemcpy(memory, device + at(), bytes, cudaMemcpyDeviceToHost));
                std::free(memory);
            });
        }
        std::cout << spent << std::endl;
    }
    CHECK(cudaFree(device));
}
