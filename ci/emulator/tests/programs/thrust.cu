// The algorithms of Thrust, whose kernels use most features of a device.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

struct IsOdd {
    __host__ __device__ bool operator()(unsigned number) const { return number & 1; }
};

int main() {
    std::vector<unsigned> numbers(50'000);
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = unsigned(i * 2654435761u) ^ unsigned(i << 7);
    thrust::device_vector<unsigned> device(numbers.begin(), numbers.end());
    const auto sum = thrust::reduce(device.begin(), device.end(), 0ull);
    printf("reduce: %s\n", sum == std::accumulate(numbers.begin(), numbers.end(), 0ull) ? "right" : "wrong");
    thrust::device_vector<unsigned> some(numbers.size());
    some.resize(thrust::copy_if(device.begin(), device.end(), some.begin(), IsOdd()) - some.begin());
    std::vector<unsigned> odd(numbers.size());
    odd.resize(std::copy_if(numbers.begin(), numbers.end(), odd.begin(), IsOdd()) - odd.begin());
    thrust::host_vector<unsigned> selected = some;
    printf("copy_if: %s\n", std::equal(odd.begin(), odd.end(), selected.begin(), selected.end()) ? "right" : "wrong");
    auto same = [&](const char* what) {
        const std::vector<unsigned> got = [&] {
            thrust::host_vector<unsigned> host = device;
            return std::vector<unsigned>(host.begin(), host.end());
        }();
        printf("%s: %s\n", what, got == numbers ? "right" : "wrong");
    };
    thrust::sort(device.begin(), device.end());
    std::sort(numbers.begin(), numbers.end());
    same("sort");
    thrust::inclusive_scan(device.begin(), device.end(), device.begin());
    std::partial_sum(numbers.begin(), numbers.end(), numbers.begin());
    same("inclusive_scan");
}
