// Shortest paths, found by a loop on the device.
#pragma once

#include <cuda_runtime.h>

/// The distance of a place without a path to it.
#define UNREACHABLE 0xffffffffu

/// A road in one direction.
struct Road {
    /// Where it begins.
    unsigned from;
    /// Where it ends.
    unsigned to;
    /// Its length.
    unsigned length;
};

/// Shortens the distances by one road more, and sets `changed` if any distance became shorter.
extern "C" __global__ void relax(const Road* roads, unsigned count, unsigned* distances, unsigned* changed);

/// The condition is whether a distance has changed since the last call. One thread.
extern "C" __global__ void until_nothing_changes(cudaGraphConditionalHandle again, unsigned* changed);
