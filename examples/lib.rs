//! Shared code of the examples. The C++ programs share `check.cuh`.
//!
//! Each folder beside this file is one example: `main.cu` is the CUDA C++ program, and `main.rs` is its
//! Rust port, line by line. Both print the same. `cargo run -p examples --bin vector_add` runs one. Two
//! folders are not examples: `bench/` compares costs, and `bandwidth/`, which has no twin, measures the
//! copies of a machine. `own_library`, `cublas_gemm` and `all_reduce` are packages of their own, because each
//! uses another library: `cargo run -p own_library`.

/// Returns the text for a condition that holds or does not.
#[must_use]
pub fn yes_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

pub mod plot;

/// Shared code of the programs in `bench/`.
pub mod bench {
    pub mod interval;
    pub mod program;
    pub mod serve;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../cuda-safe/docs/porting.md")]
struct Documents;

/// The programs of the guides about other libraries.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../cuda-safe/docs/other-libraries.md")]
    struct OtherLibraries;
    #[doc = include_str!("../cuda-safe/docs/coming-from-cudarc.md")]
    struct ComingFromCudarc;
}
