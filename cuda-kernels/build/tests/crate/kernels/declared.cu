// Variables, and kernels whose comments do not say what they do with them.

__device__ int total = 5;
static __device__ int hidden = 7;
namespace inner {
static __device__ int deep = 9;
}

/// @reads total, hidden, inner::deep
extern "C" __global__ void reads_all(int* out) { *out = total + hidden + inner::deep; }

/// @reads nothing
extern "C" __global__ void reads_more(int* out) { *out = total; }

/// @reads nothing
extern "C" __global__ void reads_hidden(int* out) { *out = hidden; }

/// @reads total, hidden
extern "C" __global__ void reads_deep(int* out) { *out = inner::deep; }

/// @reads total
extern "C" __global__ void writes_total(int by) { total += by; }

/// @writes total
extern "C" __global__ void adds_to_total(int by) { total += by; }
