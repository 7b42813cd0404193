//! The functions that are not written yet: each one answers `cudaErrorNotSupported` and names itself once.
#![expect(unsafe_code, reason = "exports C functions")]

use std::sync::Once;

use crate::error::Code;
use crate::sys::{cudaError_t, cudaErrorNotSupported};

fn unsupported(name: &str, once: &Once) -> Code {
    once.call_once(|| eprintln!("CUDA emulator: {name} is not supported"));
    // What nvcc's own code calls behind a program's back is no call of the program's.
    if !name.starts_with("__") {
        crate::error::remember(cudaErrorNotSupported);
    }
    cudaErrorNotSupported
}

/// Whatever the arguments are, C lets the callee ignore them, and no function left here returns anything wider than an
/// error code.
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

include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
