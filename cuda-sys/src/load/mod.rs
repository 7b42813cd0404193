//! The library that is loaded at run time: feature `load`.
//!
//! Each function of the bindings is a Rust function of the same name and type over a [`table`] of addresses,
//! whose entry its first call fills. The first call of any function loads the library ([`find`]) and hands it
//! the kernels that registered before ([`register`]). Nothing unloads it.
//!
//! Objects of C++ and of nvcc in the same program call the runtime by C's names. [`system`] defines these for
//! the linker, as *hidden* symbols: they bind what is linked into one program or shared library. Other shared
//! libraries use the libcudart that they are linked with.
//!
//! | file | contents |
//! |---|---|
//! | `find.rs` | where the library is looked for; its version |
//! | `library.rs` | the one library of the process |
//! | `table.rs` | the table, and the macro that makes a function of a signature |
//! | `system` | the loader of each system, and the macro that gives a function C's name |
//! | `register.rs` | kernels and variables that wait for the library |
//! | `functions.rs` | the functions that the build writes |
//! | `others.rs` | the three that return no code |
//! | `launch.rs` | those that nvcc's objects launch kernels with |
//! | `profiler.rs` | the two of the profiler |

#![allow(unsafe_code, reason = "loads a library and calls its functions")]
#![allow(non_snake_case, reason = "C's names")]

mod find;
mod functions;
mod launch;
mod library;
mod others;
mod profiler;
mod register;
mod system;
mod table;

pub use functions::*;
pub(crate) use library::why_none;
pub use others::{cudaCreateChannelDesc, cudaGetErrorName, cudaGetErrorString};
