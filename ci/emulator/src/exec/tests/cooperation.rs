//! Threads that work together: barriers, warps, atomics, and blocks that wait for each other.

use super::super::{Fault, Kernel};
use super::{Step, Task, arg, cuda, fails, load};

#[test]
fn warps_vote_shuffle_match_and_reduce() {
    let mut m = cuda(
        "__global__ void all(unsigned* out) {
             unsigned i = threadIdx.x, *o = out + i * 12;
             o[0] = __ballot_sync(-1, i & 1);
             o[1] = __shfl_up_sync(-1, i, 3);
             o[2] = __shfl_down_sync(-1, i * 2, 5, 8);
             o[3] = __shfl_sync(-1, i, 9, 16);
             o[4] = __match_any_sync(-1, i % 5);
             int same; o[5] = __match_all_sync(-1, 7u, &same) + same;
             o[6] = __reduce_add_sync(-1, i); o[7] = __reduce_max_sync(-1, i ^ 9);
             o[8] = __any_sync(-1, i == 30) * 2 + __all_sync(-1, i < 31);
             if (i % 4 == 1) { o[9] = __activemask(); o[10] = __shfl_sync(0x22222222, i, 5); }
             else { o[9] = 0; o[10] = __popc(__ballot_sync(0xDDDDDDDD, i > 15)); }
             unsigned sum = i;
             for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(-1, sum, d);
             o[11] = sum;
         }",
    );
    let out = m.machine.alloc(4 * 12 * 32);
    m.run("all", 1, 32, &[arg(out)]).unwrap();
    let got: Vec<u32> = m.machine.download(out);
    for i in 0..32u32 {
        let o = &got[i as usize * 12..][..12];
        let down = if i % 8 + 5 < 8 { i + 5 } else { i };
        let matched = (0..32).filter(|j| j % 5 == i % 5).fold(0, |m, j| m | 1 << j);
        let odd = i % 4 == 1;
        let expected = [
            0xAAAA_AAAA,
            if i < 3 { i } else { i - 3 },
            down * 2,
            i / 16 * 16 + 9,
            matched,
            0u32,
            496,
            31,
            2,
            if odd { 0x2222_2222 } else { 0 },
            if odd { 5 } else { 12 },
            496,
        ];
        assert_eq!(o, expected, "lane {i}");
    }
}

#[test]
fn tiles_of_several_warps_use_the_reserved_shared_memory() {
    let mut m = cuda(
        "#include <cooperative_groups.h>
         namespace cg = cooperative_groups;
         __global__ void halves(int* out) {
             __shared__ cg::block_tile_memory<128> memory;
             __shared__ int own[128];
             int i = threadIdx.x;
             own[i] = i;
             cg::thread_block block = cg::this_thread_block(memory);
             auto half = cg::tiled_partition<64>(block);
             out[i] = half.shfl(i, 33);
             half.sync();
             out[i] += 1000 * own[i ^ 63];
         }",
    );
    let out = m.machine.alloc(4 * 128);
    m.run("halves", 1, 128, &[arg(out)]).unwrap();
    let got: Vec<u32> = m.machine.download(out);
    let expected: Vec<u32> = (0..128).map(|i| i / 64 * 64 + 33 + 1000 * (i ^ 63)).collect();
    assert_eq!(got, expected);
    let program = &m.launch("halves", [1, 1, 1], [128, 1, 1], &[arg(out)]).program;
    assert_eq!(program.static_shared, program.declared_shared().next_multiple_of(16) + 288);
}

#[test]
fn atomics_count_every_thread() {
    let mut m = cuda(
        "__global__ void count(int* o, float* f, double* d, unsigned long long* l) {
             __shared__ int s;
             if (threadIdx.x == 0) s = 0;
             __syncthreads();
             atomicAdd(&s, 2); atomicAdd(o, 1); atomicMax(o + 1, (int)(threadIdx.x * 7 % 101)); atomicMin(o + 2, -(int)threadIdx.x);
             atomicXor(o + 3, 1 << (threadIdx.x & 7)); atomicInc((unsigned*)o + 4, 9); atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
             atomicAdd(l, 1ull << 33);
             int old = o[5], seen;
             do { seen = old; old = atomicCAS(o + 5, seen, seen + 3); } while (old != seen);
             __syncthreads();
             if (threadIdx.x == 0) atomicAdd(o + 6, s);
         }",
    );
    let o = m.machine.alloc(32);
    let (f, d, l) = (m.machine.alloc(4), m.machine.alloc(8), m.machine.alloc(8));
    m.run("count", 3, 100, &[arg(o), arg(f), arg(d), arg(l)]).unwrap();
    assert_eq!(m.machine.download::<i32>(o)[..7], [300, 100, -99, 0x0F, 0, 900, 600]);
    assert_eq!(m.machine.download::<f32>(f), [150.0]);
    assert_eq!(m.machine.download::<f64>(d), [75.0]);
    assert_eq!(m.machine.download::<u64>(l), [300 << 33]);
}

#[test]
fn barriers_with_counts_and_reductions() {
    let mut m = cuda(
        "__global__ void k(int* out) {
             int i = threadIdx.x;
             out[i] = __syncthreads_count(i % 3 == 0) * 100 + __syncthreads_or(i == 77) * 10 + __syncthreads_and(i < 99);
             __shared__ int s[64];
             if (i < 64) { s[i] = i; asm volatile(\"bar.sync 3, 64;\"); out[i] += s[63 - i] * 1000; }
         }",
    );
    let out = m.machine.alloc(400);
    m.run("k", 1, 100, &[arg(out)]).unwrap();
    for (i, v) in m.machine.download::<i32>(out).into_iter().enumerate() {
        let more = if i < 64 { (63 - i as i32) * 1000 } else { 0 };
        assert_eq!(v, 3410 + more, "thread {i}");
    }
}

#[test]
fn blocks_may_wait_for_each_other_and_threads_of_a_warp_too() {
    let mut m = cuda(
        "__global__ void grid(int* count, int* out) {
             if (threadIdx.x == 0) {
                 atomicAdd(count, 1);
                 while (*(volatile int*)count < gridDim.x) { }
             }
             __syncthreads();
             out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int*)count;
         }
         __global__ void lock(int* mutex, int* total) {
             bool done = false;
             while (!done) {
                 if (atomicCAS(mutex, 0, 1) == 0) { *(volatile int*)total += 1; __threadfence(); atomicExch(mutex, 0); done = true; }
             }
         }
         __global__ void handshake(volatile int* flag) {
             if (threadIdx.x == 0) { while (*flag == 0) { } *flag = 2; }
             else { *flag = 1; while (*flag != 2) { } }
         }",
    );
    let (count, out) = (m.machine.alloc(4), m.machine.alloc(4 * 64 * 64));
    m.run("grid", 64, 64, &[arg(count), arg(out)]).unwrap();
    assert!(m.machine.download::<i32>(out).iter().all(|v| *v == 64));
    let (mutex, total) = (m.machine.alloc(4), m.machine.alloc(4));
    m.run("lock", 2, 64, &[arg(mutex), arg(total)]).unwrap();
    assert_eq!(m.machine.download::<i32>(total), [128]);
    let flag = m.machine.alloc(4);
    m.run("handshake", 1, 2, &[arg(flag)]).unwrap();
    assert_eq!(m.machine.download::<i32>(flag), [2]);
}

#[test]
fn a_kernel_that_polls_gives_control_back_and_goes_on() {
    let mut m = cuda("__global__ void gate(volatile int* flag, int* out) { while (!*flag) { } *out = 5; }");
    let (flag, out) = (m.machine.alloc(4), m.machine.alloc(4));
    let launch = m.launch("gate", [1; 3], [1; 3], &[arg(flag), arg(out)]);
    let mut kernel = Kernel::new(launch);
    for _ in 0..10 {
        assert!(matches!(kernel.step(&mut m.machine, 1000), Step::Yield));
    }
    m.machine.bytes(flag)[0] = 1;
    assert!(matches!(kernel.step(&mut m.machine, 1000), Step::Done));
    assert_eq!(m.machine.download::<i32>(out), [5]);
}

#[test]
fn grid_wide_barriers_of_cooperative_groups() {
    let mut m = cuda(
        "#include <cooperative_groups.h>
         __global__ void k(int* a, int* b) {
             auto g = cooperative_groups::this_grid();
             int i = g.thread_rank(), n = g.size();
             a[i] = i;
             g.sync();
             b[i] = a[n - 1 - i];
             g.sync();
             a[i] = b[i] + b[(i + 1) % n];
         }",
    );
    let (a, b) = (m.machine.alloc(4 * 256), m.machine.alloc(4 * 256));
    let mut launch = m.launch("k", [4, 1, 1], [64, 1, 1], &[arg(a), arg(b)]);
    launch.cooperative = true;
    m.finish(launch).unwrap();
    let got: Vec<i32> = m.machine.download(a);
    assert!((0..256).all(|i| got[i as usize] == 255 - i + (255 - (i + 1) % 256)));
}

#[test]
fn blocks_that_wait_for_each_other_end_however_short_the_steps_are() {
    let mut m = cuda(
        "__global__ void meet(int* count) {
             if (threadIdx.x == 0) {
                 atomicAdd(count, 1);
                 while (atomicAdd(count, 0) < gridDim.x) { }
             }
         }",
    );
    for budget in [1000, 1 << 12, 1 << 15, (1 << 16) + 1] {
        let count = m.machine.alloc(4);
        let mut kernel = Kernel::new(m.launch("meet", [3, 1, 1], [64, 1, 1], &[arg(count)]));
        let over = (0..1_000_000).any(|_| matches!(kernel.step(&mut m.machine, budget), Step::Done));
        assert!(over, "with {budget} instructions a step");
        assert_eq!(m.machine.download::<i32>(count), [3]);
    }
}

#[test]
fn kernels_whose_blocks_come_in_clusters_are_known() {
    let m = load(
        ".version 9.0 .target sm_90 .address_size 64
        .visible .entry one() .explicitcluster .reqnctapercluster 1, 1, 1 { ret; }
        .visible .entry pairs() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
        .visible .entry none() { ret; }",
    );
    let clusters =
        ["one", "pairs", "none"].map(|name| m.launch(name, [2, 1, 1], [1; 3], &[]).program.cluster);
    assert_eq!(clusters, [Some([1; 3]), Some([2, 1, 1]), None]);
}

#[test]
fn threads_that_wait_for_ever_are_reported() {
    let mut m = load(
        ".version 9.0 .target sm_90 .address_size 64
        .visible .entry k() { .reg .b32 r; .reg .pred p; mov.u32 r, %tid.x; setp.lt.u32 p, r, 32;
            @p bra A; bar.sync 1; ret; A: bar.sync 2; ret; }
        .visible .entry split() { .reg .b32 r; .reg .pred p; mov.u32 r, %tid.x; setp.lt.u32 p, r, 16;
            @p bra A; bar.sync 0; ret; A: bar.sync 0; ret; }",
    );
    let words = ["wait for each other for ever", "barrier 1", "barrier 2"];
    fails(m.run("k", 1, 64, &[]), Fault::LAUNCH_FAILURE, &words);
    fails(m.run("split", 1, 32, &[]), Fault::LAUNCH_FAILURE, &["in different places"]);
}

#[test]
fn several_numbers_are_added_each_by_itself() {
    let mut m = cuda(
        "__global__ void add(float4* sums, float2* olds) {
             atomicAdd(sums, make_float4(1, 2, threadIdx.x, -1));
             olds[threadIdx.x] = atomicAdd((float2*)(sums + 1), make_float2(1, 10));
         }
         __global__ void crooked(float* sums) { atomicAdd((float4*)(sums + 1), make_float4(1, 2, 3, 4)); }",
    );
    let (sums, olds) = (m.machine.alloc(32), m.machine.alloc(256));
    m.run("add", 1, 32, &[arg(sums), arg(olds)]).unwrap();
    assert_eq!(m.machine.download::<f32>(sums)[..6], [32.0, 64.0, 496.0, -32.0, 32.0, 320.0]);
    let olds: Vec<f32> = m.machine.download(olds);
    assert!(olds.chunks(2).all(|old| old[1] == old[0] * 10.0), "{olds:?}");
    fails(m.run("crooked", 1, 1, &[arg(sums)]), Fault::MISALIGNED_ADDRESS, &[]);
}
