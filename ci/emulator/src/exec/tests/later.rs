//! Asynchronous copies, and barriers in shared memory.

use super::super::Fault;
use super::{arg, cuda, fails};

#[test]
fn a_copy_is_there_once_it_was_waited_for_and_not_before() {
    let mut m = cuda(
        "#include <cuda_pipeline.h>
         __global__ void rows(const int4* in, int4* out, int* early) {
             __shared__ int4 s[3][32];
             unsigned i = threadIdx.x;
             for (int n = 0; n < 3; n++) { s[n][i] = {-1, -1, -1, -1}; }
             for (int n = 0; n < 3; n++) { __pipeline_memcpy_async(&s[n][i], in + n * 32 + i, 16); __pipeline_commit(); }
             early[i] = s[0][i].x;
             __pipeline_wait_prior(1);
             early[32 + i] = s[1][i].x; early[64 + i] = s[2][i].x;
             __pipeline_wait_prior(0);
             __syncthreads();
             for (int n = 0; n < 3; n++) out[n * 32 + i] = s[n][31 - i];
         }",
    );
    let values: Vec<i32> = (0..3 * 32 * 4).collect();
    let (given, out, early) = (m.machine.upload(&values), m.machine.alloc(1536), m.machine.alloc(384));
    m.run("rows", 1, 32, &[arg(given), arg(out), arg(early)]).unwrap();
    let expected: Vec<i32> = (0..384).map(|i| i / 128 * 128 + (31 - i % 128 / 4) * 4 + i % 4).collect();
    assert_eq!(m.machine.download::<i32>(out), expected);
    let expected: Vec<i32> = (0..96).map(|i| if i / 32 == 1 { 128 + (i - 32) * 4 } else { -1 }).collect();
    assert_eq!(m.machine.download::<i32>(early), expected);
}

#[test]
fn what_a_copy_does_not_read_becomes_zeros_and_is_not_looked_at() {
    let mut m = cuda(
        "__global__ void edge(const int* in, int n, int* out) {
             __shared__ int s[32 * 4];
             int i = threadIdx.x, left = n - i * 4;
             unsigned p = __cvta_generic_to_shared(s + i * 4), bytes = left > 4 ? 16 : left > 0 ? left * 4 : 0;
             s[i * 4] = s[i * 4 + 3] = 9;
             asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" :: \"r\"(p), \"l\"(in + i * 4),
                 \"r\"(bytes) : \"memory\");
             asm volatile(\"cp.async.wait_all;\" ::: \"memory\");
             for (int k = 0; k < 4; k++) out[i * 4 + k] = s[i * 4 + k];
         }
         __global__ void past(const int* in, int* out) {
             __shared__ int s[32];
             unsigned p = __cvta_generic_to_shared(s + threadIdx.x);
             asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(p),
                 \"l\"(in + threadIdx.x * 3) : \"memory\");
             asm volatile(\"cp.async.wait_all;\" ::: \"memory\");
             out[threadIdx.x] = s[threadIdx.x];
         }",
    );
    let values: Vec<i32> = (1..=90).collect();
    let (given, out) = (m.machine.upload(&values), m.machine.alloc(512));
    m.run("edge", 1, 32, &[arg(given), arg(90i32), arg(out)]).unwrap();
    let expected: Vec<i32> = (1..=128).map(|i| if i <= 90 { i } else { 0 }).collect();
    assert_eq!(m.machine.download::<i32>(out), expected);
    fails(m.run("past", 1, 32, &[arg(given), arg(out)]), Fault::ILLEGAL_ADDRESS, &["(30,0,0)"]);
}

#[test]
fn blocks_meet_at_barriers_in_shared_memory_phase_after_phase() {
    let mut m = cuda(
        "#include <cuda/barrier>
         __global__ void meet(int* out) {
             #pragma nv_diag_suppress static_var_with_dynamic_init
             __shared__ cuda::barrier<cuda::thread_scope_block> b;
             __shared__ int s[128];
             if (threadIdx.x == 0) init(&b, blockDim.x);
             __syncthreads();
             int sum = 0;
             for (int n = 0; n < 5; n++) {
                 s[threadIdx.x] = n * 1000 + threadIdx.x;
                 auto token = b.arrive();
                 b.wait(std::move(token));
                 sum += s[(threadIdx.x + 37) % 128];
                 b.arrive_and_wait();
             }
             out[threadIdx.x] = sum;
         }
         __global__ void halves(int* out) {
             #pragma nv_diag_suppress static_var_with_dynamic_init
             __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
             __shared__ int box;
             if (threadIdx.x == 0) { init(&full, blockDim.x); init(&empty, blockDim.x); }
             __syncthreads();
             // The last warp produces, the others consume.
             if (threadIdx.x >= 96) {
                 for (int n = 0; n < 4; n++) { empty.arrive_and_wait(); if (threadIdx.x == 96) box = n * n + 1; (void)full.arrive(); }
                 empty.arrive_and_drop();
             } else {
                 int sum = 0;
                 (void)empty.arrive();
                 for (int n = 0; n < 4; n++) { full.arrive_and_wait(); sum = sum * 100 + box; (void)empty.arrive(); }
                 out[threadIdx.x] = sum;
             }
         }",
    );
    let out = m.machine.alloc(512);
    m.run("meet", 1, 128, &[arg(out)]).unwrap();
    let expected: Vec<i32> = (0..128).map(|i| 10_000 + 5 * ((i + 37) % 128)).collect();
    assert_eq!(m.machine.download::<i32>(out), expected);
    m.run("halves", 1, 128, &[arg(out)]).unwrap();
    assert_eq!(m.machine.download::<i32>(out)[..96], [1_020_510; 96]);
}

#[test]
fn copies_and_their_bytes_are_counted_by_barriers() {
    let mut m = cuda(
        "__global__ void bulk(const int* in, int* out) {
             __shared__ __align__(16) int s[256], back[256];
             __shared__ __align__(8) unsigned long long bar;
             unsigned b = __cvta_generic_to_shared(&bar), p = __cvta_generic_to_shared(s);
             if (threadIdx.x == 0) {
                 asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(b) : \"memory\");
                 asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;\" :: \"r\"(b) :
                     \"memory\");
                 for (int n = 0; n < 2; n++)
                     asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes \"
                         \"[%0], [%1], 512, [%2];\" :: \"r\"(p + n * 512), \"l\"(in + n * 128), \"r\"(b) :
                         \"memory\");
             }
             __syncthreads();
             unsigned done = 0;
             while (!done) asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, \"
                 \"[%1], 0; selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(b) : \"memory\");
             for (int i = threadIdx.x; i < 256; i += 32) back[i] = s[i] * 2;
             __syncthreads();
             if (threadIdx.x == 0) {
                 asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");
                 asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;\" ::
                     \"l\"(out), \"r\"((unsigned)__cvta_generic_to_shared(back)) : \"memory\");
                 asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: \"memory\");
             }
         }
         __global__ void each(const int* in, int* out) {
             __shared__ int s[32];
             __shared__ __align__(8) unsigned long long bar;
             unsigned b = __cvta_generic_to_shared(&bar), p = __cvta_generic_to_shared(s + threadIdx.x), done = 0;
             if (threadIdx.x == 0) asm volatile(\"mbarrier.init.shared.b64 [%0], 32;\" :: \"r\"(b) :
                 \"memory\");
             __syncthreads();
             asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(p), \"l\"(in + threadIdx.x)
                 : \"memory\");
             asm volatile(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" :: \"r\"(b) : \"memory\");
             while (!done) asm volatile(\"{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], \"
                 \"0; selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(b) : \"memory\");
             out[threadIdx.x] = s[31 - threadIdx.x];
         }",
    );
    let values: Vec<i32> = (0..256).collect();
    let (given, out) = (m.machine.upload(&values), m.machine.alloc(1024));
    m.run("bulk", 1, 32, &[arg(given), arg(out)]).unwrap();
    assert_eq!(m.machine.download::<i32>(out), values.iter().map(|v| v * 2).collect::<Vec<_>>());
    m.run("each", 1, 32, &[arg(given), arg(out)]).unwrap();
    assert_eq!(m.machine.download::<i32>(out)[..32], (0..32).rev().collect::<Vec<_>>());
}

#[test]
fn a_barrier_that_is_used_wrongly_is_a_fault_that_says_how() {
    let mut m = cuda(
        "__global__ void unbegun(int*) {
             __shared__ __align__(8) unsigned long long bar;
             unsigned b = __cvta_generic_to_shared(&bar);
             bar = 0;
             asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }\" :: \"r\"(b) : \"memory\");
         }
         __global__ void crowded(int*) {
             __shared__ __align__(8) unsigned long long bar;
             unsigned b = __cvta_generic_to_shared(&bar);
             if (threadIdx.x == 0) asm volatile(\"mbarrier.init.shared.b64 [%0], 3;\" :: \"r\"(b) :
                 \"memory\");
             __syncwarp();
             if (threadIdx.x < 2) asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], 2; }\"
                 :: \"r\"(b) : \"memory\");
         }",
    );
    for (kernel, words) in [
        ("unbegun", "was not begun by mbarrier.init"),
        ("crowded", "waits for 1 more arrivals of this phase"),
    ] {
        fails(m.run(kernel, 1, 32, &[arg(0u64)]), Fault::LAUNCH_FAILURE, &[words]);
    }
}
