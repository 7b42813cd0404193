// Ways in which kernels compute indices: each is proven, or refused, and its threads run.

extern "C" __global__ void add(const float* a, const float* b, float* sum, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

extern "C" __global__ void stride(float* x, unsigned n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 2.0f;
}

extern "C" __global__ void stride_signed(float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 2.0f;
}

extern "C" __global__ void transpose(const float* from, float* to, unsigned width, unsigned height) {
    __shared__ float tile[16][17];
    unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = from[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) to[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void stencil(const float* in, float* out, int n) {
    __shared__ float part[256 + 2 * 3];
    int i = blockIdx.x * 256 + threadIdx.x;
    int own = threadIdx.x + 3;
    part[own] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < 3) {
        part[own - 3] = i >= 3 && i - 3 < n ? in[i - 3] : 0.0f;
        part[own + 256] = i + 256 < n ? in[i + 256] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = -3; k <= 3; k++) sum += part[own + k];
    if (i < n) out[i] = sum;
}

extern "C" __global__ void reduce(const int* in, int* out, unsigned n) {
    __shared__ int found[256];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    found[threadIdx.x] = i < n ? in[i] : 0;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) found[threadIdx.x] += found[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = found[0];
}

extern "C" __global__ void bitonic(int* x) {
    __shared__ int all[256];
    all[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    for (unsigned size = 2; size <= 256; size *= 2) {
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            unsigned other = threadIdx.x ^ step;
            if (other > threadIdx.x && ((threadIdx.x & size) == 0) == (all[threadIdx.x] > all[other])) {
                int old = all[threadIdx.x];
                all[threadIdx.x] = all[other];
                all[other] = old;
            }
        }
    }
    __syncthreads();
    x[blockIdx.x * 256 + threadIdx.x] = all[threadIdx.x];
}

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, unsigned n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void quotients(int* x, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / width, column = i % width;
    if (row < height) x[row * width + column] = x[(height - 1 - row) * width + column];
}

extern "C" __global__ void by_ten(int* x, const int* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i / 10 * 10 + i % 10] = y[i / 10];
}

extern "C" __global__ void clamped(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
    out[y * width + x] = sum;
}

extern "C" __global__ void rows_of(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows,
                                  int entries, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    int end = min(starts[row + 1], entries);
    for (int k = max(starts[row], 0); k < end; k++) {
        int column = columns[k];
        if (column >= 0 && column < n) sum += values[k] * x[column];
    }
    y[row] = sum;
}

extern "C" __global__ void triangle(float* x, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    for (int column = 0; column <= row; column++) x[row * n + column] = 1.0f;
}

extern "C" __global__ void compacted(const int* in, int* out, unsigned* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] == 0) return;
    unsigned at = atomicAdd(count, 1);
    if (at < static_cast<unsigned>(n)) out[at] = in[i];
}

extern "C" __global__ void fours(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) out[i] = in[i];
}

__device__ __noinline__ int helper(const int* x, int i, int n) { return i >= 0 && i < n ? x[i] : -1; }

extern "C" __global__ void calls(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = helper(x, i - 1, n);
    if (i < n) y[i] = helper(x, j, n);
}

extern "C" __global__ void bytes(unsigned char* x, unsigned n, unsigned char limit) {
    unsigned i = threadIdx.x;
    if (i < n && static_cast<unsigned char>(i * 3) < limit) x[static_cast<unsigned char>(i * 3)] = 1;
}

extern "C" __global__ void long_index(double* x, unsigned long long n) {
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < n; i += static_cast<unsigned long long>(gridDim.x) * blockDim.x) x[n - 1 - i] = 1.0;
}

extern "C" __global__ void shifted(int* x, unsigned bits, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned j = (i >> bits << bits) | (i & ((1u << bits) - 1));
    if (j < n) x[j] = 1;
}

extern "C" __global__ void walsh(float* x, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = i & (stride - 1), at = ((i - low) << 1) + low;
    float a = x[at], b = x[at + stride];
    x[at] = a + b;
    x[at + stride] = a - b;
}

extern "C" __global__ void pointers(const float* first, float* out, unsigned n) {
    const float* end = first + n;
    float sum = 0.0f;
    for (const float* at = first + threadIdx.x; at < end; at += blockDim.x) sum += *at;
    out[threadIdx.x] = sum;
}

extern "C" __global__ void switched(int* x, int n, int which) {
    int i = threadIdx.x, at = 0;
    switch (which) {
        case 0: at = i; break;
        case 1: at = n - 1 - i; break;
        case 2: at = i / 2; break;
        case 3: at = n / 2; break;
        case 4: at = i % 7; break;
        case 5: at = i ^ 1; break;
    }
    if (at >= 0 && at < n) x[at] = 1;
}

extern "C" __global__ void floats(float* x, const float* y, int n) {
    int i = static_cast<int>(y[threadIdx.x] * n);
    if (i >= 0 && i < n) x[i] = 1.0f;
}

extern "C" __global__ void found(const int* sorted, int* out, int n) {
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < static_cast<int>(threadIdx.x)) low = middle + 1;
        else high = middle;
    }
    out[threadIdx.x] = low;
}

// A window of a row, cut at both ends: the end is the smaller of two, and the begin the larger.
extern "C" __global__ void windows(const float* x, float* y, int n, int size, int stride, int pad) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int begin = i * stride - pad;
    int end = min(begin + size, n);
    begin = max(begin, 0);
    float sum = 0.0f;
    for (int at = begin; at < end; ++at) sum += x[at];
    y[i] = sum;
}

// nvcc takes four rounds at once, and then those that are left.
extern "C" __global__ void rounds_left(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#pragma unroll 4
    for (int k = 0; k < n; ++k) sum += x[i * n + k];
    y[i] = sum;
}

// The sizes of parts are on the stack, because their index is not constant.
extern "C" __global__ void parts(int* x, int first, int second, int third) {
    int ends[3] = {first, first + second, first + second + third};
    int i = blockIdx.x * blockDim.x + threadIdx.x, part = 0;
#pragma unroll 1
    while (part < 3 && i >= ends[part]) ++part;
    if (part < 3) x[i] = part;
}

// A window around each pixel: nvcc tests the sign of `y | x` for both lower ends.
extern "C" __global__ void columns(const float* x, float* out, int height, int width, int pad, int across) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= height * across) return;
    int row = i / across * 2 - pad, column = i % across * 2 - pad;
    float sum = 0.0f;
    for (int dy = 0; dy < 2; ++dy) {
        for (int dx = 0; dx < 2; ++dx) {
            int y = row + dy, at = column + dx;
            if (y >= 0 && at >= 0 && y < height && at < width) sum += x[y * width + at];
        }
    }
    out[i] = sum;
}

// Planes of rows, and the number of the plane by a division of its own.
extern "C" __global__ void pooled(const float* x, float* out, int planes, int height, int width, int down, int across) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * down * across) return;
    int at = i % across * 2, row = i / across % down * 2, plane = i / (across * down);
    float most = 0.0f;
    for (int dy = 0; dy < 2; ++dy) {
        for (int dx = 0; dx < 2; ++dx) {
            if (row + dy < height && at + dx < width) most = fmaxf(most, x[(plane * height + row + dy) * width + at + dx]);
        }
    }
    out[i] = most;
}

// A tile with its edges: the number of rounds comes from the larger one of the counter and a constant.
extern "C" __global__ void tile(const float* x, float* out, int width, int height) {
    __shared__ float part[18][18];
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
        int column = blockIdx.x * 16 + i % 18 - 1, row = blockIdx.y * 16 + i / 18 - 1;
        bool is_inside = column >= 0 && column < width && row >= 0 && row < height;
        part[i / 18][i % 18] = is_inside ? x[row * width + column] : 0.0f;
    }
    __syncthreads();
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (column < width && row < height) out[row * width + column] = part[threadIdx.y + 2][threadIdx.x + 2];
}

// Rounds of a constant stride, four at once: the rows of a matrix, and of a row the largest element.
extern "C" __global__ void row_sums(const float* x, float* out, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 64) sum += x[blockIdx.x * n + i];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

extern "C" __global__ void largest(const float* x, int* out, int n) {
    float most = 0.0f;
    int at = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
        if (x[blockIdx.x * n + i] > most) {
            most = x[blockIdx.x * n + i];
            at = i;
        }
    }
    out[blockIdx.x * 64 + threadIdx.x] = at;
}

// The ends of a row come from memory, and are cut.
extern "C" __global__ void cut_rows(const int* ends, const float* x, float* out, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    int end = min(ends[i + 1], n);
    float sum = 0.0f;
    for (int at = max(ends[i], 0); at < end; ++at) sum += x[at];
    out[i] = sum;
}

// A box around each pixel, with the nearest pixel for those outside: more bounds than are kept.
extern "C" __global__ void box(const float* x, float* out, int width, int height, int r) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    float sum = 0.0f;
    for (int dy = -r; dy <= r; ++dy) {
        for (int dx = -r; dx <= r; ++dx) {
            int y = min(max(row + dy, 0), height - 1), at = min(max(column + dx, 0), width - 1);
            sum += x[y * width + at];
        }
    }
    out[row * width + column] = sum;
}

// The place between pixels that a pixel of another size has, and an entry of a table.
extern "C" __global__ void resized(const float* x, float* y, int w, int h, int to_w, int to_h, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= to_w * to_h) return;
    float column = (i % to_w + 0.5f) * scale - 0.5f, row = (i / to_w + 0.5f) * scale - 0.5f;
    int left = fminf(fmaxf(column, 0.0f), w - 1), top = fmaxf(fminf(floorf(row), h - 1.0f), 0.0f);
    int right = min(left + 1, w - 1), bottom = min(top + 1, h - 1);
    y[i] = x[top * w + left] + x[bottom * w + right];
}

extern "C" __global__ void tabulated(const double* x, const float* table, float* y, int n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double at = fmax(0.0, fmin(x[i], size - 1.0));
    y[i] = table[static_cast<int>(at)] + table[__double2int_rn(at)] + table[__double2uint_ru(at)];
}

// A checksum by a table: each round has quotients of its own, more than are kept.
extern "C" __global__ void checksum(const unsigned char* data, const unsigned* table, unsigned* out, int blocks, int n) {
    int block = blockIdx.x * blockDim.x + threadIdx.x;
    if (block >= blocks) return;
    unsigned sum = ~0u;
    for (int i = 0; i < n; ++i) sum = table[(sum ^ data[block * n + i]) & 255] ^ (sum >> 8);
    out[block] = ~sum;
}
