// Many copies in one launch. The table of copies is the kernel's parameter, so no memory has to hold it
// until the kernel has run. There are two sizes of table, because every launch pays for the whole table.
#pragma once

#include <cuda_runtime.h>

/// The bytes that a block copies at once.
#define COPY_MANY_CHUNK 16384
/// The threads of a block.
#define COPY_MANY_THREADS 256
/// The destination alignment at which the chunks of a range start.
#define COPY_MANY_ALIGN 16
/// The ranges of a small table, which fits the 4 KiB of parameters that every driver takes.
#define COPY_MANY_SMALL 128
/// The ranges of a large table, which needs the 32 KiB of parameters that drivers take from CUDA 12.1 on.
#define COPY_MANY_LARGE 1024

/// One range: a number of bytes from one address to another. The two sides may not overlap.
struct CopyManyRange {
    const unsigned char* from;
    unsigned char* to;
    unsigned long long bytes;
};

/// Up to 128 ranges. Chunks are numbered through all ranges: the chunks of range `r` end before
/// `ends[r]`. The bytes of a range before the first aligned destination address belong to its first
/// chunk. A range has at least one chunk.
struct CopyManySmall {
    struct CopyManyRange ranges[COPY_MANY_SMALL];
    unsigned ends[COPY_MANY_SMALL];
};

/// Up to 1024 ranges, laid out as in the small table.
struct CopyManyLarge {
    struct CopyManyRange ranges[COPY_MANY_LARGE];
    unsigned ends[COPY_MANY_LARGE];
};

/// Copies the first `count` ranges of the table. No destination overlaps another destination or a source.
/// Blocks take chunks in turn, so any grid works.
extern "C" __global__ void copy_many_small(const __grid_constant__ CopyManySmall table, unsigned count);

/// The same for a large table.
extern "C" __global__ void copy_many_large(const __grid_constant__ CopyManyLarge table, unsigned count);
