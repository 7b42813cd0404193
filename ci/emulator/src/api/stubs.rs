//! The functions that are not written yet: each one returns `cudaErrorNotSupported` and names itself once.
#![expect(unsafe_code, reason = "exports C functions")]

use std::sync::Once;

use crate::error::Code;
use crate::sys::{cudaError_t, cudaErrorNotSupported};

fn unsupported(name: &str, once: &Once) -> Code {
    once.call_once(|| eprintln!("CUDA emulator: {name} is not supported"));
    // Calls by nvcc's own code are no calls of the program, and do not set its last error.
    if !name.starts_with("__") {
        crate::error::remember(cudaErrorNotSupported);
    }
    cudaErrorNotSupported
}

/// C lets the callee ignore any arguments, and no function left here returns anything wider than an error
/// code.
macro_rules! stub {
    ($name:ident) => {
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> cudaError_t {
                static ONCE: Once = Once::new();
                unsupported(stringify!($name), &ONCE)
            }
        };
    };
}

/// Defines the functions, and lists their names.
macro_rules! stubs {
    ($($name:ident)*) => {
        $(stub!($name);)*
        /// The functions that only return an error.
        pub(crate) const STUBS: &[&str] = &[$(stringify!($name)),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
