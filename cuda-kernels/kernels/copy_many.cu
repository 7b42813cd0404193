#include "copy_many.cuh"

namespace {

typedef unsigned long long u64;

// Copies `bytes` bytes, whole words first. Both addresses are aligned for the word.
template <typename Word>
__device__ void copy_words(unsigned char* to, const unsigned char* from, unsigned bytes) {
    const unsigned words = bytes / sizeof(Word), thread = threadIdx.x, step = COPY_MANY_THREADS;
    Word* out = reinterpret_cast<Word*>(to);
    const Word* in = reinterpret_cast<const Word*>(from);
    unsigned i = thread;
    // Starts four loads before the first result is needed.
    for (; i + 3 * step < words; i += 4 * step) {
        const Word a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
        out[i] = a;
        out[i + step] = b;
        out[i + 2 * step] = c;
        out[i + 3 * step] = d;
    }
    for (; i < words; i += step) out[i] = in[i];
    const unsigned done = words * static_cast<unsigned>(sizeof(Word));
    if (thread < bytes - done) to[done + thread] = from[done + thread];
}

// Copies one chunk, in the widest words for which both sides are aligned.
__device__ void copy_chunk(unsigned char* to, const unsigned char* from, unsigned bytes) {
    const u64 both = reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from);
    if (both % 16 == 0) {
        copy_words<uint4>(to, from, bytes);
    } else if (both % 8 == 0) {
        copy_words<u64>(to, from, bytes);
    } else if (both % 4 == 0) {
        copy_words<unsigned>(to, from, bytes);
    } else if (both % 2 == 0) {
        copy_words<unsigned short>(to, from, bytes);
    } else {
        copy_words<unsigned char>(to, from, bytes);
    }
}

template <typename Table>
__device__ void copy_many(const Table& table, unsigned count) {
    const unsigned chunks = table.ends[count - 1];
    for (unsigned chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        // Each range has at least one chunk, so the first range whose chunks end after this chunk has an
        // index of at most `chunk`. Its index is `chunk` if all ranges before it have one chunk each, as
        // many small ones do: the kernel then skips the search and waits for one load only.
        unsigned low = 0, high = min(chunk, count - 1);
        CopyManyRange range = table.ranges[high];
        if (table.ends[high] == chunk + 1) {
            low = high;
        } else {
            while (low < high) {
                const unsigned middle = (low + high) / 2;
                if (table.ends[middle] > chunk) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            range = table.ranges[low];
        }
        const unsigned before = low == chunk ? chunk : low == 0 ? 0 : table.ends[low - 1], number = chunk - before;
        const u64 past = reinterpret_cast<u64>(range.to) % COPY_MANY_ALIGN;
        const u64 head = past == 0 ? 0 : min(COPY_MANY_ALIGN - past, range.bytes);
        const u64 start = head + static_cast<u64>(number) * COPY_MANY_CHUNK;
        const u64 end = min(start + COPY_MANY_CHUNK, range.bytes);
        if (number == 0 && threadIdx.x < head) range.to[threadIdx.x] = range.from[threadIdx.x];
        copy_chunk(range.to + start, range.from + start, static_cast<unsigned>(end - start));
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(COPY_MANY_THREADS)
    copy_many_small(const __grid_constant__ CopyManySmall table, unsigned count) {
    copy_many(table, count);
}

extern "C" __global__ void __launch_bounds__(COPY_MANY_THREADS)
    copy_many_large(const __grid_constant__ CopyManyLarge table, unsigned count) {
    copy_many(table, count);
}
