// A kernel and its constant, compiled when the program runs.
//
// The source is PTX, as NVRTC also writes it. The program also shows the errors of wrong PTX.
#include "../check.cuh"

#include <string>
#include <vector>

// extern "C" __global__ void scale(float* data, unsigned n), with __constant__ float factor = 2.
const char* const ptx = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .const .align 4 .f32 factor = 0f40000000;
.visible .entry scale(.param .u64 data, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.const.f32 %f2, [factor];
    mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd3], %f3;
DONE:
    ret;
})";

void report(cudaError_t code, const char* log) {
    std::printf("%s (%d)\n", cudaGetErrorName(code), int(code));
    std::fprintf(stderr, "%s: %s\n", cudaGetErrorString(code), log);
    EXPECT(cudaGetLastError() == code);  // clears the error
}

int main() {
    unsigned n = 1000;
    std::vector<float> data(n);
    for (unsigned i = 0; i < n; ++i) data[i] = float(i);

    cudaLibrary_t library;
    CHECK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    void* factor;
    size_t bytes;
    CHECK(cudaLibraryGetGlobal(&factor, &bytes, library, "factor"));
    EXPECT(bytes == sizeof(float));
    cudaKernel_t scale;
    CHECK(cudaLibraryGetKernel(&scale, library, "scale"));
    unsigned count;
    CHECK(cudaLibraryGetKernelCount(&count, library));
    std::vector<cudaKernel_t> kernels(count);
    CHECK(cudaLibraryEnumerateKernels(kernels.data(), count, library));
    std::string names;
    for (cudaKernel_t kernel : kernels) {
        const char* name;
        CHECK(cudaFuncGetName(&name, reinterpret_cast<const void*>(kernel)));
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    std::printf("%u kernel: %s\n", count, names.c_str());

    float* d_data;
    CHECK(cudaMalloc(&d_data, n * sizeof(float)));
    CHECK(cudaMemcpy(d_data, data.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    void* arguments[] = {&d_data, &n};
    for (const float by : {2.0f, 5.0f}) {
        CHECK(cudaMemcpy(factor, &by, sizeof by, cudaMemcpyHostToDevice));
        CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(scale), (n + 255) / 256, 256, arguments, 0, nullptr));
    }
    CHECK(cudaMemcpy(data.data(), d_data, n * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("element 999 is %g\n", data[999]);
    for (unsigned i = 0; i < n; ++i) EXPECT(data[i] == 10.0f * float(i));

    report(cudaLibraryGetKernel(&scale, library, "scales"), names.c_str());
    char log[4096] = "";
    cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    cudaLibrary_t wrong;
    const char* const text = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry }";
    cudaError_t code = cudaLibraryLoadData(&wrong, text, options, values, 2, nullptr, nullptr, 0);
    if (code == cudaSuccess) {
        // A driver that compiles late returns only the log at first, and then refuses the kernels.
        code = cudaLibraryGetKernel(&scale, wrong, "scale");
        CHECK(cudaLibraryUnload(wrong));
    }
    report(code, log);

    CHECK(cudaFree(d_data));
    CHECK(cudaLibraryUnload(library));
}
