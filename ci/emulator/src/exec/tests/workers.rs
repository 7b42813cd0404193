//! Kernels on several processors: the results, the faults and the kernels that stay on one.

use super::super::{Kernel, Program, lower};
use super::{Loaded, Step, Task, arg, cuda};

/// Runs a kernel on so many processors, in steps of so many instructions.
fn run_on(m: &mut Loaded, processors: usize, budget: u64, launch: super::Launch) -> Step {
    m.machine.processors = processors;
    let mut kernel = Kernel::new(launch);
    loop {
        match kernel.step(&mut m.machine, budget) {
            Step::Yield => {}
            end => return end,
        }
    }
}

#[test]
fn blocks_on_several_processors_give_what_they_give_on_one() {
    let mut m = cuda(
        "__global__ void k(unsigned* out, unsigned* sum, int n) {
             __shared__ unsigned s[64];
             unsigned a = blockIdx.x * 64 + threadIdx.x;
             for (int i = 0; i < n + blockIdx.x % 7; i++) {
                 s[threadIdx.x] = a; __syncthreads();
                 a = a * 1664525 + s[63 - threadIdx.x]; __syncthreads();
             }
             out[blockIdx.x * 64 + threadIdx.x] = a;
             atomicAdd(sum, a);
         }",
    );
    let mut expected: Option<(Vec<u32>, Vec<u32>)> = None;
    for (processors, budget) in [(1, 1 << 20), (2, 1 << 20), (3, 1000), (8, 50_000)] {
        let (out, sum) = (m.machine.alloc(4 * 64 * 100), m.machine.alloc(4));
        let launch = m.launch("k", [100, 1, 1], [64, 1, 1], &[arg(out), arg(sum), arg(50)]);
        assert!(!launch.program.shows_order, "nobody uses the old sums");
        assert!(matches!(run_on(&mut m, processors, budget, launch), Step::Done));
        let got = (m.machine.download(out), m.machine.download(sum));
        assert_eq!(&got, expected.get_or_insert_with(|| got.clone()), "{processors} processors");
    }
}

#[test]
fn a_fault_on_several_processors_names_the_first_block_that_has_one() {
    let mut m = cuda(
        "__global__ void k(int* p, int n) {
             int a = threadIdx.x;
             for (int i = 0; i < n; i++) a = a * 5 + 1;
             p[blockIdx.x < 40 ? blockIdx.x : 1000 + blockIdx.x] = a;
         }",
    );
    let p = m.machine.alloc(400);
    let launch = m.launch("k", [100, 1, 1], [32, 1, 1], &[arg(p), arg(500)]);
    let Step::Fault(fault) = run_on(&mut m, 4, 1 << 20, launch) else { panic!("no fault") };
    assert!(fault.message.contains("block (40,0,0)"), "{}", fault.message);
}

#[test]
fn kernels_that_can_show_the_order_of_their_blocks_are_known() {
    let m = cuda(
        "#include <cstdio>
         __global__ void add(int* p) { atomicAdd(p, 1); }
         __global__ void add_shared(int* p) { __shared__ int s; p[0] = atomicAdd(&s, 1); }
         __global__ void place(int* p) { p[atomicAdd(p, 1)] = 1; }
         __global__ void real(float* p) { atomicAdd(p, 1.5f); }
         __global__ void fence(int* p) { p[0] = 1; __threadfence(); p[1] = 1; }
         __global__ void poll(volatile int* p) { while (!p[0]) {} }
         __global__ void prints() { printf(\"x\"); }
         __global__ void heap(int** p) { p[0] = new int; }
         __global__ void time(long long* p) { p[0] = clock64(); }",
    );
    let shows = |kernel: &str| {
        let found = m.module.functions.iter().find(|f| f.entry && f.name.contains(kernel)).unwrap();
        let program: Program = lower(&m.module, &found.name, &m.addresses).unwrap();
        program.shows_order
    };
    assert_eq!(["3add", "add_shared"].map(shows), [false; 2]);
    let all = ["place", "real", "fence", "poll", "prints", "heap", "time"];
    assert_eq!(all.map(shows), [true; 7]);
}
