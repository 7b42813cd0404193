//! Shared code of the examples. The C++ programs share `check.cuh`.
//!
//! Each folder beside this file is one example: `main.cu` is the CUDA C++ program, and `main.rs` is its
//! Rust port, line by line. Both print the same. `cargo run -p examples --bin vector_add` runs one. `bench/` is
//! a package of its own: programs that measure.

/// Returns the text for a condition that holds or does not.
#[must_use]
pub fn yes_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../cuda-safe/docs/porting.md")]
struct Documents;
