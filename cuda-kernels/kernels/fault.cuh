// Kernels that fail on purpose, for tests of error reporting. After one of them the device's context is
// lost.
#pragma once

#include <cuda_runtime.h>

namespace fault {

/// Stores a value at `address`: an address outside every allocation is an illegal access.
__global__ void store(unsigned* address, unsigned value);

/// Loads from `address` and stores the value that it found.
__global__ void load(const unsigned* address, unsigned* found);

/// Stops with a trap instruction.
__global__ void trap();

/// Fails an assertion if `value` is zero.
__global__ void assert_nonzero(unsigned value);

}  // namespace fault
