// Kernels whose accesses are guarded: most read an index from memory, and the product has every access of its
// tiles guarded.

extern "C" __global__ void gather(const int *index, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = y[index[i]];
}

extern "C" __global__ void scatter(const int *index, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[index[i]] = y[i];
}

extern "C" __global__ void histogram(const int *__restrict__ of, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(bins + of[i], 1);
}

// One row a thread.
extern "C" __global__ void sparse(const int *__restrict__ row, const int *__restrict__ column,
                                  const float *__restrict__ value, const float *__restrict__ x, float *y, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int k = row[i]; k < row[i + 1]; ++k) sum += value[k] * x[column[k]];
    y[i] = sum;
}

// One row a warp.
extern "C" __global__ void sparse_warp(const int *__restrict__ row, const int *__restrict__ column,
                                       const float *__restrict__ value, const float *__restrict__ x, float *y,
                                       int rows) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= rows) return;
    float sum = 0;
    for (int k = row[i] + lane; k < row[i + 1]; k += 32) sum += value[k] * x[column[k]];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    if (lane == 0) y[i] = sum;
}

// A step of a breadth-first search: all vertices at a depth visit their neighbours.
extern "C" __global__ void visit(const int *row, const int *column, int *depth, int *changed, int now, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || depth[i] != now) return;
    for (int k = row[i]; k < row[i + 1]; ++k) {
        int to = column[k];
        if (depth[to] < 0) {
            depth[to] = now + 1;
            *changed = 1;
        }
    }
}

// Rank flows along edges.
extern "C" __global__ void push(const int *row, const int *column, const float *rank, float *next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int first = row[i], last = row[i + 1];
    float part = rank[i] / (last - first);
    for (int k = first; k < last; ++k) atomicAdd(next + column[k], part);
}

// Rows of a table by token, four numbers a thread.
extern "C" __global__ void embedding(const int *token, const float4 *table, float4 *out, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[token[i / width] * width + i % width];
}

// A table of keys with linear probing.
extern "C" __global__ void lookup(const int *key, const int *keys, const int *values, int *out, int mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int wanted = key[i], at = wanted * 0x9e3779b1u & mask;
    while (keys[at] != wanted && keys[at] != -1) at = (at + 1) & mask;
    out[i] = values[at];
}

// A product by tiles of 32 by 32.
extern "C" __global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[32][32], t[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 32) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
