//! The guide: nine short chapters, pages for people who come from elsewhere, a glossary, and the table of all
//! names.
//!
//! | chapter | what it shows |
//! |---|---|
//! | [`first_program`] | from `cargo new` to a kernel's result |
//! | [`memory`] | owners, parts, and the host's access |
//! | [`copies`] | blocking and asynchronous copies and fills |
//! | [`streams`] | streams, events and host functions |
//! | [`kernels`] | kernels, their arguments and their build |
//! | [`graphs`] | captures, branches, launches |
//! | [`devices`] | several devices |
//! | [`races`] | how a port finds the races of the C++ program |
//! | [`library`] | generic functions over memory and streams, a package with kernels, its tests |
//! | [`other_libraries`] | cuBLAS, NCCL, MPI and your own CUDA C++, over streams and memory of this crate |
//! | [`compared`] | one program in six libraries, and what each does with streams, memory and errors |
//! | [`coming_from`] | lines of cudarc and ours, and programs that bind the runtime themselves |
//! | [`glossary`] | the words of the documents |
//! | [`support`] | supported versions, for how long, and what counts as a breaking change |
//! | [`names`] | the appendix: every name of CUDA C++ and its counterpart |
//!
//! `ci/test` runs every program of the chapters. They use kernels of `cuda-kernels`, so they are doctests of
//! the package `examples`, not of this crate; the first chapter is run as a crate of its own.

/// From `cargo new` to a kernel's result.
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/1-first-program.md"))]
pub mod first_program {}

/// Owners, parts, and the host's access.
///
#[cfg_attr(not(doctest), doc = include_str!("../docs/pictures/in-flight.txt"))]
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/2-memory.md"))]
pub mod memory {}

/// Blocking and asynchronous copies and fills.
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/3-copies.md"))]
pub mod copies {}

/// Streams, events and host functions.
///
#[cfg_attr(not(doctest), doc = include_str!("../docs/pictures/two-streams.txt"))]
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/4-streams.md"))]
pub mod streams {}

/// Kernels, their arguments and their build.
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/5-kernels.md"))]
pub mod kernels {}

/// Captures, branches, launches.
///
#[cfg_attr(not(doctest), doc = include_str!("../docs/pictures/retained.txt"))]
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/6-graphs.md"))]
pub mod graphs {}

/// Several devices.
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/7-devices.md"))]
pub mod devices {}

/// How a port finds the races of the C++ program, and the launch that failed.
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/8-races.md"))]
pub mod races {}

/// Generic functions over memory and streams, a package with kernels, its tests.
#[cfg_attr(not(doctest), doc = include_str!("../docs/guide/9-library.md"))]
pub mod library {}

/// Other libraries over streams and memory of this crate.
#[cfg_attr(not(doctest), doc = include_str!("../docs/other-libraries.md"))]
pub mod other_libraries {}

/// One program in six libraries.
#[cfg_attr(not(doctest), doc = include_str!("../docs/compared.md"))]
pub mod compared {}

/// Lines of cudarc and ours, and programs that bind the runtime themselves.
#[cfg_attr(not(doctest), doc = include_str!("../docs/coming-from.md"))]
pub mod coming_from {}

/// The words of the documents.
#[doc = include_str!("../docs/glossary.md")]
pub mod glossary {}

/// Supported versions, for how long, and what counts as a breaking change.
#[doc = include_str!("../docs/support.md")]
pub mod support {}

/// The appendix: every name of CUDA C++ and its counterpart.
#[cfg_attr(not(doctest), doc = include_str!("../docs/porting.md"))]
pub mod names {}
