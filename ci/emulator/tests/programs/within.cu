// Classic mistakes within a kernel, one a case: within CASE [right]. With `right` the program is correct. A
// comment `// CASE: WORD` marks a line that the finding of the case must name.
#include "check.h"

#include <cooperative_groups.h>
#include <ctime>

namespace {

namespace cg = cooperative_groups;
constexpr int N = 256;

__global__ void missing_barrier(int *out, bool right) {
    __shared__ int all[N];
    all[threadIdx.x] = threadIdx.x; // missing_barrier: first
    if (right) __syncthreads();
    out[threadIdx.x] = all[N - 1 - threadIdx.x]; // missing_barrier: second
}

__global__ void missing_warp_barrier(int *out, bool right) {
    __shared__ int all[32];
    if (threadIdx.x >= 32) return;
    all[threadIdx.x] = threadIdx.x + 1; // missing_warp_barrier: first
    if (right) __syncwarp();
    out[threadIdx.x] = all[threadIdx.x ^ 1]; // missing_warp_barrier: second
}

// The next tile is written while other warps read this one.
__global__ void tile_reused(int *out, bool right) {
    __shared__ int tile[N];
    int sum = 0;
    for (int turn = 0; turn < 3; turn++) {
        tile[threadIdx.x] = threadIdx.x * turn; // tile_reused: second
        __syncthreads();
        sum += tile[(threadIdx.x + 40) % N]; // tile_reused: first
        if (right) __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void histogram(int *out, bool right) {
    __shared__ int counts[N];
    counts[threadIdx.x] = 0; // histogram: first
    if (right) __syncthreads();
    atomicAdd(&counts[threadIdx.x * 7 % N], 1);
    __syncthreads();
    out[threadIdx.x] = counts[threadIdx.x];
}

// Each block reads the last element of the block before it.
__global__ void neighbours(int *out, bool right) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, before = at > 0 ? at - 1 : 0;
    int value = right ? out[2 * N + before] : out[before]; // neighbours: first
    __syncthreads();
    out[at] = value + 1; // neighbours: second
}

// The last block adds what all have written.
__global__ void missing_fence(int *out, bool right) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        out[1 + blockIdx.x] = blockIdx.x; // missing_fence: first
        if (right) __threadfence();
        last = atomicAdd(out, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        out[N + threadIdx.x] = out[1 + threadIdx.x]; // missing_fence: second
    }
}

// Block 0 reads what the others write, without a grid.sync() in between. The loop is unrolled.
__global__ void partial_sums(int *out, bool right) {
    if (threadIdx.x == 0) out[blockIdx.x] = 1; // partial_sums: first
    if (right || blockIdx.x > 0 || threadIdx.x > 0) return;
    int sum = 0;
#pragma unroll 4
    for (unsigned i = 1; i < gridDim.x; ++i) {
        sum += out[i]; // partial_sums: second
    }
    out[N] = sum;
}

__global__ void unwritten(int *out, bool right) {
    __shared__ int all[N];
    if (right || threadIdx.x < N / 2) all[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = all[threadIdx.x]; // unwritten: read
}

// One past the end of an array is in the next one.
__global__ void outside(int *out, bool right) {
    __shared__ int first[N], second[N];
    first[threadIdx.x] = 1;
    second[threadIdx.x] = 2;
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < (right ? 3 : 4); k++) sum += first[threadIdx.x / 64 * 64 + 22 * k]; // outside: read
    out[threadIdx.x] = sum + second[N - 1 - threadIdx.x];
}

__global__ void divergent_barrier(int *out, bool right) {
    if (right) {
        __syncthreads();
        out[threadIdx.x] = 1;
    } else if (threadIdx.x < 32) {
        __syncthreads(); // divergent_barrier: first
        out[threadIdx.x] = 1;
    } else {
        out[threadIdx.x] = 2;
        __syncthreads(); // divergent_barrier: second
    }
}

// The last threads of the block skip the barrier, and go on behind it.
__global__ void skipped_barrier(int *out, bool right) {
    __shared__ int all[N];
    all[threadIdx.x] = threadIdx.x;
    if (right || threadIdx.x < 100) __syncthreads(); // skipped_barrier: barrier
    out[threadIdx.x] = all[threadIdx.x]; // skipped_barrier: others
}

// Threads leave the loop with the barrier after different numbers of turns.
__global__ void barrier_in_a_loop(int *out, bool right) {
    __shared__ int all[N];
    for (int at = threadIdx.x; at < (right ? 2 * N : N + 44); at += N) {
        all[threadIdx.x] = out[at];
        __syncthreads(); // barrier_in_a_loop: barrier
    }
    out[threadIdx.x] = all[threadIdx.x]; // barrier_in_a_loop: others
}

// A mistake at each of many accesses.
enum Mistake { RACE, GLOBAL_RACE, UNWRITTEN, OUTSIDE, MASK, MISTAKES };
template <Mistake MISTAKE> __global__ void repeated(int *out, bool right, int rounds) {
    __shared__ int all[2 * N], other[N];
    all[threadIdx.x] = other[threadIdx.x] = threadIdx.x;
    if (MISTAKE != UNWRITTEN || right) all[N + threadIdx.x] = 1;
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        int *at = MISTAKE == GLOBAL_RACE ? out : all;
        if (MISTAKE == RACE || MISTAKE == GLOBAL_RACE) at[threadIdx.x] = sum + round;
        if (right) __syncthreads();
        if (MISTAKE == RACE || MISTAKE == GLOBAL_RACE) sum += at[N - 1 - threadIdx.x];
        if (MISTAKE == UNWRITTEN) sum += all[N + (threadIdx.x + round) % N];
        if (MISTAKE == OUTSIDE) sum += all[threadIdx.x + (right ? 0 : 2 * N)];
        if (MISTAKE == MASK) {
            unsigned got;
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, %2; }"
                         : "=r"(got) : "r"(threadIdx.x), "r"(right ? ~0u : ~1u));
            sum += got;
        }
        __syncthreads();
    }
    out[threadIdx.x] = sum + all[N - 1 - threadIdx.x] + other[N - 1 - threadIdx.x];
}

// Prints the processor time of the wrong accesses and of the right ones, once they have been reported.
template <int MISTAKE> void compare(int *out) {
    double times[2];
    for (int launch = 0; launch < 4; launch++) {
        clock_t begin = std::clock();
        repeated<Mistake(MISTAKE)><<<1, N>>>(out, launch % 2, 200);
        OK(cudaDeviceSynchronize());
        times[launch % 2] = double(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    std::printf("%d %.6f %.6f\n", MISTAKE, times[0], times[1]);
    if constexpr (MISTAKE + 1 < MISTAKES) compare<MISTAKE + 1>(out);
}

// Correct ways to order threads: each leaves `out` as the next one expects it.

__global__ void shuffles(int *out) {
    __shared__ int sums[N / 32];
    int sum = threadIdx.x;
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(-1, sum, k);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < N / 32 ? sums[threadIdx.x] : 0;
        for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(-1, sum, k);
        if (threadIdx.x == 0) out[0] = sum;
    }
}

// As old samples do it: the last warp works on volatile shared memory.
__global__ void volatile_warp(int *out) {
    __shared__ int all[N];
    all[threadIdx.x] = 1;
    __syncthreads();
    for (int k = N / 2; k > 32; k /= 2) {
        if (threadIdx.x < k) all[threadIdx.x] += all[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        volatile int *s = all;
        for (int k = 32; k > 0; k /= 2) s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + k];
    }
    if (threadIdx.x == 0) out[0] = all[0];
}

__global__ void grid(int *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    out[at] = at;
    cg::this_grid().sync();
    int other = out[gridDim.x * blockDim.x - 1 - at];
    cg::this_grid().sync();
    out[at] = other;
}

__global__ void groups(int *out) {
    __shared__ int all[N];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    all[block.thread_rank()] = 1;
    tile.sync();
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += all[tile.meta_group_rank() * 8 + k];
    block.sync();
    all[block.thread_rank()] = sum;
    cg::coalesced_group active = cg::coalesced_threads();
    active.sync();
    out[block.thread_rank()] = all[block.thread_rank() ^ 1];
}

// Two halves of a block hand a value over by a named barrier that only one half waits for.
__global__ void named_barrier(int *out) {
    __shared__ int all[N / 2];
    if (threadIdx.x < N / 2) {
        all[threadIdx.x] = threadIdx.x;
        asm volatile("bar.arrive 1, 256;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 256;" ::: "memory");
        out[threadIdx.x] = all[N - 1 - threadIdx.x];
    }
}

// Blocks hand a value on by a flag.
__global__ void chain(int *out) {
    volatile int *flag = out + N;
    if (threadIdx.x != 0) return;
    while (blockIdx.x > 0 && *flag < int(blockIdx.x)) {}
    __threadfence();
    out[blockIdx.x] = blockIdx.x > 0 ? out[blockIdx.x - 1] + 1 : 7;
    __threadfence();
    *flag = blockIdx.x + 1;
}

// Many threads write the same value.
__global__ void found(int *out) {
    if (threadIdx.x % 3 == 0) out[0] = 1;
}

__global__ void bytes(char *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

// Threads without work end early, before a barrier and between two.
__global__ void early_end(int *out) {
    __shared__ int all[N];
    if (threadIdx.x >= 200) return;
    all[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int mine = all[199 - threadIdx.x];
    if (threadIdx.x >= 50) return;
    __syncthreads();
    all[threadIdx.x] = mine;
    __syncthreads();
    out[threadIdx.x] = all[49 - threadIdx.x];
}

// Barriers in loops with the same number of turns for all, the last one left early by all, and reductions.
__global__ void loops(int *out) {
    __shared__ int all[N];
    for (int turn = 0; turn < 5; turn++) {
        all[threadIdx.x] = turn;
        __syncthreads();
        if (threadIdx.x < 32 && turn % 2) out[blockIdx.x * N + threadIdx.x] = all[N - 1 - threadIdx.x];
        __syncthreads();
        if (__syncthreads_or(turn == 3)) break;
    }
    if (blockIdx.x == 0) __syncthreads();
    out[blockIdx.x * N + threadIdx.x] = __syncthreads_count(threadIdx.x < 7);
}

bool correct(int *out) {
    shuffles<<<1, N>>>(out);
    volatile_warp<<<1, N>>>(out);
    void *args[] = {&out};
    OK(cudaMemset(out, 0, 8 * N * sizeof(int)));
    OK(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(grid), dim3(4), dim3(N), args, 0, nullptr));
    groups<<<2, N>>>(out);
    named_barrier<<<1, N>>>(out);
    early_end<<<1, N>>>(out);
    loops<<<2, N>>>(out);
    OK(cudaMemset(out, 0, 8 * N * sizeof(int)));
    chain<<<8, 32>>>(out);
    found<<<4, N>>>(out);
    bytes<<<4, 33>>>(reinterpret_cast<char *>(out));
    return true;
}

} // namespace

int main(int count, char **arguments) {
    std::string name = count > 1 ? arguments[1] : "";
    bool right = count > 2;
    int *out = nullptr;
    OK(cudaMalloc(&out, 8 * N * sizeof(int)));
    OK(cudaMemset(out, 0, 8 * N * sizeof(int)));
    bool known = name == "correct" && correct(out);
    if (name == "repeated") known = true, compare<0>(out);
#define CASE(kernel, blocks) \
    if (name == #kernel) known = true, kernel<<<blocks, N>>>(out, right)
    CASE(missing_barrier, 1);
    CASE(missing_warp_barrier, 1);
    CASE(tile_reused, 1);
    CASE(histogram, 1);
    CASE(neighbours, 2);
    CASE(missing_fence, 4);
    CASE(partial_sums, 8);
    CASE(unwritten, 1);
    CASE(outside, 1);
    CASE(divergent_barrier, 1);
    CASE(skipped_barrier, 1);
    CASE(barrier_in_a_loop, 1);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaFree(out));
    return known ? 0 : 2;
}
