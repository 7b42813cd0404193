// Kernels with one planted error each (`wrong_`), and right ones beside them (`right_`). planted.tsv has a
// launch for each, with the bytes behind each pointer.

extern "C" __global__ void wrong_at_most(float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = 1.0f;
}

extern "C" __global__ void wrong_no_guard(float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = static_cast<float>(n);
}

extern "C" __global__ void wrong_one_after(float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i + 1] = 1.0f;
}

extern "C" __global__ void wrong_one_before(float* x, unsigned n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i - 1] = 1.0f;
}

extern "C" __global__ void wrong_or(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x - 8;
    if (i >= 0 || i < n) x[i] = 1.0f;
}

extern "C" __global__ void wrong_swapped_axes(float* x, unsigned width, unsigned height) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && column < width) x[column * width + row] = 1.0f;
}

extern "C" __global__ void right_axes(float* x, unsigned width, unsigned height) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && column < width) x[row * width + column] = 1.0f;
}

extern "C" __global__ void wrong_swapped_guard(float* x, unsigned width, unsigned height) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < width && column < height) x[row * width + column] = 1.0f;
}

// 32 bits wrap before the comparison, and the index is computed again in 64.
extern "C" __global__ void wrong_wrap(float* x, unsigned n) {
    unsigned i = threadIdx.x;
    if (i * 0x01000001u < n) x[static_cast<unsigned long long>(i) * 0x01000001ull] = 1.0f;
}

// Unsigned: i - 1 of 0 is large, and so is the sum that brings it back.
extern "C" __global__ void wrong_unsigned_minus_one(float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i - 1 < n) x[i] = 1.0f;
}

extern "C" __global__ void wrong_gather(const int* index, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[index[i]] = 1.0f;
}

extern "C" __global__ void wrong_half_guard_on_gather(const int* index, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = index[i];
    if (j < n) x[j] = 1.0f;
}

extern "C" __global__ void right_gather(const int* index, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int j = index[i];
    if (j >= 0 && j < n) x[j] = 1.0f;
}

extern "C" __global__ void right_unsigned_gather(const unsigned* index, float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned j = index[i];
    if (j < n) x[j] = 1.0f;
}

// The guard reads the index once more: another thread may have changed it.
extern "C" __global__ void wrong_guard_reads_again(volatile int* index, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (index[i] >= 0 && index[i] < n) x[index[i]] = 1.0f;
}

extern "C" __global__ void wrong_shared_array(float* x, unsigned n) {
    __shared__ float part[255];
    part[threadIdx.x] = x[threadIdx.x < n ? threadIdx.x : 0];
    __syncthreads();
    if (threadIdx.x < n) x[threadIdx.x] = part[threadIdx.x ^ 1];
}

extern "C" __global__ void right_shared_array(float* x, unsigned n) {
    __shared__ float part[256];
    part[threadIdx.x] = x[threadIdx.x < n ? threadIdx.x : 0];
    __syncthreads();
    if (threadIdx.x < n) x[threadIdx.x] = part[threadIdx.x ^ 1];
}

extern "C" __global__ void wrong_grid_stride(float* x, unsigned n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x) x[i] = 1.0f;
}

extern "C" __global__ void wrong_steps_over_the_bound(float* x, unsigned n) {
    unsigned i = 0;
    do {
        x[i] = 1.0f;
        i += 7;
    } while (i < n + 7);
}

extern "C" __global__ void wrong_counts_down(float* x, int n) {
    for (int i = n; i >= 0; i -= 2) x[i] = 1.0f;
}

extern "C" __global__ void right_counts_down(float* x, int n) {
    for (int i = n - 1; i >= 0; i -= 2) x[i] = 1.0f;
}

extern "C" __global__ void wrong_local_array(int* x, int n) {
    int all[16];
    for (int i = 0; i < 16; i++) all[i] = x[i];
    x[0] = all[n & 31];
    all[x[1] & 31] = x[2];
    for (int i = 0; i < 16; i++) x[i] = all[i];
}

extern "C" __global__ void right_local_array(int* x, int n) {
    int all[16];
    for (int i = 0; i < 16; i++) all[i] = x[i];
    all[x[1] & 15] = x[2];
    x[0] = all[n & 15];
    for (int i = 0; i < 16; i++) x[i] = all[i];
}

extern "C" __global__ void wrong_loop_bound_from_memory(float* x, const int* n) {
    for (int i = 0; i < *n; i++) x[i] = 1.0f;
}

extern "C" __global__ void wrong_element_size(float* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<double*>(x)[i] = 1.0;
}

extern "C" __global__ void wrong_vector_load(const float* x, float* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 four = *reinterpret_cast<const float4*>(x + i);
    y[i] = four.x + four.y + four.z + four.w;
}

extern "C" __global__ void wrong_signed_guard(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x - 4;
    if (i < n) x[i] = 1.0f;
}

extern "C" __global__ void wrong_dynamic_shared(float* x) {
    extern __shared__ float dynamic[];
    dynamic[threadIdx.x + 1] = 1.0f;
    __syncthreads();
    x[threadIdx.x] = dynamic[threadIdx.x];
}

extern "C" __global__ void right_dynamic_shared(float* x) {
    extern __shared__ float dynamic[];
    dynamic[threadIdx.x] = 1.0f;
    __syncthreads();
    x[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void wrong_minimum(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[min(i, n)] = 1.0f;
}

extern "C" __global__ void right_minimum(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[min(i, n - 1)] = 1.0f;
}

extern "C" __global__ void wrong_remainder(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[(i - 7) % n] = 1.0f;
}

extern "C" __global__ void right_remainder(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i % n] = 1.0f;
}

extern "C" __global__ void wrong_table(const unsigned char* bytes, int* x) {
    x[bytes[threadIdx.x]] = 1;
}

extern "C" __global__ void right_table(const unsigned char* bytes, int* x) {
    x[bytes[threadIdx.x]] = 1;
}

extern "C" __global__ void wrong_pointer_from_memory(float** rows, unsigned n) {
    unsigned i = threadIdx.x;
    if (i < n) rows[i][0] = 1.0f;
}

extern "C" __global__ void wrong_two_arrays(float* x, float* y, unsigned n, int which) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float* one = x[0] > 0.0f ? x : y;
    if (i < n) one[i] = 1.0f;
}

// The index is written as bytes and read as words: what was loaded need not be what its guard saw.
extern "C" __global__ void wrong_written_in_pieces(unsigned* index, float* x, unsigned n) {
    reinterpret_cast<unsigned char*>(index)[threadIdx.x] = 200;
    unsigned j = index[threadIdx.x & 31];
    if (j < n) x[j] = 1.0f;
}
