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
//! Functions that are newer than the oldest supported toolkit exist only if its headers have them. Each
//! version from CUDA 12.4 on has a cfg, such as `cudart_13_2`, which is set for the version and all newer
//! ones; `cuda_sys_build::KNOWN_VERSIONS` lists them. A crate that depends on this one gets them if its build
//! script calls `cuda_sys_build::emit_version_cfgs()`. That function reads `DEP_CUDART_VERSION`. Cargo passes
//! it to direct dependents, with `DEP_CUDART_ROOT`, `_INCLUDE`, `_LIB` and `_NVCC`.
//!
//! With the feature `load`, or if `DOCS_RS` or `CUDA_SYS_SNAPSHOT` is set, the build needs no toolkit: it
//! uses the signatures in the package. They are those of the newest headers that the package knows. An item
//! that CUDA 13.0 lacks names the version that added it. With the variables alone they are for documentation
//! and type checks, and nothing can be linked.
//!
//! # At run time
//! A program requests `libcudart.so.12` or `.13` from the loader, by the major version of the headers. The
//! loader does not start the program with another version. Under `cargo run` and `cargo test` the loader
//! finds the toolkit's library. Elsewhere the library must be on the loader's path, or in `LD_LIBRARY_PATH`.
//! [`check_runtime`] detects a library with the right name and another version. With the feature `static` the
//! library is part of the program.
//!
//! # Loaded at the first call
//! With the feature `load` the program is not linked to libcudart. The first call of any function loads
//! `libcudart.so.13`: as the loader finds it (`LD_LIBRARY_PATH`, so the emulator can take its place), then
//! from the toolkit that `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT` or `CUDA_TOOLKIT_ROOT_DIR` names, then from
//! `/usr/local/cuda` and `/opt/cuda`. It stays loaded. The feature is for programs; a library compiles the
//! same with and without it. It excludes `static`. No toolkit, libclang or C++ compiler is needed where the
//! program is built, and without the default feature `headers` bindgen is not compiled.
//!
//! - **No library**: every function returns `cudaErrorSharedObjectInitFailed` (303). [`cudaGetErrorString`]
//!   of that code says what was looked for, where, and what to do.
//! - **Another major version**: the same code. The text has both versions. Structs and functions of the same
//!   name differ, so nothing else is called.
//! - **Another minor version** is taken. A function that it lacks returns
//!   `cudaErrorSharedObjectSymbolNotFound` (302), and the text has both versions.
//! - **Cost**: a load and a jump for each call, about 1 ns. Without the feature, calls are as they were.
//!
//! Objects that nvcc or a C++ compiler made call the runtime by name. The crate defines these names, so such
//! objects use the loaded library as well. Kernels register before `main`; they wait until the library is
//! loaded. Compile them with an nvcc of CUDA 13. Three cases of a libcudart that is linked, too:
//!
//! - **A shared one, by another crate or object of the program**: their calls go to the loaded library. The
//!   loader returns the one that the process has, so there is one runtime.
//! - **A shared one, by a shared library**: that library calls its own. With the same major version it is the
//!   same one. With another, two runtimes share the primary contexts of the devices.
//! - **A static one**: the linker refuses a second definition (`duplicate symbol: cudaMalloc`). If it takes
//!   no object of that archive, the program has the loaded library alone.
//!
//! Objects for `--default-stream per-thread` can launch kernels; other calls of theirs end in `_ptsz`, which
//! are not defined. C++ destructors run after the library has ended, and their calls return
//! `cudaErrorCudartUnloading`.
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
#[doc(hidden)]
pub mod registration;
mod runtime;

pub use bindings::*;
pub use constants::*;
pub use inline::*;
#[cfg(feature = "load")]
pub use load::*;
pub use runtime::{WrongRuntime, check_runtime, runtime_version};
