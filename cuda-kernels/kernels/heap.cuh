// Kernels that allocate on the device heap. Its size is a limit of the device (cudaLimitMallocHeapSize).
// The host cannot copy from such memory: a kernel has to move the bytes into a buffer that the runtime knows.
#pragma once

#include <cuda_runtime.h>

/// Computes `out[i] = i * i` by way of scratch memory that each block takes from the device heap and gives
/// back.
///
/// `failures` counts the blocks that got no memory; the elements of these are left alone. It must start at
/// zero.
extern "C" __global__ void heap_squares(unsigned* out, unsigned count, unsigned* failures);

/// Takes scratch memory for `count` integers from the device heap, fills it with `i * i`, and stores its
/// address.
///
/// The address is zero where the heap had no room. Launch one block; the memory lives until `heap_release`.
extern "C" __global__ void heap_keep(unsigned long long* address, unsigned count);

/// Copies `count` integers from scratch memory kept by `heap_keep` into an ordinary buffer.
extern "C" __global__ void heap_copy_out(const unsigned long long* address, unsigned* out, unsigned count);

/// Gives scratch memory kept by `heap_keep` back to the heap and zeroes the stored address. Launch one
/// thread.
extern "C" __global__ void heap_release(unsigned long long* address);
