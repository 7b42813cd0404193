// Many copies in one launch. The table of what to copy is the kernel's parameter, so that no memory has to
// hold it until the kernel has run. There are two sizes of table: every launch pays for the whole of it.
#pragma once

#include <cuda_runtime.h>

/// Bytes that a block copies in one go.
#define COPY_MANY_CHUNK 16384
/// Threads of a block.
#define COPY_MANY_THREADS 256
/// The alignment of the destination from which on the chunks of a range are counted.
#define COPY_MANY_ALIGN 16
/// Ranges of a small table, which stays within the 4 KiB of parameters that every driver takes.
#define COPY_MANY_SMALL 128
/// Ranges of a large table, which needs the 32 KiB of parameters that drivers take from CUDA 12.1 on.
#define COPY_MANY_LARGE 1024

/// One range: so many bytes from one address to another. The two may not overlap.
struct CopyManyRange {
    const unsigned char* from;
    unsigned char* to;
    unsigned long long bytes;
};

/// Up to 128 ranges. Chunks are numbered through all ranges: those of range `r` end before `ends[r]`. The
/// bytes of a range that come before the destination is aligned belong to its first chunk; a range has a
/// chunk at least.
struct CopyManySmall {
    struct CopyManyRange ranges[COPY_MANY_SMALL];
    unsigned ends[COPY_MANY_SMALL];
};

/// Up to 1024 ranges, otherwise as the small table.
struct CopyManyLarge {
    struct CopyManyRange ranges[COPY_MANY_LARGE];
    unsigned ends[COPY_MANY_LARGE];
};

/// Copies the first `count` ranges of the table. No two destinations overlap, nor does one overlap a source.
/// Blocks take chunks in turn, so any grid does.
extern "C" __global__ void copy_many_small(const __grid_constant__ CopyManySmall table, unsigned count);

/// The same for a large table.
extern "C" __global__ void copy_many_large(const __grid_constant__ CopyManyLarge table, unsigned count);
