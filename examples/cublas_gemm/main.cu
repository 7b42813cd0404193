// Multiplies matrices with cuBLAS, on two streams and in a graph.
//
// Both streams use one handle, and its workspace: the program orders the second product after the first.
// (In the Rust port the workspace is declared like the matrices, and the crate orders the two.)
// ci/twins links it with: cublas
#include "../check.cuh"

#include <cstring>
#include <vector>

#ifndef HAVE_CUBLAS
int main() {
    std::fprintf(stderr, "not run: no cuBLAS\n");
    return 77;
}
#else
#include <cublas_v2.h>

#define CUBLAS(call)                                                                                                 \
    do {                                                                                                             \
        const cublasStatus_t cublas_status = (call);                                                                 \
        if (cublas_status != CUBLAS_STATUS_SUCCESS) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call,                                  \
                         cublasGetStatusName(cublas_status), int(cublas_status));                                    \
            std::exit(EXIT_FAILURE);                                                                                 \
        }                                                                                                            \
    } while (false)

// c = a b, on one stream. A change of the stream resets the workspace.
static cublasStatus_t multiply(cublasHandle_t handle, void* workspace, size_t bytes, int n, const float* a,
                               const float* b, float* c, cudaStream_t stream) {
    const float one = 1, zero = 0;
    cublasStatus_t status = cublasSetStream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetWorkspace(handle, workspace, bytes);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    if (std::strncmp(properties.name, "CUDA emulator", 13) == 0) {
        std::fprintf(stderr, "not run: no GPU\n");
        return 77;
    }
    const int n = 256;
    const size_t bytes = size_t(n) * n * sizeof(float), workspace_bytes = 32 << 20;
    std::vector<float> a(size_t(n) * n), b(a.size()), d(a.size());
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7), b[i] = float(i % 5);

    float *d_a, *d_b, *d_c, *d_d;
    void* workspace;
    CHECK(cudaMalloc(&d_a, bytes));
    CHECK(cudaMalloc(&d_b, bytes));
    CHECK(cudaMalloc(&d_c, bytes));
    CHECK(cudaMalloc(&d_d, bytes));
    CHECK(cudaMalloc(&workspace, workspace_bytes));
    CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t first, second;
    cudaEvent_t done;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    cublasHandle_t handle;
    CUBLAS(cublasCreate(&handle));

    // d = (a b) b
    CUBLAS(multiply(handle, workspace, workspace_bytes, n, d_a, d_b, d_c, first));
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaStreamWaitEvent(second, done, 0));
    CUBLAS(multiply(handle, workspace, workspace_bytes, n, d_c, d_b, d_d, second));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaMemcpy(d.data(), d_d, bytes, cudaMemcpyDeviceToHost));
    std::printf("two streams: d[0] = %.0f, d[%d] = %.0f\n", d[0], n * n - 1, d[n * n - 1]);

    // The same as a graph.
    CHECK(cudaMemset(d_d, 0, bytes));
    CHECK(cudaDeviceSynchronize());
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    CUBLAS(multiply(handle, workspace, workspace_bytes, n, d_a, d_b, d_c, first));
    CUBLAS(multiply(handle, workspace, workspace_bytes, n, d_c, d_b, d_d, first));
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, first));
    CHECK(cudaStreamSynchronize(first));
    std::vector<float> again(d.size());
    CHECK(cudaMemcpy(again.data(), d_d, bytes, cudaMemcpyDeviceToHost));
    std::printf("a graph: the same, %s\n", yes_no(again == d));

    // cuBLAS's own error.
    const cublasStatus_t status = multiply(handle, workspace, workspace_bytes, -1, d_a, d_b, d_c, first);
    std::printf("-1 rows: %s (%d)\n", cublasGetStatusName(status), int(status));

    CUBLAS(cublasDestroy(handle));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    CHECK(cudaFree(d_d));
    CHECK(cudaFree(workspace));
    return EXIT_SUCCESS;
}
#endif
