//! Compiles `.cu` files into a crate and generates typed handles for their kernels. It is a library for
//! build scripts.
//!
//! A crate with its own kernels needs three things. The first is a header that declares the kernels, with
//! a source file that defines them, both plain CUDA C++:
//!
//! ```cpp
//! // kernels/saxpy.cuh
//! #pragma once
//! #include <cuda_runtime.h>
//! extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned count);
//! ```
//!
//! The second is a build script, with this crate among the `[build-dependencies]`:
//!
//! ```no_run
//! cuda_kernels_build::Build::new()
//!     .file("kernels/saxpy.cu")
//!     .header("kernels/saxpy.cuh")
//!     .compile("my_kernels");
//! ```
//!
//! The third is a module for the handles, with `cuda-safe` among the `[dependencies]`:
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
//! # Handles
//! Every `__global__` prototype of the headers has one `static` of the same name. Its type lists the
//! parameters as C declares them, here `Kernel<(f32, *const f32, *mut f32, u32)>`. A launch with another
//! number of arguments, or with an argument of another type, does not compile. `const T*` takes memory
//! that the kernel reads, `T*` takes memory that it writes, and everything else is passed by value; a whole
//! number converts to the parameter's type. A kernel has at most 32 parameters.
//!
//! Structs, enums and constants (`#define N 16`) of the headers are generated too. Structs have C's
//! layout, which is checked at compile time. Structs without padding and pointers are
//! [`Pod`](https://docs.rs/bytemuck), so buffers can hold them. An integer of a `#define` becomes a
//! `u32`, or an `i32` if it is negative, or a 64-bit integer if it needs one: a length is `kernels::N as
//! usize`.
//!
//! Kernels need not be `extern "C"`. A kernel in a namespace has the namespace in front (`fault::store`
//! is `fault_store`). Overloads are numbered in the order of declaration (`fill`, `fill1`). A name that
//! is a Rust keyword gets a trailing `_` (`move` is `move_`). CUDA's own types among the parameters and
//! fields (`float4`, `__half`, `cudaPitchedPtr`) are generated too.
//!
//! Templates have no handle: the header declares one wrapper for each instance that Rust needs. A kernel
//! cannot call another one, so the body becomes a `__device__` template in the `.cu` file.
//! `kernel<float>` of the C++ program may still call it:
//!
//! ```cpp
//! template <typename T> __device__ void scale(T* data, T by, unsigned count) { /* ... */ }
//! __global__ void scale_f32(float* data, float by, unsigned count) { scale(data, by, count); }
//! __global__ void scale_f64(double* data, double by, unsigned count) { scale(data, by, count); }
//! ```
//!
//! Headers are read as plain C++ without device code. Put bodies that need the device compiler into the
//! `.cu` file, or between `#ifdef __CUDACC__` and `#endif`.
//!
//! # Variables
//! A `__device__`, `__constant__` or `__managed__` variable that a header declares has a handle too: a
//! `static` of the same name, of type [`Symbol`](https://docs.rs/cuda-safe), for `memcpy_to_symbol` and
//! its family. Declare variables as in any CUDA C++ program without relocatable device code: define them,
//! with or without an initial value:
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
//! nvcc makes one variable in each `.cu` file that includes such a declaration. So only one `.cu` file of
//! the build may include a header with variables. Otherwise the build fails and names the files.
//!
//! The lines `@reads` and `@writes` of a kernel's comment list the variables of its file that the kernel
//! uses. Its launches are ordered with copies of these variables and with other kernels that use them,
//! and with nothing else. `@reads nothing` marks a kernel that uses none. A kernel without such lines
//! counts as one that reads all constants and writes all other variables. That is always right, but
//! prevents such kernels from running at the same time. Launches of kernels in files without variables
//! have no extra cost.
//!
//! `const` variables have no handle: those that are numbers become constants. Variables in classes, and
//! in namespaces without a name, have no handle.
//!
//! # Compilation
//! The library has machine code for the architectures of [`Build::archs`], and always PTX, so that newer
//! devices (and software ones) can run the kernels. The default is `sm_90` and PTX for `compute_75`. The
//! environment variable `CUDA_KERNELS_ARCHS` (`CUDA_KERNELS_ARCHS=sm_80,sm_90,compute_80`) overrides
//! both.
//!
//! The toolkit is the one that `cuda-sys` uses if the crate depends on `cuda-sys` directly, else the one
//! that `cuda-sys-build` finds by the same rules. nvcc needs a C++ compiler on the host; `CXX` selects
//! another one. If `DOCS_RS` or `CUDA_SYS_SNAPSHOT` is set, nothing is compiled and no toolkit is needed.
//! That is enough to document a crate and to check its types.
//!
//! The build script runs again when a source, a header, or any file that these include changes.

mod arch;
mod build;
mod declared;
mod depfile;
mod error;
mod generate;
mod header;
mod host_compiler;
mod layout;
mod nvcc;
mod prototype;
mod symbol;
mod toolkit;
mod unit;

pub use arch::Arch;
pub use build::Build;
pub use error::Error;
