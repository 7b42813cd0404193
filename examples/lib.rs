//! What the examples share; the C++ programs have `check.cuh`.
//!
//! Each folder beside this file is one example: `main.cu` is the CUDA C++ program, `main.rs` its Rust port,
//! line for line, and both print the same. `cargo run -p examples --bin vector_add` runs one. `bench/` is no
//! example: it compares the costs. Nor is `bandwidth/`, which has no twin: it tells how fast copies are on a
//! machine.

/// How a program says that something is so, or is not.
#[must_use]
pub fn yes_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// What the programs of `bench/` share.
pub mod bench {
    pub mod interval;
    pub mod program;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../cuda-safe/docs/porting.md")]
struct Documents;
