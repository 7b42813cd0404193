// Pointers that kernels only read, although they are no `const T*`.

__device__ __noinline__ float load(float* from, unsigned at) { return from[at]; }

/// `out[i] = in[i] + table[i % 4]`. The compiled code shows that `in` and `table` are only read.
__global__ void add_table(float* in, int* table, float* out) {
    unsigned i = threadIdx.x;
    out[i] = in[i] + table[i % 4];
}

/// `out[i] = in[i]`. It passes `in` on, so that the code does not show that `in` is only read.
__global__ void copy_passed(float* in, float* out) { out[threadIdx.x] = load(in, threadIdx.x); }

/// The same, with the promise.
///
/// @reads in
__global__ void copy_promised(float* in, float* out) { out[threadIdx.x] = load(in, threadIdx.x); }
