// A stream and memory of the driver API in the hands of the runtime API, under load from eight threads.
//
// First, one stream and one array of the driver: kernels and copies take turns, in order. Then eight threads
// do the same at once. The driver's library is loaded at run time, as cudarc does, because the emulator does
// not provide it. Both APIs use the device's primary context, so an address or a stream of one side means the
// same to the other. (In the Rust port the driver's side is the crate cudarc, and the order between the two
// sides is the tracker's and cudarc's.)
#include "../check.cuh"

#include <cuda.h>
#include <dlfcn.h>

#include <thread>
#include <vector>

#include "vector.cuh"

static __global__ void accumulate(const int* from, int* sum, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] += from[i];
}

// The functions of the driver that the program calls.
struct Driver {
    CUresult (*Init)(unsigned);
    CUresult (*DeviceGet)(CUdevice*, int);
    CUresult (*DevicePrimaryCtxRetain)(CUcontext*, CUdevice);
    CUresult (*DevicePrimaryCtxRelease_v2)(CUdevice);
    CUresult (*CtxSetCurrent)(CUcontext);
    CUresult (*StreamCreate)(CUstream*, unsigned);
    CUresult (*StreamDestroy_v2)(CUstream);
    CUresult (*StreamSynchronize)(CUstream);
    CUresult (*MemAlloc_v2)(CUdeviceptr*, size_t);
    CUresult (*MemFree_v2)(CUdeviceptr);
    CUresult (*MemcpyHtoDAsync_v2)(CUdeviceptr, const void*, size_t, CUstream);
    CUresult (*MemcpyDtoHAsync_v2)(void*, CUdeviceptr, size_t, CUstream);
    CUresult (*MemcpyDtoDAsync_v2)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    CUresult (*MemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
};
static Driver cu;

static bool load_driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return false;
#define LOAD(name) EXPECT(cu.name = reinterpret_cast<decltype(cu.name)>(dlsym(library, "cu" #name)))
    LOAD(Init);
    LOAD(DeviceGet);
    LOAD(DevicePrimaryCtxRetain);
    LOAD(DevicePrimaryCtxRelease_v2);
    LOAD(CtxSetCurrent);
    LOAD(StreamCreate);
    LOAD(StreamDestroy_v2);
    LOAD(StreamSynchronize);
    LOAD(MemAlloc_v2);
    LOAD(MemFree_v2);
    LOAD(MemcpyHtoDAsync_v2);
    LOAD(MemcpyDtoHAsync_v2);
    LOAD(MemcpyDtoDAsync_v2);
    LOAD(MemsetD8Async);
#undef LOAD
    return true;
}

#define DRIVER(call) EXPECT(cu.call == CUDA_SUCCESS)

// Makes the work of one stream wait for all that the other was given.
static void wait_for(cudaStream_t stream, cudaEvent_t event, cudaStream_t other) {
    CHECK(cudaEventRecord(event, other));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
}

// One round: the numbers are doubled and accumulated by the runtime, copied and cleared by the driver, and
// both are increased by the runtime.
static void round_of(std::vector<int>& numbers, std::vector<int>& rest, const int* ones) {
    const unsigned count = unsigned(numbers.size());
    const size_t bytes = count * sizeof(int);
    CUstream theirs;
    cudaStream_t own;
    cudaEvent_t event;
    DRIVER(StreamCreate(&theirs, CU_STREAM_NON_BLOCKING));
    CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUdeviceptr slice, copy;
    DRIVER(MemAlloc_v2(&slice, bytes));
    DRIVER(MemAlloc_v2(&copy, bytes));
    int *d_slice = reinterpret_cast<int*>(slice), *d_copy = reinterpret_cast<int*>(copy);

    const unsigned blocks = (count + 255) / 256;
    DRIVER(MemcpyHtoDAsync_v2(slice, numbers.data(), bytes, theirs));
    wait_for(own, event, theirs);
    double_values<<<blocks, 256, 0, own>>>(d_slice, count);
    CHECK(cudaGetLastError());
    accumulate<<<blocks, 256, 0, own>>>(ones, d_slice, count);
    CHECK(cudaGetLastError());
    wait_for(theirs, event, own);
    DRIVER(MemcpyDtoDAsync_v2(copy, slice, bytes, theirs));
    DRIVER(MemsetD8Async(slice, 0, bytes, theirs));
    wait_for(own, event, theirs);
    add_one<<<blocks, 256, 0, own>>>(d_slice, count);
    CHECK(cudaGetLastError());
    add_one<<<blocks, 256, 0, own>>>(d_copy, count);
    CHECK(cudaGetLastError());
    wait_for(theirs, event, own);
    DRIVER(MemcpyDtoHAsync_v2(numbers.data(), copy, bytes, theirs));
    DRIVER(MemcpyDtoHAsync_v2(rest.data(), slice, bytes, theirs));
    DRIVER(StreamSynchronize(theirs));

    DRIVER(MemFree_v2(slice));
    DRIVER(MemFree_v2(copy));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(own));
    DRIVER(StreamDestroy_v2(theirs));
}

int main() {
    if (!load_driver()) {
        std::fprintf(stderr, "not run: no libcuda, which the emulator does not provide\n");
        return 77;
    }
    CUdevice device;
    CUcontext context;
    DRIVER(Init(0));
    DRIVER(DeviceGet(&device, 0));
    DRIVER(DevicePrimaryCtxRetain(&context, device));
    DRIVER(CtxSetCurrent(context));

    const int threads = 8, rounds = 200;
    const size_t n = 4099;
    int* ones;
    CHECK(cudaMalloc(&ones, n * sizeof(int)));
    const std::vector<int> h_ones(n, 1);
    CHECK(cudaMemcpy(ones, h_ones.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    std::vector<int> numbers = {1, 2, 3, 4, 5}, rest(5);
    round_of(numbers, rest, ones);
    std::printf("in turns: [%d, %d, %d, %d, %d]\n", numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);

    std::vector<std::thread> all;
    for (int number = 0; number < threads; ++number) {
        all.emplace_back([=] {
            DRIVER(CtxSetCurrent(context));
            for (int round = 0; round < rounds; ++round) {
                std::vector<int> start(n), rest(n);
                for (size_t i = 0; i < n; ++i) start[i] = number * 1000 + round + int(i % 7);
                std::vector<int> numbers = start;
                round_of(numbers, rest, ones);
                for (size_t i = 0; i < n; ++i) EXPECT(numbers[i] == start[i] * 2 + 2 && rest[i] == 1);
            }
        });
    }
    for (std::thread& thread : all) thread.join();
    std::printf("%d threads, %d rounds each: all results are right\n", threads, rounds);

    CHECK(cudaFree(ones));
    DRIVER(DevicePrimaryCtxRelease_v2(device));
}
