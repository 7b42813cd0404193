//! Shared code of the examples. The C++ programs share `check.cuh`.
//!
//! Each folder beside this file is one example: `main.cu` is the CUDA C++ program, and `main.rs` is its
//! Rust port, line by line. Both print the same. `cargo run -p examples --bin vector_add` runs one. `bench/`
//! is a package of its own: programs that measure. So are `own_library`, `cublas_gemm`, `all_reduce`,
//! `profiling` and `with_cudarc`, because each uses another library: `cargo run -p own_library`.

/// The handles of the kernels in `kernels/`, which only examples use. The others are in `cuda_kernels`.
pub mod kernels {
    cuda_safe::include_kernels!("example_kernels");

    /// The handles of kernels whose device code is linked: those that set conditions of graphs.
    pub mod linked {
        cuda_safe::include_kernels!("example_linked");
    }
}

/// Returns the text for a condition that holds or does not.
#[must_use]
pub fn yes_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// The programs of the documents. `ci/steps/documents` runs the guide's first chapter.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../cuda-safe/docs/guide/2-memory.md")]
    struct Memory;
    #[doc = include_str!("../cuda-safe/docs/guide/3-copies.md")]
    struct Copies;
    #[doc = include_str!("../cuda-safe/docs/guide/4-streams.md")]
    struct Streams;
    #[doc = include_str!("../cuda-safe/docs/guide/5-kernels.md")]
    struct Kernels;
    #[doc = include_str!("../cuda-safe/docs/guide/6-graphs.md")]
    struct Graphs;
    #[doc = include_str!("../cuda-safe/docs/guide/7-devices.md")]
    struct Devices;
    #[doc = include_str!("../cuda-safe/docs/guide/8-races.md")]
    struct Races;
    #[doc = include_str!("../cuda-safe/docs/guide/9-library.md")]
    struct Library;
    #[doc = include_str!("../cuda-safe/docs/other-libraries.md")]
    struct OtherLibraries;
    #[doc = include_str!("../cuda-safe/docs/coming-from.md")]
    struct ComingFrom;
    #[doc = include_str!("../cuda-safe/docs/compared.md")]
    struct Compared;
}
