// Kernels that nothing can prove, with contracts of their author.

// As far as the compiler knows, the memory may be anywhere.
__device__ unsigned* scratch_of(unsigned count) { return static_cast<unsigned*>(malloc(count * sizeof(unsigned))); }

/// Writes squares, by way of the device's heap.
///
/// @unsafe_contract requires count <= len(out), block 32
/// @unsafe_contract requires 2 * len(failures) >= grid.x + shared_bytes
extern "C" __global__ void heap_squares(const unsigned* in, unsigned* out, int count, unsigned* failures) {
    unsigned* scratch = scratch_of(1);
    if (!scratch) {
        failures[0] = 1;
        return;
    }
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    *scratch = i * i + (in ? in[0] : 0);
    if (i < count) out[i] = *scratch;
    free(scratch);
}
