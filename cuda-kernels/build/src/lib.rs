//! Compiles `.cu` files into a crate and generates typed handles for their kernels: a library for build
//! scripts.
//!
//! A crate with kernels of its own needs three things. A header that declares the kernels, and a source file
//! that defines them, both plain CUDA C++:
//!
//! ```cpp
//! // kernels/saxpy.cuh
//! #pragma once
//! #include <cuda_runtime.h>
//! extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned count);
//! ```
//!
//! A build script, with this crate among the `[build-dependencies]`:
//!
//! ```no_run
//! cuda_kernels_build::Build::new().file("kernels/saxpy.cu").header("kernels/saxpy.cuh").compile("my_kernels");
//! ```
//!
//! And a place for the handles, with `cuda-safe` among the `[dependencies]`:
//!
//! ```text
//! mod kernels {
//!     cuda_safe::include_kernels!("my_kernels");
//! }
//!
//! let blocks = count.div_ceil(256);
//! unsafe { launch!(kernels::saxpy<<<blocks, 256, 0, &stream>>>(2.0, &x, &mut y, count)) }?;
//! ```
//!
//! # What a handle is
//! For every `__global__` prototype of the headers there is one `static` of the same name; its type holds the
//! parameters as C declares them, here `Kernel<(f32, *const f32, *mut f32, u32)>`, and a launch with another
//! number of arguments, or with one of another type, does not compile. `const T*` takes memory that the
//! kernel reads, `T*` memory that it writes; everything else is passed by value. Structs, enums and constants
//! (`#define N 16`) of the headers are generated too. Structs keep C's layout, which is checked at compile
//! time, and are [`Pod`](https://docs.rs/bytemuck) where they have neither padding nor pointers, so that
//! buffers can hold them. Whole numbers of a `#define` become `u32`s, `i32`s where they are negative, or of
//! 64 bits where they need them: a length is `kernels::N as usize`.
//!
//! Kernels may be `extern "C"` or not. A kernel in a namespace gets the namespace in front (`fault::store` is
//! `fault_store`), and overloads are numbered in the order of declaration (`fill`, `fill1`). A name that is a
//! word of Rust's gets a `_` behind it (`move` is `move_`). CUDA's own types among the parameters and fields
//! (`float4`, `__half`, `cudaPitchedPtr`) are generated too.
//!
//! Templates have no handle: the header declares one wrapper for each instance that Rust needs. A kernel
//! cannot call another one, so the body becomes a `__device__` template in the `.cu` file, which
//! `kernel<float>` of the C++ program may go on calling:
//!
//! ```cpp
//! template <typename T> __device__ void scale(T* data, T by, unsigned count) { /* ... */ }
//! __global__ void scale_f32(float* data, float by, unsigned count) { scale(data, by, count); }
//! __global__ void scale_f64(double* data, double by, unsigned count) { scale(data, by, count); }
//! ```
//!
//! Headers are read as plain C++, outside of any device code, so that bodies that need the device compiler
//! belong into the `.cu` file, or between `#ifdef __CUDACC__` and `#endif`.
//!
//! # Variables
//! `__device__`, `__constant__` and `__managed__` variables that a header declares get handles too: a
//! `static` of the same name, of type [`Symbol`](https://docs.rs/cuda-safe), for `memcpy_to_symbol` and its
//! family. They are declared as in any CUDA C++ program without relocatable device code, that is, defined,
//! with or without a value to start with:
//!
//! ```cpp
//! __constant__ float filter[9];
//! __device__ unsigned long long hits = 0;
//!
//! /// Blurs.
//! /// @reads filter
//! extern "C" __global__ void blur(const float* in, float* out, unsigned count);
//!
//! /// Counts.
//! /// @writes hits
//! extern "C" __global__ void count(const float* in, unsigned count);
//! ```
//!
//! nvcc makes a variable of each `.cu` file that includes such a declaration, so a header with variables may
//! be included by one `.cu` file of the build only; the build fails otherwise, and names them.
//!
//! The lines `@reads` and `@writes` of a kernel's comment say what it does with the variables of its file:
//! its launches are ordered with copies of these variables, and with other kernels that use them, and with
//! nothing else (`@reads nothing` for a kernel that uses none). A kernel whose comment says nothing counts as
//! one that reads all constants and writes all other variables, which is always right, but keeps such kernels
//! from running at the same time. Launches of kernels in files without variables cost nothing more than
//! before.
//!
//! `const` variables are no variables to Rust: numbers among them become constants. Variables in classes, and
//! in namespaces without a name, have no handle.
//!
//! # What is compiled
//! Machine code for the architectures asked for with [`Build::archs`], and PTX, always, so that newer devices
//! (and software ones) can run the kernels. Default: `sm_90` and PTX for `compute_75`. Where the environment
//! variable `CUDA_KERNELS_ARCHS` is set (`CUDA_KERNELS_ARCHS=sm_80,sm_90,compute_80`), it overrides both.
//!
//! The toolkit is the one that `cuda-sys` uses if the crate depends on that directly, else the one that
//! `cuda-sys-build` finds, by the same rules. nvcc needs a C++ compiler on the host; `CXX` names another one.
//! Where `DOCS_RS` or `CUDA_SYS_SNAPSHOT` is set, nothing is compiled and no toolkit needed: enough to
//! document a crate and to check its types.
//!
//! The build script runs again when a source, a header, or any file that these include changes.

mod arch;
mod build;
mod declared;
mod depfile;
mod error;
mod generate;
mod header;
mod layout;
mod nvcc;
mod prototype;
mod symbol;
mod toolkit;
mod unit;

pub use arch::Arch;
pub use build::Build;
pub use error::Error;
