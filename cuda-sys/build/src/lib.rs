//! Finds the CUDA toolkit, generates bindings to its runtime headers, and tells cargo how to link.
//!
//! It is the logic of `cuda-sys`'s build script as a library. Other build scripts use the same rules by it:
//!
//! - [`build`] is the whole build script of `cuda-sys`.
//! - [`emit_version_cfgs`] sets the `cudart_12_4` ... cfgs of `cuda-sys` for a crate that depends on it.
//! - [`link()`] finds and links another library of NVIDIA's, such as cuBLAS, for the `-sys` crates of others.
//! - [`Search`] finds a toolkit, and [`Bindings`] writes Rust for its headers without linking (feature
//!   `bindgen`, on by default).
//!
//! Only [`Env::from_process`] reads the process's environment. All other functions take the environment as
//! data.

#[cfg(feature = "bindgen")]
mod aliases;
mod build;
mod cargo;
#[cfg(feature = "bindgen")]
mod clang;
#[cfg(feature = "bindgen")]
mod comments;
mod env;
mod error;
#[cfg(feature = "bindgen")]
mod generate;
mod layout;
#[cfg(feature = "bindgen")]
mod libclang;
mod library;
mod link;
#[cfg(test)]
mod made_up;
mod python;
mod search;
mod snapshot;
mod target;
mod toolkit;
mod version;

pub use build::{build, emit_version_cfgs};
pub use env::Env;
pub use error::{Error, Result};
#[cfg(feature = "bindgen")]
pub use generate::Bindings;
#[cfg(feature = "bindgen")]
pub use libclang::prepare_libclang;
pub use library::{Library, link};
pub use search::Search;
pub use target::{check_target, is_windows};
pub use toolkit::Toolkit;
pub use version::{KNOWN_VERSIONS, Version};

/// The snippets of the README are doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
