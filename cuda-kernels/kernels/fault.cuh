// Kernels that go wrong on purpose, for tests of error reporting. After one of them the device's context is
// lost.
#pragma once

#include <cuda_runtime.h>

namespace fault {

/// Stores a value wherever it is told to: an address outside of every allocation is an illegal access.
__global__ void store(unsigned* address, unsigned value);

/// Loads from wherever it is told to, and stores what it found.
__global__ void load(const unsigned* address, unsigned* found);

/// Stops with a trap instruction.
__global__ void trap();

/// Fails an assertion when `value` is zero.
__global__ void assert_nonzero(unsigned value);

}  // namespace fault
