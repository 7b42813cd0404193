//! Errors and versions.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_char, c_int};

use super::{Out, api, put};
use crate::error::{last, name, take_last, text};
use crate::sys::cudaError_t;
use crate::unread;

/// The version of the runtime and of the driver that this stands for.
const VERSION: c_int = 13000;

/// The calling thread's last error, which is forgotten. After an error that ended the context, the next call
/// returns it again.
#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> cudaError_t {
    unread::read();
    take_last()
}

/// The calling thread's last error.
#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> cudaError_t {
    unread::read();
    last()
}

/// The name of a code.
#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    name(error).unwrap_or(c"unrecognized error code").as_ptr()
}

/// The description of a code.
#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    text(error).unwrap_or(c"unrecognized error code").as_ptr()
}

api! {
    /// The version of the driver that this stands for.
    allowed fn cudaDriverGetVersion(_call, version: Out<'_, c_int>) {
        put(version, VERSION)
    }

    /// The version of the runtime that this stands for.
    allowed fn cudaRuntimeGetVersion(_call, version: Out<'_, c_int>) {
        put(version, VERSION)
    }
}
