// Compiles a template from source while the program runs, and launches it.
//
// NVRTC makes PTX of the source, and the runtime's library functions load it.
// ci/twins links it with: nvrtc
#include "../check.cuh"

#include <string>
#include <vector>

#ifndef HAVE_NVRTC
int main() {
    std::fprintf(stderr, "not run: no NVRTC\n");
    return 77;
}
#else
#include <nvrtc.h>

#define NVRTC(call)                                                                                                  \
    do {                                                                                                             \
        const nvrtcResult nvrtc_result = (call);                                                                     \
        if (nvrtc_result != NVRTC_SUCCESS) {                                                                         \
            std::fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call,                                  \
                         nvrtcGetErrorString(nvrtc_result), int(nvrtc_result));                                      \
            std::exit(EXIT_FAILURE);                                                                                 \
        }                                                                                                            \
    } while (false)

const char* const source = R"(
template <typename T> __global__ void axpy(T a, const T* x, T* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
})";

// Compiles CUDA C++ to PTX. A wrong source prints NVRTC's messages, and leaves both texts empty.
void compile(const char* file, const char* text, const char* kernel, const std::string& architecture, std::string& ptx,
             std::string& name) {
    nvrtcProgram program;
    NVRTC(nvrtcCreateProgram(&program, text, file, 0, nullptr, nullptr));
    NVRTC(nvrtcAddNameExpression(program, kernel));
    const char* const options[] = {architecture.c_str()};
    const nvrtcResult result = nvrtcCompileProgram(program, 1, options);
    size_t bytes;
    if (result == NVRTC_SUCCESS) {
        const char* lowered;
        NVRTC(nvrtcGetLoweredName(program, kernel, &lowered));
        name = lowered;
        NVRTC(nvrtcGetPTXSize(program, &bytes));
        ptx.resize(bytes);
        NVRTC(nvrtcGetPTX(program, ptx.data()));
    } else {
        NVRTC(nvrtcGetProgramLogSize(program, &bytes));
        std::string log(bytes, '\0');
        NVRTC(nvrtcGetProgramLog(program, log.data()));
        std::printf("%s\n", log.c_str());
    }
    NVRTC(nvrtcDestroyProgram(&program));
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    const std::string architecture =
        "--gpu-architecture=compute_" + std::to_string(properties.major) + std::to_string(properties.minor);
    std::string ptx, name;
    compile("axpy.cu", source, "axpy<float>", architecture, ptx, name);
    cudaLibrary_t library;
    CHECK(cudaLibraryLoadData(&library, ptx.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    cudaKernel_t axpy;
    CHECK(cudaLibraryGetKernel(&axpy, library, name.c_str()));
    std::printf("%s\n", name.c_str());

    unsigned n = 1000;
    std::vector<float> x(n), y(n, 1.0f);
    for (unsigned i = 0; i < n; ++i) x[i] = float(i);
    float a = 2, *d_x, *d_y;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&d_x, n * sizeof(float)));
    CHECK(cudaMalloc(&d_y, n * sizeof(float)));
    CHECK(cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    void* arguments[] = {&a, &d_x, &d_y, &n};
    CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(axpy), (n + 255) / 256, 256, arguments, 0, stream));
    CHECK(cudaMemcpy(y.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("y[999] = %g\n", y[999]);

    // A wrong source: NVRTC's messages have its lines.
    compile("wrong.cu", "__global__ void wrong() { y[0] = 1; }", "wrong", architecture, ptx, name);

    CHECK(cudaLibraryUnload(library));
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    CHECK(cudaStreamDestroy(stream));
    return EXIT_SUCCESS;
}
#endif
