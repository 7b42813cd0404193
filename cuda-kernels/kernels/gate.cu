#include "gate.cuh"

namespace {

// A volatile load reads memory every time. The fence orders what follows after the load, also for the
// host.
__device__ void wait_for(const volatile unsigned* flag) {
    while (*flag == 0u) {
    }
    __threadfence_system();
}

}  // namespace

extern "C" __global__ void gate(const volatile unsigned* flag) { wait_for(flag); }

extern "C" __global__ void gate_announced(volatile unsigned* started, const volatile unsigned* flag) {
    *started = 1u;
    __threadfence_system();
    wait_for(flag);
}

extern "C" __global__ void gate_then_write(const volatile unsigned* flag, unsigned* out, unsigned value,
                                           unsigned count) {
    wait_for(flag);
    for (unsigned i = 0; i < count; ++i) out[i] = value;
}

extern "C" __global__ void raise_flag(volatile unsigned* flag, unsigned value) {
    __threadfence_system();  // the flag becomes visible after all earlier work of this stream
    *flag = value;
}
