//! Raw bindings to the CUDA Runtime API (libcudart), generated at build time from the headers of the
//! installed toolkit.
//!
//! Every name is C's: [`cudaMalloc`], [`cudaMemcpyHostToDevice`], [`cudaDeviceProp`]. All functions are
//! `unsafe` and return a [`cudaError_t`], as in C. `cuda-safe` is the safe layer over this crate.
//!
//! - **Enums** are newtypes with constants beside them, not Rust enums. A driver that is newer than the
//!   headers may return a code that they do not list, and that code must be a value like any other.
//! - **Structs** implement `Debug`, and `Default` as C's `= {0}`. Their layout is checked at compile
//!   time.
//! - **Constants** that C spells as casts, and **inline helpers** such as [`make_cudaExtent`], are
//!   written by hand.
//! - **Documentation** of functions and types is the header's own.
//!
//! # Toolkits
//! CUDA 12 and 13 are supported. The build uses the first of these locations that has a toolkit:
//!
//! 1. `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` (one that is set but wrong is an
//!    error)
//! 2. `nvcc` on `PATH`
//! 3. `/usr/local/cuda`, `/opt/cuda`, `/usr`
//! 4. `CONDA_PREFIX`
//! 5. NVIDIA's Python wheels in the active virtual environment
//! 6. `target/cuda-toolkit`, where this workspace's `ci/setup` installs one
//!
//! Functions that are newer than the oldest supported toolkit exist only if its headers have them. Each of
//! the cfgs `cudart_12_4`, ..., `cudart_13_5` is set for its version and all newer ones. A crate that depends
//! on this one gets them if its build script calls `cuda_sys_build::emit_version_cfgs()`. That function reads
//! `DEP_CUDART_VERSION`. Cargo passes it to direct dependents, with `DEP_CUDART_ROOT`, `_INCLUDE`, `_LIB` and
//! `_NVCC`.
//!
//! If `DOCS_RS` or `CUDA_SYS_SNAPSHOT` is set, the build needs no toolkit: it uses the signatures in the
//! package, for documentation and type checks. Nothing can be linked then.
//!
//! # At run time
//! A program requests `libcudart.so.12` or `.13` from the loader, by the major version of the headers. The
//! loader does not start the program with another version. Under `cargo run` and `cargo test` the loader
//! finds the toolkit's library. Elsewhere the library must be on the loader's path, or in `LD_LIBRARY_PATH`.
//! [`check_runtime`] detects a library with the right name and another version. With the feature `static` the
//! library is part of the program.
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

// The unit tests.
// Not under sanitizers: they use no GPU.

mod bindings;
mod constants;
mod inline;
#[cfg(feature = "load")]
mod load;
mod runtime;

pub use bindings::*;
pub use constants::*;
pub use inline::*;
#[cfg(feature = "load")]
pub use load::*;
pub use runtime::{WrongRuntime, check_runtime, runtime_version};
