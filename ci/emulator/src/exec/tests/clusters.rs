//! Blocks of a cluster: their positions, their barrier, and each other's shared memory.

use super::{Loaded, arg, cuda, fails};
use crate::exec::Fault;

const SOURCE: &str = r#"
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" {
    __global__ void ring(int* out, int rounds) {
        __shared__ int mine;
        auto cluster = cg::this_cluster();
        if (threadIdx.x == 0) mine = cluster.block_rank();
        for (int n = 0; n < rounds; ++n) {
            cluster.sync();
            int next = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks());
            cluster.sync();
            if (threadIdx.x == 0) mine = next;
        }
        cluster.sync();
        int* far = cluster.map_shared_rank(&mine, cluster.num_blocks() - 1);
        if (threadIdx.x == 0) {
            out[2 * blockIdx.x] = mine;
            out[2 * blockIdx.x + 1] = cluster.query_shared_rank(far) * 10 + __isShared(&mine)
                + 2 * __isClusterShared(far) + 4 * (cluster.block_rank() != cluster.num_blocks() - 1 && __isShared(far));
        }
        cluster.sync();
    }
    __global__ void some_end(int* out) {
        __shared__ int sum;
        auto cluster = cg::this_cluster();
        if (threadIdx.x == 0) sum = 0;
        cluster.sync();
        // Half of the threads have nothing to do with the second barrier: some without, some with an arrival.
        if (threadIdx.x % 4 == 3) return;
        atomicAdd(cluster.map_shared_rank(&sum, 0), 1);
        cluster.barrier_arrive();
        if (threadIdx.x % 4 == 2) return;
        cluster.barrier_wait();
        if (cluster.block_rank() == 0 && threadIdx.x == 0) out[blockIdx.x / cluster.num_blocks()] = sum;
    }
    __global__ void ends_early(int* out) {
        __shared__ int mine;
        auto cluster = cg::this_cluster();
        mine = 7;
        cluster.sync();
        if (cluster.block_rank() == 1) return;
        for (int n = 0; n < 100000; ++n) { asm volatile("" ::: "memory"); }
        out[0] = *cluster.map_shared_rank(&mine, 1);
    }
    __global__ void beyond(int* out) {
        __shared__ int mine[4];
        auto cluster = cg::this_cluster();
        mine[0] = 1;
        cluster.sync();
        out[0] = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x + 4];
        cluster.sync();
    }
    __global__ void no_such(int* out) {
        __shared__ int mine;
        out[0] = *cg::this_cluster().map_shared_rank(&mine, 2);
    }
    __global__ void waits_only() { asm volatile("barrier.cluster.wait;"); }
    __global__ void arrives_twice() { asm volatile("barrier.cluster.arrive; barrier.cluster.arrive;"); }
    __global__ void never_meet() {
        if (cg::this_cluster().block_rank() == 0) cg::this_cluster().sync(); else while (true) __nanosleep(10);
    }
    __global__ void stuck() {
        if (threadIdx.x < 32) cg::this_cluster().sync(); else __syncthreads();
    }
    }
"#;

fn finish(m: &mut Loaded, kernel: &str, grid: u32, cluster: u32, args: &[Vec<u8>]) -> Result<(), Fault> {
    let mut launch = m.launch(kernel, [grid, 1, 1], [64, 1, 1], args);
    launch.cluster = Some([cluster, 1, 1]);
    m.finish(launch)
}

#[test]
fn values_go_round_a_cluster_through_its_shared_memory() {
    let mut m = cuda(SOURCE);
    let out = m.machine.alloc(4 * 32);
    finish(&mut m, "ring", 16, 8, &[arg(out), arg(3_i32)]).unwrap();
    let got: Vec<i32> = m.machine.download(out);
    for block in 0..16 {
        // The last block's own address is both shared memory of its own and of the cluster.
        let rank = block % 8;
        assert_eq!(got[2 * block..2 * block + 2], [(rank as i32 + 3) % 8, 73], "block {block}");
    }
}

#[test]
fn threads_that_have_ended_are_not_waited_for() {
    let mut m = cuda(SOURCE);
    let out = m.machine.alloc(4 * 3);
    finish(&mut m, "some_end", 12, 4, &[arg(out)]).unwrap();
    assert_eq!(m.machine.download::<i32>(out), [192; 3]);
}

#[test]
fn memory_that_is_not_there_is_named_with_the_block() {
    for (kernel, what) in [
        ("ends_early", "block 1 of the cluster has ended"),
        ("beyond", "each block of the cluster has 16 bytes"),
        ("no_such", "block 2 of a cluster, which has 2"),
    ] {
        let mut m = cuda(SOURCE);
        let out = m.machine.alloc(4);
        fails(finish(&mut m, kernel, 2, 2, &[arg(out)]), Fault::ILLEGAL_ADDRESS, &[what]);
    }
}

#[test]
fn a_barrier_that_is_used_wrongly_is_reported() {
    for (kernel, what) in [
        ("waits_only", "at which the thread has not arrived"),
        ("arrives_twice", "a second arrival at the cluster's barrier"),
        ("stuck", "wait for each other for ever"),
    ] {
        let mut m = cuda(SOURCE);
        fails(finish(&mut m, kernel, 2, 2, &[]), Fault::LAUNCH_FAILURE, &[what]);
    }
}

#[test]
fn blocks_that_wait_for_one_that_does_not_come_leave_the_machine_to_others() {
    let mut m = cuda(SOURCE);
    let mut launch = m.launch("never_meet", [2, 1, 1], [64, 1, 1], &[]);
    launch.cluster = Some([2, 1, 1]);
    let mut kernel = super::Kernel::new(launch);
    for _ in 0..50 {
        assert!(matches!(super::Task::step(&mut kernel, &mut m.machine, 10_000), super::Step::Yield));
    }
}
