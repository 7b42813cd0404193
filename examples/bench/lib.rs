//! Shared code of the programs that measure.
//!
//! `ci/bench` runs them on a GPU and compares CUDA C++ with Rust: `bench` asks the others and prints the
//! report. `bandwidth`, which has no twin, measures the copies of a machine. They are a package of their
//! own, so that a build of the examples does not wait for what measures and prints.

pub mod affinity;
pub mod interval;
pub mod program;
pub mod serve;

/// The handles of the kernels that only these programs launch.
pub mod kernels {
    cuda_safe::include_kernels!("bench_kernels");
}
