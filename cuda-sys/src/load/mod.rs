//! The library that is loaded at run time: feature `load`.
//!
//! Each function of the bindings is a Rust function of the same name and type with an [entry](table) of the table of
//! addresses, which its first call fills. The first call of any function loads the library ([`find`]) and
//! hands it the kernels that registered before ([`register`]). Nothing unloads it.
//!
//! Objects of C++ and of nvcc in the same program call the runtime by C's names. [`symbol`] defines these for
//! the linker, as *hidden* symbols: they bind what is linked into one program or shared library. Other shared
//! libraries use the libcudart that they are linked with.

#![allow(unsafe_code, reason = "loads a library and calls its functions")]
#![allow(non_snake_case, reason = "C's names")]

mod find;
mod functions;
mod library;
mod register;
mod symbol;
mod table;

pub use functions::*;
pub(crate) use library::why_none;
