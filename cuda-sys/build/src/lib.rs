//! Finds the CUDA toolkit, generates bindings to its runtime headers, and tells cargo how to link.
//!
//! This is what `cuda-sys`'s build script is made of, kept as a library so that it has unit tests and so that
//! other build scripts use the same rules:
//!
//! - [`build`] is the whole of `cuda-sys`'s build script.
//! - [`emit_version_cfgs`] gives the build script of a crate that depends on `cuda-sys` the same
//!   `cudart_12_4` ... cfgs that `cuda-sys` has.
//! - [`Search`] finds a toolkit, [`Bindings`] writes Rust for its headers, without linking anything.
//!
//! Nothing here reads the process's environment but [`Env::from_process`]; everything else takes it as data.

mod aliases;
mod build;
mod cargo;
mod comments;
mod env;
mod error;
mod generate;
mod layout;
mod libclang;
mod link;
#[cfg(test)]
mod made_up;
mod python;
mod search;
mod toolkit;
mod version;

pub use build::{build, emit_version_cfgs};
pub use env::Env;
pub use error::{Error, Result};
pub use generate::Bindings;
pub use libclang::prepare_libclang;
pub use search::Search;
pub use toolkit::Toolkit;
pub use version::{KNOWN_VERSIONS, Version};

/// The snippets of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
