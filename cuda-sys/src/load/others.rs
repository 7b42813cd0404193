//! The functions of the bindings that return no code.

use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use super::functions::ERROR_NAMES;
use super::library::library;
use super::system::c_symbol;
use super::table::LACKED;
use crate::bindings::{
    cudaChannelFormatDesc, cudaChannelFormatKind, cudaError_t, cudaErrorSharedObjectInitFailed,
    cudaErrorSharedObjectSymbolNotFound,
};

/// Returns the code's name. Without a library, that of the bindings.
///
/// # Safety
/// None: it is an `unsafe fn` because all of C's are.
pub unsafe extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    match library().ok().and_then(|library| library.symbol(c"cudaGetErrorName")) {
        // SAFETY: the library has the function of this name at this address, with this type.
        Some(address) => unsafe { text_of(address, error) },
        None => {
            let known = ERROR_NAMES.iter().find(|(code, _)| *code == error.0);
            known.map_or(c"unrecognized error code", |(_, name)| name).as_ptr()
        }
    }
}
c_symbol!(cudaGetErrorName);

/// Returns the code's description. For the codes of a library that is not there, or that lacks a function, it
/// says what was looked for, where, and what to do.
///
/// # Safety
/// None: it is an `unsafe fn` because all of C's are.
pub unsafe extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    let library = match library() {
        Err(why) if error == cudaErrorSharedObjectInitFailed => return why.as_ptr(),
        Err(_) => return c"the CUDA runtime, which has the description, is not loaded".as_ptr(),
        Ok(library) => library,
    };
    match library.symbol(c"cudaGetErrorString") {
        Some(_) if error == cudaErrorSharedObjectSymbolNotFound && LACKED.load(Ordering::Relaxed) => {
            library.lacks().as_ptr()
        }
        // SAFETY: the library has the function of this name at this address, with this type.
        Some(address) => unsafe { text_of(address, error) },
        None => library.lacks().as_ptr(),
    }
}
c_symbol!(cudaGetErrorString);

/// Calls a function from a code to its text.
///
/// # Safety
/// At the address is such a function.
unsafe fn text_of(address: NonNull<c_void>, error: cudaError_t) -> *const c_char {
    // SAFETY: the caller says so.
    let function: unsafe extern "C" fn(cudaError_t) -> *const c_char = unsafe { transmute(address) };
    // SAFETY: it takes any code.
    unsafe { function(error) }
}

/// Returns a channel descriptor of these values. Needs no library.
///
/// # Safety
/// None: it is an `unsafe fn` because all of C's are.
pub unsafe extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
c_symbol!(cudaCreateChannelDesc);
