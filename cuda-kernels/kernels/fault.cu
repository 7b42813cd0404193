#include "fault.cuh"

#undef NDEBUG  // the assertion is the purpose of this file, in release builds too
#include <cassert>

namespace fault {

__global__ void store(unsigned* address, unsigned value) { *address = value; }

__global__ void load(const unsigned* address, unsigned* found) { *found = *address; }

__global__ void trap() { __trap(); }

__global__ void assert_nonzero(unsigned value) { assert(value != 0u); }

}  // namespace fault
