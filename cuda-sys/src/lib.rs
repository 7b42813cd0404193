//! Raw bindings to the CUDA Runtime API (libcudart), generated at build time from the headers of the toolkit
//! that is installed.
//!
//! Every name is C's: [`cudaMalloc`], [`cudaMemcpyHostToDevice`], [`cudaDeviceProp`]. All functions are
//! `unsafe` and return a [`cudaError_t`], as in C; `cuda-safe` is the crate to use for anything more
//! comfortable.
//!
//! - **Enums** are newtypes with constants beside them, not Rust enums: a driver that is newer than the
//!   headers may return a code that they do not list, and that must be a value like any other.
//! - **Structs** implement `Debug`, and `Default` as C's `= {0}`; their layout is checked when they are
//!   compiled.
//! - **Constants** that C spells as casts, and **inline helpers** such as [`make_cudaExtent`], are written
//!   out by hand.
//! - **Documentation** of functions and types is the header's own.
//!
//! # Which toolkit
//! CUDA 12 and 13. The first of these that holds one is used:
//!
//! 1. `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` (one that is set but wrong is an error)
//! 2. `nvcc` on `PATH`
//! 3. `/usr/local/cuda`, `/opt/cuda`, `/usr`
//! 4. `CONDA_PREFIX`
//! 5. NVIDIA's Python wheels in the active virtual environment
//! 6. `target/cuda-toolkit`, where this workspace's `ci/setup` puts one
//!
//! Functions that came later than the oldest supported toolkit exist only where its headers have them. Crates
//! that depend on this one get the same `cudart_12_4`, ..., `cudart_13_5` cfgs, each set for its version and
//! all newer ones, by calling `cuda_sys_build::emit_version_cfgs()` from their build script; it reads
//! `DEP_CUDART_VERSION`, one of `DEP_CUDART_ROOT`, `_INCLUDE`, `_LIB`, `_NVCC` and `_VERSION` which cargo
//! gives to direct dependents.
//!
//! With `DOCS_RS` or `CUDA_SYS_SNAPSHOT` set no toolkit is needed: signatures kept in the package are
//! documented (or checked against) instead, and nothing can be linked.
//!
//! # At run time
//! A program asks the loader for `libcudart.so.12` or `.13`, after the major version of the headers, and the
//! loader refuses to start it with any other. Under `cargo run` and `cargo test` it finds the toolkit's;
//! elsewhere the library must be where the loader looks, or be named by `LD_LIBRARY_PATH`. [`check_runtime`]
//! finds what slips through: a library that carries the right name and is another version. With the feature
//! `static` the library is part of the program.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! cuda_sys::check_runtime()?;
//! let mut devices = 0;
//! // SAFETY: the pointer is valid for the call.
//! let code = unsafe { cuda_sys::cudaGetDeviceCount(&mut devices) };
//! assert_eq!(code, cuda_sys::cudaSuccess);
//! # Ok(())
//! # }
//! ```

mod bindings;
mod constants;
mod inline;
mod runtime;

pub use bindings::*;
pub use constants::*;
pub use inline::*;
pub use runtime::{WrongRuntime, check_runtime, runtime_version};
