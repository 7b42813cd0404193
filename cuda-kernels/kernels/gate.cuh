// Gates: kernels that hold their stream until the host opens a flag in mapped pinned memory. With a gate,
// a test decides when work may go on, instead of guessing with a sleep. Launch one thread. A gate that
// nobody opens never ends.
#pragma once

#include <cuda_runtime.h>

/// Waits until the flag is no longer zero.
extern "C" __global__ void gate(const volatile unsigned* flag);

/// Announces that it runs (sets `started` to one), then waits until `flag` is no longer zero.
extern "C" __global__ void gate_announced(volatile unsigned* started, const volatile unsigned* flag);

/// Waits until the flag is no longer zero, then sets `count` elements to `value`.
extern "C" __global__ void gate_then_write(const volatile unsigned* flag, unsigned* out, unsigned value,
                                           unsigned count);

/// Sets a flag that the host, or another gate, waits for.
extern "C" __global__ void raise_flag(volatile unsigned* flag, unsigned value);
