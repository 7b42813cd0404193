//! Raw bindings to the CUDA Runtime API.
mod bindings;
pub use bindings::*;
