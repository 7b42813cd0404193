// Kernels that allocate on the device heap. Its size is a limit of the device (cudaLimitMallocHeapSize).
// The host cannot copy from such memory: a kernel has to move the bytes into a buffer that the runtime
// allocated.
#pragma once

#include <cuda_runtime.h>

/// Computes `out[i] = i * i` in scratch memory that each block allocates on the device heap and frees
/// again.
///
/// `failures` counts the blocks that got no memory. The elements of these blocks are unchanged. It must
/// start at zero.
extern "C" __global__ void heap_squares(unsigned* out, unsigned count, unsigned* failures);

/// Allocates scratch memory for `count` integers on the device heap, fills it with `i * i`, and stores
/// its address.
///
/// The address is zero if the heap had no room. Launch one block. The memory lives until `heap_release`.
extern "C" __global__ void heap_keep(unsigned long long* address, unsigned count);

/// Copies `count` integers from scratch memory of `heap_keep` into an ordinary buffer.
extern "C" __global__ void heap_copy_out(const unsigned long long* address, unsigned* out, unsigned count);

/// Frees the scratch memory of `heap_keep` and zeroes the stored address. Launch one thread.
extern "C" __global__ void heap_release(unsigned long long* address);
