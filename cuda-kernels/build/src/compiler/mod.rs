//! Reads and compiles sources: all that needs nvcc, or bindgen.

mod agree;
mod arch;
mod clang;
mod compile;
mod contract;
mod declared;
mod depfile;
mod file;
mod generate;
mod handle;
mod header;
mod host_compiler;
mod hygiene;
mod layout;
mod lexer;
mod names;
mod nvcc;
mod packed;
mod placement;
mod prototype;
mod ptx;
mod rust_name;
mod slices;
mod source;
mod spelling;
mod structure;
mod symbol;
mod template;
mod text;
mod toolkit;
mod unit;
mod variables;

pub use arch::Arch;
pub(crate) use compile::why_no_nvcc;
