//! Compiles `.cu` files into a crate, and generates typed handles for their kernels: a library for build
//! scripts.
//!
//! A crate with its own kernels needs three things. The first is plain CUDA C++:
//!
//! ```cpp
//! // kernels/saxpy.cu
//! extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned count) {
//!     unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < count) y[i] = a * x[i] + y[i];
//! }
//! ```
//!
//! The second is a build script, with this crate among the `[build-dependencies]`:
//!
//! ```no_run
//! cuda_kernels_build::Build::new().kernels("kernels/saxpy.cu").compile("my_kernels");
//! ```
//!
//! [`folder`](Build::folder) adds all `.cu` files of a folder. If headers declare the kernels, name them by
//! [`header`](Build::header), and their sources by [`file`](Build::file). A build without either compiles a
//! C++ library and generates nothing.
//!
//! The third is a module for the handles, with `cuda-safe` among the `[dependencies]`:
//!
//! ```text
//! mod kernels {
//!     cuda_safe::include_kernels!("my_kernels");
//! }
//!
//! let blocks = count.div_ceil(256);
//! launch!(kernels::saxpy<<<blocks, 256, 0, &stream>>>(2.0, &x, &mut y, count))?;
//! ```
//!
//! # Handles
//! Every `__global__` function of the sources and headers has one `static` of the same name. Its type lists
//! the parameters as C declares them, here `Checked<(f32, *const f32, *mut f32, u32)>`. A launch with another
//! number of arguments, or with an argument of another type, does not compile. `const T*` takes memory
//! that the kernel reads, `T*` takes memory that it writes, and everything else is passed by value; a whole
//! number converts to the parameter's type. A kernel has at most 32 parameters.
//!
//! The module links its kernels itself, so a package's programs, tests and examples can include it, whether
//! the package has a library or not.
//!
//! Structs, enums and constants (`#define N 16`) of these files are generated too, and so are the constants
//! of files that the sources include as `"file"`. Structs have C's layout, which is checked at compile time.
//! nvcc has to agree: the build adds lines to each source that compare sizes, alignments, offsets of fields
//! and the parameters of kernels. If a type depends on nvcc's macros, the build fails with both numbers. One
//! kind of type is not compared: it is between `#if`s on these macros as a whole, and no kernel or variable
//! uses it. Structs without padding and pointers are [`Pod`](https://docs.rs/bytemuck), so buffers can hold
//! them. An integer of a `#define` becomes a `u32`, or an `i32` if it is negative, or a 64-bit integer if it
//! needs one: a length is `kernels::N as usize`.
//!
//! Kernels need not be `extern "C"`. A kernel in a namespace has the namespace in front (`fault::store`
//! is `fault_store`). Overloads are numbered in the order of declaration (`fill`, `fill1`). A name that
//! is a Rust keyword gets a trailing `_` (`move` is `move_`), and so does a handle whose name a constant, an
//! enum or another handle has. CUDA's own types among the parameters and fields (`float4`, `__half`,
//! `cudaPitchedPtr`) are generated too.
//!
//! A template has a handle for each explicit instance that a source names. The name is made of the arguments:
//! these are `scale_float` and `reduce_float_256`.
//!
//! ```cpp
//! template __global__ void scale<float>(float* data, float by, unsigned count);
//! template __global__ void reduce<float, 256>(const float* in, float* out);
//! ```
//!
//! A plain struct with the same fields stands for each instance of a class template that a parameter, a
//! field, a base or a variable has: that of `Tensor<float, 2>` is `Tensor_float_2`, and a C++ alias of the
//! instance is one of the struct. If the class has bases or bit fields, the struct has its bytes.
//!
//! A warning of the build names each kernel without a handle and the reason: a template without an instance,
//! a `static` kernel, one that a macro makes, one with more than 32 parameters, one that takes an instance by
//! value of a class template that is only declared, or one whose prototype is not plain C++. Another warning
//! names each class that is not plain C++, such as one with a member of a type that only device code has.
//!
//! The build does not read the bodies of functions. A source may contain a whole program with its own `main`,
//! which nothing calls. Its other functions, such as those that call Thrust or CUB, are compiled as well:
//! [`Build::export`] names those that Rust calls. Functions without a handle need not be plain C++, and
//! neither do their parameters.
//!
//! # Launches that are proven
//! The launch of a `Checked` handle is safe: it is proven from the PTX that nvcc makes, with the values of
//! the launch. The build puts what the proof needs into the handle, for each architecture. A kernel has a
//! handle of this type if its parameters are numbers, structs of numbers without padding, textures, surfaces,
//! `cudaPitchedPtr`, and pointers to numbers and structs of numbers. All others have a `Kernel`, whose launch
//! is `unsafe`. `handle.unchecked()` launches without proof.
//!
//! A warning of the build names each kernel of which no launch can be proven, with the line and the reason.
//! The documentation of a handle lists the places where a proof ends. All launches are refused with the
//! reason if the PTX is not what runs: with [linked device code](#device-code-that-is-linked), link-time
//! optimisation, or an option that is not known to be harmless, such as `-Xptxas`.
//!
//! Errors of launches name lines of the `.cu` files, so nvcc is given `-lineinfo`, except with `-G`.
//!
//! # Pointers that a kernel only reads
//! Many kernels declare `T*` for memory that they only read. Such a parameter becomes `*const T` and takes
//! `&d`, so that kernels of several streams can read `d` at the same time. It takes `&mut d` as well. There
//! are three ways, and the first needs no work of yours:
//!
//! - The build reads the PTX that nvcc makes. If the PTX of each architecture shows that the kernel stores
//!   nothing through a parameter and passes it nowhere, the parameter is only read. Every doubt counts as a
//!   write.
//! - A comment says it, for variables as well (below): `/// @reads factor, offsets`. `@writes` says the
//!   opposite, for a kernel that is not finished. A comment is an error if the PTX shows a store through the
//!   parameter.
//! - A launch says it: `d.read_only()` as the argument.
//!
//! PTX without optimisation (`-G`) shows little, and a build without compilation (`DOCS_RS`) has no PTX.
//! Write the comment if `&d` has to compile there.
//!
//! # Kernels that cannot be proven
//! A launch is safe if it is proven from the kernel's PTX. A warning of the build names each kernel of which
//! no launch can be, with the line and the reason, and the handle's documentation has these, too. For such
//! a kernel a comment may say what its launches must meet:
//!
//! ```cpp
//! /// @unsafe_contract requires count <= len(keys), block 256
//! extern "C" __global__ void sort(unsigned* keys, unsigned count);
//! ```
//!
//! Each launch checks the clauses, and is safe. That the kernel stays within its arguments if they are met
//! is the author's word. `requires` compares sums and products of whole numbers, whole-number parameters,
//! `len(pointer)`, `grid.x`, `block.x` and so on, and `shared_bytes`, by `<=`, `<`, `==`, `>=` or `>`.
//! `block` is followed by one to three numbers of threads. Anything else is an error with the line.
//!
//! # Variables
//! A `__device__`, `__constant__` or `__managed__` variable of these files has a handle too: a
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
//! the build may include a header with variables. Otherwise the build fails and names the files. If the
//! device code is [linked](#device-code-that-is-linked), a header declares variables `extern` for several
//! files.
//!
//! The lines `@reads` and `@writes` of a kernel's comment list the variables of its file that the kernel
//! uses. The tracker orders its launches with copies of these variables and with other kernels that use them,
//! and with nothing else. `@reads nothing` marks a kernel that uses no variable. A kernel without such lines
//! counts as one that reads all constants and writes all other variables. That is always right, but prevents
//! such kernels from running at the same time. Launches of kernels in files without variables have no extra
//! cost.
//!
//! `const` variables have no handle: those that are numbers become constants. Variables in classes, and
//! in namespaces without a name, have no handle.
//!
//! # Device code that is linked
//! nvcc compiles each source by itself. [`Build::relocatable`] links the device code of all sources of one
//! build (`nvcc -rdc=true`, relocatable device code). Programs need it in three cases:
//!
//! - A kernel calls a `__device__` function of another source, or uses an `extern __device__` variable.
//! - A kernel sets the condition of a graph's node (`cudaGraphSetConditional`).
//! - A kernel launches kernels (dynamic parallelism). Its launch declares the memory that all of them access,
//!   and is complete when they are.
//!
//! A kernel without `@reads` and `@writes` then counts as one that uses the variables of all sources of the
//! build. A program may have several such libraries. The device code of each is linked by itself.
//!
//! # Names
//! A program may have any number of packages with a kernel `saxpy`, two versions of one package, and packages
//! with several builds. The same holds for templates, variables, inline functions and device code that is
//! linked. A handle always stands for the kernel or variable of its own build, because all functions and
//! variables of a build get names that are unique in the program. In device code, and so in profilers and
//! messages, they keep their names.
//!
//! Rust, C and C++ code that declares a function or kernel by its own name finds only those that
//! [`Build::export`] lists:
//!
//! ```no_run
//! cuda_kernels_build::Build::new().folder("kernels").export("my_ops_sort").compile("my_kernels");
//! ```
//!
//! ```text
//! unsafe extern "C" { fn my_ops_sort(data: *mut u32, count: usize, stream: cudaStream_t) -> c_int; }
//! ```
//!
//! Two packages that export one name do not link (`duplicate symbol`), so begin it with the package's name.
//! C++ objects from outside of the build do not share the inline functions of a common header, nor the
//! `static` variables in these, with the build. `operator new` and `operator delete` keep their names.
//!
//! In one build, a kernel with a handle is defined by one source. Otherwise the build fails and names both.
//!
//! # Compilation
//! The library has machine code for the architectures of [`Build::archs`], and always PTX, so that newer
//! devices (and software ones) can run the kernels. The default is `sm_90`, PTX for `compute_75`, and the
//! machine code of the GPUs that answer on the machine that builds. The environment variable
//! `CUDA_KERNELS_ARCHS` (`CUDA_KERNELS_ARCHS=sm_80,sm_90,compute_80`) overrides both. `native` in either
//! list stands for the machine code of these GPUs, and is an error without one. Cargo does not notice
//! another GPU: touch the build script then.
//!
//! If the crate depends on `cuda-sys` directly, the toolkit is that of `cuda-sys`. Otherwise `cuda-sys-build`
//! finds it by the same rules. nvcc needs a C++ compiler on the host; `NVCC_CCBIN` or `CXX` selects another
//! one. If `DOCS_RS` or `CUDA_SYS_SNAPSHOT` is set, nothing is compiled and no toolkit is needed. That is
//! enough to document a crate and to check its types.
//!
//! # Without nvcc
//! A package can bring its kernels compiled, for users and machines without a toolkit. Name a file in the
//! build script:
//!
//! ```no_run
//! cuda_kernels_build::Build::new()
//!     .folder("kernels")
//!     .prebuilt("kernels/kernels.fatbin")
//!     .compile("my_kernels");
//! ```
//!
//! Leave out the feature `nvcc` of this crate, so that users do not compile bindgen:
//!
//! ```toml
//! [build-dependencies]
//! cuda-kernels-build = { version = "0.1", default-features = false }
//! ```
//!
//! One command of the author writes `kernels.fatbin`, and `kernels.fatbin.rs` beside it:
//!
//! ```text
//! CUDA_KERNELS_PREBUILT=write cargo build --features cuda-kernels-build/nvcc
//! ```
//!
//! The first has the fatbinaries: the machine code and PTX that nvcc made for [`Build::archs`], without that
//! of the author's own GPUs. The second has the handles: signatures, types with the layouts that nvcc has
//! agreed with, what kernels read and write, and what proofs need, for each architecture. Commit both, or let
//! a release make them; `include` in `Cargo.toml` has to name them. They are for all targets.
//!
//! | | what is used |
//! |---|---|
//! | no nvcc, or not the feature `nvcc` | the files |
//! | `DOCS_RS` or `CUDA_SYS_SNAPSHOT` | the files, so that no libclang is needed |
//! | nvcc | the sources, and a warning if the files are out of date |
//! | `CUDA_KERNELS_PREBUILT=use` | the files, to test what will be published |
//! | `CUDA_KERNELS_PREBUILT=write` | the sources, then the files that were made of them |
//!
//! Nothing else differs: launches are proven, and variables, attributes, graphs and profilers see the same
//! kernels, with and without the features `load` and `static`. The program registers the fatbinaries with the
//! runtime before `main`, as nvcc's objects do.
//!
//! The second file has SHA-256 of itself, of the first one, and of the build script's settings and all
//! sources within the package's folder. The build fails if a file is damaged, is missing, or is not the one
//! that the other is for. If it uses the files, it also fails if a source has changed. A source that the
//! package leaves out has not changed. Files of another version of this crate are refused: the text is for
//! the `cuda-safe` of its own version. Like sources, the files are trusted. Somebody who can write them with
//! right hashes can run any code.
//!
//! `CUDA_KERNELS_PREBUILT=write` writes the files of all packages of a workspace, but not those of
//! dependencies that cargo has downloaded. Device code that is [linked](#device-code-that-is-linked), and
//! functions that [`Build::export`] names, need the sources and nvcc.
//!
//! The targets are Linux on x86-64 and on aarch64. For Windows only [compiled kernels](#without-nvcc) are
//! supported, without types that have C's `long`. If the target is not the machine that compiles, the build
//! reads prototypes with the headers of the target's C++ compiler: `NVCC_CCBIN`, else `CXX_<target>` or
//! `TARGET_CXX`, else GNU's name for it, such as `aarch64-linux-gnu-g++`. Without such a compiler it uses the
//! headers of this machine, which is enough to check types.
//!
//! The build script runs again when a source, a header, or any file that these include changes. It compiles
//! only sources whose own files or command changed, as many at once as cargo has jobs.

mod build;
#[cfg(feature = "nvcc")]
mod compiler;
mod entry;
mod error;
mod prebuilt;
#[cfg(not(feature = "nvcc"))]
mod without_nvcc;

pub use build::Build;
#[cfg(feature = "nvcc")]
pub use compiler::Arch;
pub use error::Error;
