// Races and their corrected twins, one a case: races CASE [right]. With `right` the program is correct. The
// comments `// CASE: first` and `// CASE: second` mark the lines that the finding of a case must name; a mark
// of several cases stands for each of them. `tests/emulator/races.rs` has the table.
#include "check.h"

#include <cooperative_groups.h>

namespace {

namespace cg = cooperative_groups;
constexpr int N = 256;

// What blocks share: data, flags far from it, and results.
struct Shared {
    unsigned data[N];
    unsigned flag, second, lock, other_lock, count;
    unsigned out[8 * N];
};

#define ST(how, at, value) asm volatile("st." how ".u32 [%0], %1;" ::"l"(at), "r"(value) : "memory")
#define LD(how, at)                                                                              \
    ({                                                                                           \
        unsigned value_;                                                                         \
        asm volatile("ld." how ".u32 %0, [%1];" : "=r"(value_) : "l"(at) : "memory");            \
        value_;                                                                                  \
    })
#define ATOM(how, at, value)                                                                     \
    ({                                                                                           \
        unsigned old_;                                                                           \
        asm volatile("atom." how " %0, [%1], %2;" : "=r"(old_) : "l"(at), "r"(value) : "memory"); \
        old_;                                                                                    \
    })
#define CAS(how, at, from, to)                                                                   \
    ({                                                                                           \
        unsigned old_;                                                                           \
        asm volatile("atom." how ".cas.b32 %0, [%1], %2, %3;"                                    \
                     : "=r"(old_)                                                                \
                     : "l"(at), "r"(from), "r"(to)                                               \
                     : "memory");                                                                \
        old_;                                                                                    \
    })
#define FENCE(how) asm volatile("fence." how ";" ::: "memory")
#define UNTIL(how, at, value)                                                                    \
    while (LD(how, at) != (value)) {}

// A flag between two blocks, of which one mistake each makes a race.

enum Mistake { MISSING, TOO_EARLY, OF_BLOCK };

// The fence of the one who releases or acquires is missing, too early, or of the block.
template <bool RELEASES, Mistake MISTAKE> __global__ void by_fences(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    bool wrong = !right && (blockIdx.x == 0) == RELEASES;
    if (wrong && MISTAKE == TOO_EARLY) __threadfence();
    if (blockIdx.x == 0) s->data[0] = 1; // no_release_fence: first; release_fence_too_early: first; release_fence_of_block: first; no_acquire_fence: first; acquire_fence_too_early: first; acquire_fence_of_block: first
    else UNTIL("volatile", &s->flag, 1)
    if (!wrong) __threadfence();
    else if (MISTAKE == OF_BLOCK) __threadfence_block();
    if (blockIdx.x == 0) ST("volatile", &s->flag, 1);
    else s->out[0] = s->data[0]; // no_release_fence: second; release_fence_too_early: second; release_fence_of_block: second; no_acquire_fence: second; acquire_fence_too_early: second; acquire_fence_of_block: second
}
constexpr auto no_release_fence = by_fences<true, MISSING>, no_acquire_fence = by_fences<false, MISSING>,
               release_fence_too_early = by_fences<true, TOO_EARLY>, acquire_fence_too_early = by_fences<false, TOO_EARLY>,
               release_fence_of_block = by_fences<true, OF_BLOCK>, acquire_fence_of_block = by_fences<false, OF_BLOCK>;

// The store that releases or the load that acquires is relaxed, or of the block.
template <bool RELEASES, Mistake MISTAKE> __global__ void by_accesses(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    bool wrong = !right && (blockIdx.x == 0) == RELEASES;
    if (blockIdx.x == 0) {
        s->data[0] = 1; // relaxed_store: first; release_store_of_block: first; relaxed_load: first; acquire_load_of_block: first
        if (!wrong) ST("release.gpu", &s->flag, 1);
        else if (MISTAKE == OF_BLOCK) ST("release.cta", &s->flag, 1);
        else ST("relaxed.gpu", &s->flag, 1);
    } else {
        if (!wrong) UNTIL("acquire.gpu", &s->flag, 1)
        else if (MISTAKE == OF_BLOCK) UNTIL("acquire.cta", &s->flag, 1)
        else UNTIL("relaxed.gpu", &s->flag, 1)
        s->out[0] = s->data[0]; // relaxed_store: second; release_store_of_block: second; relaxed_load: second; acquire_load_of_block: second
    }
}
constexpr auto relaxed_store = by_accesses<true, MISSING>, relaxed_load = by_accesses<false, MISSING>,
               release_store_of_block = by_accesses<true, OF_BLOCK>, acquire_load_of_block = by_accesses<false, OF_BLOCK>;

// The flag that is read is set before the data is written.
__global__ void other_flag(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        ST("relaxed.gpu", &s->second, 1);
        s->data[0] = 1; // other_flag: first
        __threadfence();
        ST("relaxed.gpu", &s->flag, 1);
    } else {
        UNTIL("relaxed.gpu", right ? &s->flag : &s->second, 1)
        __threadfence();
        s->out[0] = s->data[0]; // other_flag: second
    }
}

// Both flags are behind fences, but the data is written between them.
__global__ void other_release(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        ST("release.gpu", &s->second, 1);
        s->data[0] = 1; // other_release: first
        ST("release.gpu", &s->flag, 1);
    } else {
        UNTIL("acquire.gpu", right ? &s->flag : &s->second, 1)
        s->out[0] = s->data[0]; // other_release: second
    }
}

// A plain flag is itself a race.
__global__ void plain_flag(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        __threadfence();
        if (right) ST("volatile", &s->flag, 1);
        else s->flag = 1; // plain_flag: first
    } else {
        while (LD("volatile", &s->flag) != 1) {} // plain_flag: second
    }
}

// Three blocks: the second passes on what the first has written.
__global__ void passed_on(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        s->data[0] = 1; // passed_on: first
        ST("release.gpu", &s->flag, 1);
    } else if (blockIdx.x == 1) {
        if (right) UNTIL("acquire.gpu", &s->flag, 1) else UNTIL("relaxed.gpu", &s->flag, 1)
        ST("release.gpu", &s->second, 1);
    } else {
        UNTIL("acquire.gpu", &s->second, 1)
        s->out[0] = s->data[0]; // passed_on: second
    }
}

// A store in between ends what the first block has released; an atomic operation goes on with it.
__global__ void release_sequence(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        s->data[0] = 1; // release_sequence: first
        ST("release.gpu", &s->flag, 1);
    } else if (blockIdx.x == 1) {
        UNTIL("relaxed.gpu", &s->flag, 1)
        if (right) ATOM("relaxed.gpu.add.u32", &s->flag, 1); else ST("relaxed.gpu", &s->flag, 2);
    } else {
        UNTIL("relaxed.gpu", &s->flag, 2)
        LD("acquire.gpu", &s->flag);
        s->out[0] = s->data[0]; // release_sequence: second
    }
}

// The second block writes what the first one still reads.
__global__ void read_still(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        if (!right) ST("release.gpu", &s->flag, 1);
        s->out[0] = s->data[0]; // read_still: first
        if (right) ST("release.gpu", &s->flag, 1);
    } else {
        UNTIL("acquire.gpu", &s->flag, 1)
        s->data[0] = 1; // read_still: second
    }
}

// Locks.

__device__ void lock(unsigned *at) {
    while (CAS("relaxed.gpu", at, 0, 1) != 0) {}
}

__global__ void lock_without_a_fence(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    lock(&s->lock);
    if (right) __threadfence();
    if (blockIdx.x == 0) s->data[0] = 1; // lock_without_a_fence: first
    if (blockIdx.x == 1) s->out[0] = s->data[0]; // lock_without_a_fence: second
    __threadfence();
    ATOM("relaxed.gpu.exch.b32", &s->lock, 0);
}

__global__ void unlock_without_a_fence(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    lock(&s->lock);
    __threadfence();
    if (blockIdx.x == 0) s->data[0] = 1; // unlock_without_a_fence: first
    if (blockIdx.x == 1) s->out[0] = s->data[0]; // unlock_without_a_fence: second
    if (right) __threadfence();
    ATOM("relaxed.gpu.exch.b32", &s->lock, 0);
}

__global__ void two_locks(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    unsigned *mine = right || blockIdx.x == 0 ? &s->lock : &s->other_lock;
    lock(mine);
    __threadfence();
    if (blockIdx.x == 0) s->data[0] = 1; // two_locks: first
    if (blockIdx.x == 1) s->data[0] = 2; // two_locks: second
    __threadfence();
    ATOM("relaxed.gpu.exch.b32", mine, 0);
}

__global__ void used_behind_the_unlock(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    lock(&s->lock);
    __threadfence();
    s->data[0] = 1 + blockIdx.x; // used_behind_the_unlock: second
    if (right) s->out[blockIdx.x] = s->data[0];
    __threadfence();
    ATOM("relaxed.gpu.exch.b32", &s->lock, 0);
    if (!right) s->out[blockIdx.x] = s->data[0]; // used_behind_the_unlock: first
}

__global__ void lock_of_a_block(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    lock(&s->lock);
    if (right) __threadfence(); else __threadfence_block();
    if (blockIdx.x == 0) s->data[0] = 1; // lock_of_a_block: first
    if (blockIdx.x == 1) s->data[0] = 2; // lock_of_a_block: second
    if (right) __threadfence(); else __threadfence_block();
    ATOM("relaxed.gpu.exch.b32", &s->lock, 0);
}

// Threads of a block, of which one speaks for all.

__global__ void flag_before_the_barrier(Shared *s, bool right) {
    if (blockIdx.x == 0) {
        s->data[threadIdx.x] = 1; // flag_before_the_barrier: first
        if (right) __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            ST("volatile", &s->flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            UNTIL("volatile", &s->flag, 1)
            __threadfence();
        }
        __syncthreads();
        s->out[threadIdx.x] = s->data[N - 1 - threadIdx.x]; // flag_before_the_barrier: second
    }
}

__global__ void barrier_forgotten_behind_the_flag(Shared *s, bool right) {
    if (blockIdx.x == 0) {
        s->data[threadIdx.x] = 1; // barrier_forgotten_behind_the_flag: first
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            ST("volatile", &s->flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            UNTIL("volatile", &s->flag, 1)
            __threadfence();
        }
        if (right) __syncthreads();
        s->out[threadIdx.x] = s->data[N - 1 - threadIdx.x]; // barrier_forgotten_behind_the_flag: second
    }
}

__global__ void warp_barrier_forgotten_behind_the_flag(Shared *s, bool right) {
    if (threadIdx.x >= 32) return;
    if (blockIdx.x == 0) {
        s->data[threadIdx.x] = 1; // warp_barrier_forgotten_behind_the_flag: first
        __syncwarp();
        if (threadIdx.x == 0) ST("release.gpu", &s->flag, 1);
    } else {
        if (threadIdx.x == 0) UNTIL("acquire.gpu", &s->flag, 1)
        if (right) __syncwarp();
        s->out[threadIdx.x] = s->data[threadIdx.x]; // warp_barrier_forgotten_behind_the_flag: second
    }
}

__global__ void warp_barrier_forgotten_before_the_flag(Shared *s, bool right) {
    if (threadIdx.x >= 32) return;
    if (blockIdx.x == 0) {
        s->data[threadIdx.x] = 1; // warp_barrier_forgotten_before_the_flag: first
        if (right) __syncwarp();
        if (threadIdx.x == 0) ST("release.gpu", &s->flag, 1);
    } else {
        if (threadIdx.x == 0) UNTIL("acquire.gpu", &s->flag, 1)
        __syncwarp();
        s->out[threadIdx.x] = s->data[threadIdx.x]; // warp_barrier_forgotten_before_the_flag: second
    }
}

// The lane whose word is read has met half of its warp, and not the lane whose flag is acquired.
__global__ void flag_of_a_lane_that_has_not_met(Shared *s, bool right) {
    if (blockIdx.x == 0) {
        s->data[threadIdx.x] = 1; // flag_of_a_lane_that_has_not_met: first
        if (right) __syncwarp();
        else if (threadIdx.x < 16) __syncwarp(0xffff);
        ST("release.gpu", &s->out[threadIdx.x], 1);
    } else if (threadIdx.x == 0) {
        UNTIL("acquire.gpu", &s->out[16], 1)
        s->out[N] = s->data[0]; // flag_of_a_lane_that_has_not_met: second
    }
}

// The last block adds what all have written.
__global__ void last_block(Shared *s, bool right) {
    __shared__ bool last;
    s->out[blockIdx.x * 64 + threadIdx.x] = 1; // last_block: first
    if (right) __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = ATOM("relaxed.gpu.inc.u32", &s->count, gridDim.x) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        unsigned sum = 0;
        for (unsigned i = 0; i < 64 * gridDim.x; i++) sum += s->out[i]; // last_block: second
        s->data[0] = sum;
    }
}

// A barrier of all blocks, made by hand.
__device__ void meet(Shared *s, bool releases, bool waits_for_the_block) {
    if (waits_for_the_block) __syncthreads();
    if (threadIdx.x == 0) {
        if (releases) __threadfence();
        ATOM("relaxed.gpu.add.u32", &s->count, 1);
        while (LD("volatile", &s->count) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}

__global__ void barrier_of_blocks_without_a_fence(Shared *s, bool right) {
    s->out[blockIdx.x * N + threadIdx.x] = 1; // barrier_of_blocks_without_a_fence: first
    meet(s, right, true);
    s->data[threadIdx.x] = s->out[N + N - 1 - threadIdx.x]; // barrier_of_blocks_without_a_fence: second
}

__global__ void barrier_of_blocks_too_early(Shared *s, bool right) {
    s->out[blockIdx.x * N + threadIdx.x] = 1; // barrier_of_blocks_too_early: first
    meet(s, true, right);
    if (blockIdx.x == 0) s->data[threadIdx.x] = s->out[N + N - 1 - threadIdx.x]; // barrier_of_blocks_too_early: second
}

__global__ void grid_barrier_forgotten(Shared *s, bool right) {
    s->out[blockIdx.x * N + threadIdx.x] = 1; // grid_barrier_forgotten: first
    if (right) cg::this_grid().sync(); else __syncthreads();
    if (blockIdx.x == 1) s->data[threadIdx.x] = s->out[threadIdx.x]; // grid_barrier_forgotten: second
}

// Flags within a block.

__global__ void flag_in_shared_memory(Shared *s, bool right) {
    __shared__ unsigned data, flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    volatile unsigned *ready = &flag;
    if (threadIdx.x == 0) {
        data = s->data[0]; // flag_in_shared_memory: first
        if (right) __threadfence_block();
        *ready = 1;
    } else if (threadIdx.x == 32) {
        while (*ready == 0) {}
        __threadfence_block();
        s->out[0] = data; // flag_in_shared_memory: second
    }
}

__global__ void flag_in_shared_memory_without_acquire(Shared *s, bool right) {
    __shared__ unsigned data, flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    volatile unsigned *ready = &flag;
    if (threadIdx.x == 0) {
        data = s->data[0]; // flag_in_shared_memory_without_acquire: first
        __threadfence_block();
        *ready = 1;
    } else if (threadIdx.x == 32) {
        while (*ready == 0) {}
        if (right) __threadfence_block();
        s->out[0] = data; // flag_in_shared_memory_without_acquire: second
    }
}

// One warp sets a flag for the other, another flag is read.
__global__ void other_flag_in_shared_memory(Shared *s, bool right) {
    __shared__ unsigned data, flags[2];
    if (threadIdx.x < 2) flags[threadIdx.x] = 0;
    __syncthreads();
    volatile unsigned *ready = flags;
    if (threadIdx.x == 0) {
        ready[1] = 1;
        data = s->data[0]; // other_flag_in_shared_memory: first
        __threadfence_block();
        ready[0] = 1;
    } else if (threadIdx.x == 32) {
        while (ready[right ? 0 : 1] == 0) {}
        __threadfence_block();
        s->out[0] = data; // other_flag_in_shared_memory: second
    }
}

// Warps and parts of them.

__global__ void shuffle_for_a_barrier(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // shuffle_for_a_barrier: first
    unsigned value = __shfl_xor_sync(~0u, threadIdx.x, 1);
    if (right) __syncwarp();
    s->out[threadIdx.x] = value + all[threadIdx.x ^ 1]; // shuffle_for_a_barrier: second
}

__global__ void vote_for_a_barrier(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // vote_for_a_barrier: first
    unsigned votes = __ballot_sync(~0u, threadIdx.x & 1);
    if (right) __syncwarp();
    s->out[threadIdx.x] = votes + all[threadIdx.x ^ 1]; // vote_for_a_barrier: second
}

__global__ void match_for_a_barrier(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // match_for_a_barrier: first
    unsigned same = __match_any_sync(~0u, threadIdx.x & 3);
    if (right) __syncwarp();
    s->out[threadIdx.x] = same + all[threadIdx.x ^ 1]; // match_for_a_barrier: second
}

__global__ void halves_of_a_warp(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // halves_of_a_warp: first
    __syncwarp(threadIdx.x % 32 < 16 ? 0xffff : 0xffff0000);
    s->out[threadIdx.x] = all[threadIdx.x ^ (right ? 8 : 16)]; // halves_of_a_warp: second
}

__global__ void tiles_of_a_warp(Shared *s, bool right) {
    __shared__ unsigned all[N];
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    all[threadIdx.x] = threadIdx.x; // tiles_of_a_warp: first
    tile.sync();
    s->out[threadIdx.x] = all[threadIdx.x ^ (right ? 4 : 8)]; // tiles_of_a_warp: second
}

__global__ void branches_of_a_warp(Shared *s, bool right) {
    __shared__ unsigned all[N];
    if (threadIdx.x & 1) {
        all[threadIdx.x] = threadIdx.x; // branches_of_a_warp: first
        __syncwarp(0xaaaaaaaa);
    }
    if (right) __syncwarp();
    if (!(threadIdx.x & 1)) s->out[threadIdx.x] = all[threadIdx.x + 1]; // branches_of_a_warp: second
}

__global__ void warp_barrier_between_warps(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // warp_barrier_between_warps: first
    if (right) __syncthreads(); else __syncwarp();
    s->out[threadIdx.x] = all[threadIdx.x ^ 32]; // warp_barrier_between_warps: second
}

__global__ void warp_barrier_too_early(Shared *s, bool right) {
    __shared__ unsigned all[N];
    if (!right) __syncwarp();
    all[threadIdx.x] = threadIdx.x; // warp_barrier_too_early: first
    if (right) __syncwarp();
    s->out[threadIdx.x] = all[threadIdx.x ^ 1]; // warp_barrier_too_early: second
}

// The last steps of a reduction, which old code left without barriers.
__global__ void last_steps(Shared *s, bool right) {
    __shared__ unsigned all[64];
    if (threadIdx.x >= 32) return;
    all[threadIdx.x] = all[threadIdx.x + 32] = 1;
    __syncwarp();
    all[threadIdx.x] += all[threadIdx.x + 32]; // last_steps: first
    if (right) __syncwarp();
    unsigned sum = all[threadIdx.x] + all[(threadIdx.x + 16) % 32]; // last_steps: second
    s->out[threadIdx.x] = sum;
}

__global__ void outside_of_its_mask(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 2) {
        asm volatile("bar.warp.sync %0;" ::"r"(right ? 3 : 1) : "memory"); // outside_of_its_mask: first
        s->out[threadIdx.x] = all[threadIdx.x];
    }
}

__global__ void shuffle_outside_of_its_mask(Shared *s, bool right) {
    if (threadIdx.x >= 32) return;
    unsigned mask = right ? ~0u : 0xffff, got;
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, %2;" : "=r"(got) : "r"(threadIdx.x), "r"(mask)); // shuffle_outside_of_its_mask: first
    s->out[threadIdx.x] = got;
}

__global__ void vote_outside_of_its_mask(Shared *s, bool right) {
    if (threadIdx.x >= 32) return;
    unsigned mask = right ? ~0u : ~1u, got;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(got) : "r"(threadIdx.x), "r"(mask)); // vote_outside_of_its_mask: first
    s->out[threadIdx.x] = got;
}

// Barriers of a warp that some of its lanes skip, and go on behind.

__global__ void skipped_by_half_of_a_warp(Shared *s, bool right) {
    if (right || threadIdx.x % 32 < 16) __syncwarp(); // skipped_by_half_of_a_warp: first
    s->out[threadIdx.x] = threadIdx.x; // skipped_by_half_of_a_warp: second
}

__global__ void skipped_by_named_lanes(Shared *s, bool right) {
    if (threadIdx.x % 32 < 8) __syncwarp(right ? 0xff : 0xfff); // skipped_by_named_lanes: first
    s->out[threadIdx.x] = threadIdx.x; // skipped_by_named_lanes: second
}

// Halves of a warp may meet at two barriers with one mask.
__global__ void skipped_by_the_other_half(Shared *s, bool right) {
    unsigned lane = threadIdx.x % 32;
    if (lane < 16) {
        s->data[threadIdx.x] = lane;
        __syncwarp(); // skipped_by_the_other_half: first
    }
    if (lane >= 16) {
        s->data[threadIdx.x] = lane;
        if (right) __syncwarp();
    }
    s->out[threadIdx.x] = s->data[threadIdx.x ^ (right ? 16 : 0)]; // skipped_by_the_other_half: second
}

// Lanes leave the loop after different numbers of turns.
__global__ void skipped_in_a_loop(Shared *s, bool right) {
    for (unsigned at = threadIdx.x; at < (right ? 2 * N : N + 40); at += N) {
        s->out[at] = at;
        __syncwarp(); // skipped_in_a_loop: first
    }
    s->data[threadIdx.x] = threadIdx.x; // skipped_in_a_loop: second
}

// The one that skips it is ahead of the others, who wait for its word.
__global__ void skipped_before_the_others(Shared *s, bool right) {
    __shared__ unsigned done[N];
    volatile unsigned *ready = &done[threadIdx.x / 32];
    if (threadIdx.x % 32 == 0) *ready = 0;
    __syncwarp();
    if (threadIdx.x % 32 != 0) {
        if (!right) while (*ready == 0) {}
        __syncwarp(); // skipped_before_the_others: first
    } else {
        *ready = 1;
        if (right) __syncwarp();
    }
    s->out[threadIdx.x] = 1; // skipped_before_the_others: second
#pragma unroll 1
    for (unsigned i = 0; i < 100; i++) LD("volatile", &s->flag);
}

// Barriers of a block.

__global__ void no_barrier(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // no_barrier: first
    if (right) __syncthreads();
    s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // no_barrier: second
}

__global__ void barrier_counts_too(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = threadIdx.x; // barrier_counts_too: first
    int count = right ? __syncthreads_count(threadIdx.x & 1) : 0;
    s->out[threadIdx.x] = count + all[N - 1 - threadIdx.x]; // barrier_counts_too: second
}

__global__ void next_round(Shared *s, bool right) {
    __shared__ unsigned all[N];
    for (unsigned round = 0; round < 3; round++) {
        all[threadIdx.x] = round; // next_round: second
        __syncthreads();
        s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // next_round: first
        if (right) __syncthreads();
    }
}

__global__ void two_buffers(Shared *s, bool right) {
    __shared__ unsigned all[3][N];
    unsigned count = right ? 2 : 1;
    for (unsigned round = 0; round < 4; round++) {
        all[round % count][threadIdx.x] = round; // two_buffers: second
        __syncthreads();
        s->out[threadIdx.x] = all[round % count][N - 1 - threadIdx.x]; // two_buffers: first
    }
}

__global__ void named_barriers(Shared *s, bool right) {
    __shared__ unsigned all[N];
    if (threadIdx.x < N / 2) {
        all[threadIdx.x] = 1; // named_barriers: first
        asm volatile("bar.arrive 1, 256;" ::: "memory");
        if (!right) asm volatile("bar.sync 2, 128;" ::: "memory");
    } else {
        if (right) asm volatile("bar.sync 1, 256;" ::: "memory");
        else asm volatile("bar.sync 3, 128;" ::: "memory");
        s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // named_barriers: second
        if (!right) asm volatile("bar.sync 1, 256;" ::: "memory");
    }
}

__global__ void written_behind_the_arrival(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < N / 2) {
        if (right) all[threadIdx.x] = 1;
        asm volatile("bar.arrive 1, 256;" ::: "memory");
        if (!right) all[threadIdx.x] = 1; // written_behind_the_arrival: first
    } else {
        asm volatile("bar.sync 1, 256;" ::: "memory");
        s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // written_behind_the_arrival: second
    }
}

__global__ void half_of_the_block_meets(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = 1; // half_of_the_block_meets: first
    if (right) __syncthreads();
    if (threadIdx.x < N / 2) {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // half_of_the_block_meets: second
    }
}

__global__ void ended_early(Shared *s, bool right) {
    __shared__ unsigned all[N];
    all[threadIdx.x] = 1; // ended_early: first
    if (right) __syncthreads();
    if (threadIdx.x >= N / 2) return;
    __syncthreads();
    s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // ended_early: second
}

__global__ void bytes_of_a_word(Shared *s, bool right) {
    __shared__ unsigned char all[N];
    if (right || threadIdx.x % 4 != 1) all[threadIdx.x] = 1; // bytes_of_a_word: first
    else *reinterpret_cast<unsigned *>(all + threadIdx.x - 1) = threadIdx.x; // bytes_of_a_word: second
    __syncthreads();
    s->out[threadIdx.x] = all[threadIdx.x];
}

__global__ void neighbour_in_global_memory(Shared *s, bool right) {
    s->data[threadIdx.x] = threadIdx.x; // neighbour_in_global_memory: first
    if (right) __syncthreads();
    s->out[threadIdx.x] = s->data[N - 1 - threadIdx.x]; // neighbour_in_global_memory: second
}

__global__ void histogram(Shared *s, bool right) {
    __shared__ unsigned counts[8];
    if (threadIdx.x < 8) counts[threadIdx.x] = 0;
    __syncthreads();
    if (right) {
        atomicAdd(&counts[threadIdx.x % 8], 1);
    } else {
        unsigned old = counts[threadIdx.x % 8]; // histogram: first
        counts[threadIdx.x % 8] = old + 1; // histogram: second
    }
    __syncthreads();
    if (threadIdx.x < 8) s->out[threadIdx.x] = counts[threadIdx.x];
}

// Asynchronous copies and barriers in memory.

__global__ void copied_by_others(Shared *s, bool right) {
    __shared__ alignas(16) unsigned all[N];
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&all[threadIdx.x]));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(&s->data[threadIdx.x]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (right) __syncthreads();
    s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // copied_by_others: second
}

__global__ void barrier_in_memory(Shared *s, bool right) {
    __shared__ unsigned all[N];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(N) : "memory");
    __syncthreads();
    all[threadIdx.x] = 1; // barrier_in_memory: first
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at) : "memory");
    unsigned done = !right;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at)
                     : "memory");
    s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // barrier_in_memory: second
    __syncthreads();
}

__global__ void other_barrier_in_memory(Shared *s, bool right) {
    __shared__ unsigned all[N];
    __shared__ alignas(8) unsigned long long barriers[2];
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(barriers));
    if (threadIdx.x < 2) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at + 8 * threadIdx.x), "r"(N) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at) : "memory");
    all[threadIdx.x] = 1; // other_barrier_in_memory: first
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at + 8) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at + (right ? 8 : 0))
                     : "memory");
    s->out[threadIdx.x] = all[N - 1 - threadIdx.x]; // other_barrier_in_memory: second
    __syncthreads();
}

// Clusters.

__global__ void __cluster_dims__(2, 1, 1) cluster_barrier_forgotten(Shared *s, bool right) {
    __shared__ unsigned all[N];
    cg::cluster_group cluster = cg::this_cluster();
    all[threadIdx.x] = 0;
    cluster.sync();
    unsigned *other = cluster.map_shared_rank(all, cluster.block_rank() ^ 1);
    other[threadIdx.x] = 1; // cluster_barrier_forgotten: first
    if (right) cluster.sync(); else __syncthreads();
    s->out[blockIdx.x * N + threadIdx.x] = all[N - 1 - threadIdx.x]; // cluster_barrier_forgotten: second
    cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) cluster_arrival_too_early(Shared *s, bool right) {
    __shared__ unsigned all[N];
    cg::cluster_group cluster = cg::this_cluster();
    all[threadIdx.x] = 0;
    cluster.sync();
    unsigned *other = cluster.map_shared_rank(all, cluster.block_rank() ^ 1);
    if (right) other[threadIdx.x] = 1;
    cluster.barrier_arrive();
    if (!right) other[threadIdx.x] = 1; // cluster_arrival_too_early: first
    cluster.barrier_wait();
    s->out[blockIdx.x * N + threadIdx.x] = all[N - 1 - threadIdx.x]; // cluster_arrival_too_early: second
    cluster.sync();
}

// The first block faults; those behind it race.
__global__ void behind_a_fault(Shared *s, bool right) {
    if (blockIdx.x == 0) *reinterpret_cast<unsigned *>(s->data[0]) = 1;
    if (blockIdx.x == 1) s->data[1] = 1; // behind_a_fault: first
    if (blockIdx.x == 2 && !right) s->data[1] = 2; // behind_a_fault: second
}

// The first warp faults; those behind it race.
__global__ void behind_a_fault_of_its_block(Shared *s, bool right) {
    if (threadIdx.x == 5) *reinterpret_cast<unsigned *>(s->data[0]) = 1;
    if (threadIdx.x == 32) s->data[1] = 1; // behind_a_fault_of_its_block: first
    if (threadIdx.x == 64 && !right) s->data[1] = 2; // behind_a_fault_of_its_block: second
    __syncthreads();
}

// Only one of the two has a fence behind its lock: who takes it first has nothing to acquire.
__global__ void fence_of_one_block(Shared *s, bool right) {
    if (threadIdx.x != 0) return;
    lock(&s->lock);
    if (right || blockIdx.x == 1) __threadfence();
    if (blockIdx.x == 0) s->data[0] = 1; // fence_of_one_block: first
    if (blockIdx.x == 1) s->data[0] = 2; // fence_of_one_block: second
    __threadfence();
    ATOM("relaxed.gpu.exch.b32", &s->lock, 0);
}

__global__ void fence_of_one_warp(Shared *s, bool right) {
    if (threadIdx.x % 32 != 0) return;
    lock(&s->lock);
    if (right || threadIdx.x == 32) __threadfence();
    if (threadIdx.x == 0) s->data[0] = 1; // fence_of_one_warp: first
    if (threadIdx.x == 32) s->data[0] = 2; // fence_of_one_warp: second
    __threadfence();
    ATOM("relaxed.gpu.exch.b32", &s->lock, 0);
}

} // namespace

int main(int count, char **arguments) {
    std::string name = count > 1 ? arguments[1] : "";
    bool right = count > 2, known = false;
    Shared *s = nullptr;
    OK(cudaMalloc(&s, sizeof *s));
    OK(cudaMemset(s, 0, sizeof *s));
#define CASE(kernel, blocks, threads) \
    if (name == #kernel) known = true, kernel<<<blocks, threads>>>(s, right)
    CASE(no_release_fence, 2, 1);
    CASE(no_acquire_fence, 2, 1);
    CASE(release_fence_too_early, 2, 1);
    CASE(acquire_fence_too_early, 2, 1);
    CASE(other_flag, 2, 1);
    CASE(other_release, 2, 1);
    CASE(release_fence_of_block, 2, 1);
    CASE(acquire_fence_of_block, 2, 1);
    CASE(release_store_of_block, 2, 1);
    CASE(acquire_load_of_block, 2, 1);
    CASE(relaxed_load, 2, 1);
    CASE(relaxed_store, 2, 1);
    CASE(plain_flag, 2, 1);
    CASE(passed_on, 3, 1);
    CASE(release_sequence, 3, 1);
    CASE(read_still, 2, 1);
    CASE(lock_without_a_fence, 2, 1);
    CASE(unlock_without_a_fence, 2, 1);
    CASE(two_locks, 2, 1);
    CASE(used_behind_the_unlock, 2, 1);
    CASE(lock_of_a_block, 2, 1);
    CASE(flag_before_the_barrier, 2, N);
    CASE(barrier_forgotten_behind_the_flag, 2, N);
    CASE(warp_barrier_forgotten_behind_the_flag, 2, 32);
    CASE(warp_barrier_forgotten_before_the_flag, 2, 32);
    CASE(flag_of_a_lane_that_has_not_met, 2, 32);
    CASE(last_block, 4, 64);
    CASE(barrier_of_blocks_without_a_fence, 2, N);
    CASE(barrier_of_blocks_too_early, 2, N);
    if (name == "grid_barrier_forgotten") {
        known = true;
        void *all[] = {&s, &right};
        OK(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(grid_barrier_forgotten), 2, N, all, 0, nullptr));
    }
    CASE(flag_in_shared_memory, 1, 64);
    CASE(flag_in_shared_memory_without_acquire, 1, 64);
    CASE(other_flag_in_shared_memory, 1, 64);
    CASE(shuffle_for_a_barrier, 1, N);
    CASE(vote_for_a_barrier, 1, N);
    CASE(match_for_a_barrier, 1, N);
    CASE(halves_of_a_warp, 1, N);
    CASE(tiles_of_a_warp, 1, N);
    CASE(branches_of_a_warp, 1, N);
    CASE(warp_barrier_between_warps, 1, N);
    CASE(warp_barrier_too_early, 1, N);
    CASE(last_steps, 1, 32);
    CASE(outside_of_its_mask, 1, 32);
    CASE(shuffle_outside_of_its_mask, 1, 32);
    CASE(vote_outside_of_its_mask, 1, 32);
    CASE(skipped_by_half_of_a_warp, 1, N);
    CASE(skipped_by_named_lanes, 1, N);
    CASE(skipped_by_the_other_half, 1, N);
    CASE(skipped_in_a_loop, 1, N);
    CASE(skipped_before_the_others, 1, N);
    CASE(no_barrier, 1, N);
    CASE(barrier_counts_too, 1, N);
    CASE(next_round, 1, N);
    CASE(two_buffers, 1, N);
    CASE(named_barriers, 1, N);
    CASE(written_behind_the_arrival, 1, N);
    CASE(half_of_the_block_meets, 1, N);
    CASE(ended_early, 1, N);
    CASE(bytes_of_a_word, 1, N);
    CASE(neighbour_in_global_memory, 1, N);
    CASE(histogram, 1, N);
    CASE(copied_by_others, 1, N);
    CASE(barrier_in_memory, 1, N);
    CASE(other_barrier_in_memory, 1, N);
    CASE(cluster_barrier_forgotten, 2, N);
    CASE(cluster_arrival_too_early, 2, N);
    CASE(behind_a_fault, 3, 1);
    CASE(behind_a_fault_of_its_block, 1, 96);
    CASE(fence_of_one_block, 2, 1);
    CASE(fence_of_one_warp, 1, 64);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaFree(s));
    return known ? 0 : 2;
}
