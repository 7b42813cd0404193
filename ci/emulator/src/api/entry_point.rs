//! Functions of the driver. There is no driver here: of its functions only those that make tensor maps are
//! found. Flags are ignored: an H200 takes unknown ones, too.
#![expect(unsafe_code, reason = "exports C functions, and reads the name that it is given")]

use core::ffi::{CStr, c_char, c_uint, c_ulonglong, c_void};

use super::tensor_map::{self, SINCE};
use super::{Call, Out, api, follows_null};
use crate::error::Answer;
use crate::sys::*;

fn find(
    call: &Call,
    name: *const c_char,
    out: Out<'_, *mut c_void>,
    status: Out<'_, cudaDriverEntryPointQueryResult>,
    version: c_uint,
) -> Answer {
    let Some(out) = out else { follows_null(call, "the place of the function") };
    if name.is_null() {
        follows_null(call, "the name of the function");
    }
    // SAFETY: C's caller vouches for a text, which is not null.
    let name = unsafe { CStr::from_ptr(name) };
    let (function, found) = match tensor_map::function(name.to_bytes()) {
        Some(_) if version < SINCE => (None, cudaDriverEntryPointVersionNotSufficent),
        Some(function) => (Some(function), cudaDriverEntryPointSuccess),
        None => (None, cudaDriverEntryPointSymbolNotFound),
    };
    out.write(function.unwrap_or(core::ptr::null_mut()));
    if let Some(status) = status {
        status.write(found);
    }
    Ok(())
}

api! {
    /// Where a function of the driver is.
    allowed fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz(
        call, name: *const c_char, out: Out<'_, *mut c_void>, _flags: c_ulonglong,
        status: Out<'_, cudaDriverEntryPointQueryResult>,
    ) {
        call.check()?;
        find(call, name, out, status, CUDART_VERSION)
    }

    /// The same as of a version.
    allowed fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz(
        call, name: *const c_char, out: Out<'_, *mut c_void>, version: c_uint, _flags: c_ulonglong,
        status: Out<'_, cudaDriverEntryPointQueryResult>,
    ) {
        call.check()?;
        if version > CUDART_VERSION {
            return Err(cudaErrorInvalidValue);
        }
        find(call, name, out, status, version)
    }
}
