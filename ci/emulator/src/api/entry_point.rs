//! Functions of the driver. There is no driver here, so none is found. Flags are ignored: an H200 takes
//! unknown ones, too. An argument that ends a process on an H200, because it is null, is an error here.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_char, c_uint, c_ulonglong, c_void};

use super::{Out, api};
use crate::error::Answer;
use crate::sys::{
    CUDART_VERSION, cudaDriverEntryPointQueryResult, cudaDriverEntryPointSymbolNotFound,
    cudaErrorInvalidValue,
};

fn none(
    name: *const c_char,
    out: Out<'_, *mut c_void>,
    status: Out<'_, cudaDriverEntryPointQueryResult>,
) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?;
    if name.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    out.write(core::ptr::null_mut());
    if let Some(status) = status {
        status.write(cudaDriverEntryPointSymbolNotFound);
    }
    Ok(())
}

api! {
    /// Where a function of the driver is.
    fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz(
        call, name: *const c_char, out: Out<'_, *mut c_void>, _flags: c_ulonglong,
        status: Out<'_, cudaDriverEntryPointQueryResult>,
    ) {
        call.check()?;
        none(name, out, status)
    }

    /// The same as of a version.
    fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz(
        call, name: *const c_char, out: Out<'_, *mut c_void>, version: c_uint, _flags: c_ulonglong,
        status: Out<'_, cudaDriverEntryPointQueryResult>,
    ) {
        call.check()?;
        if version > CUDART_VERSION {
            return Err(cudaErrorInvalidValue);
        }
        none(name, out, status)
    }
}
