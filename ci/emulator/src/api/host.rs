//! Functions of the program's in stream order.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_uint, c_void};

use super::api;
use crate::stream::{HostCall, Work, submit};
use crate::sys::{cudaErrorInvalidValue, cudaHostFn_t, cudaStream_t, cudaStreamCallback_t};

api! {
    /// Calls a function once a stream has done all that it has to do now; later work waits for it.
    allowed fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz(
        call, stream: cudaStream_t, function: cudaHostFn_t, data: *mut c_void,
    ) {
        let work = Work::Host(HostCall::function(function.ok_or(cudaErrorInvalidValue)?, data));
        let (mut machine, _, key) = call.stream(stream)?;
        submit(&mut machine, key, call.name, work, &[]).map(drop)
    }

    /// Does the same with the way in which hardware waits for the function, which makes no difference here.
    allowed fn cudaLaunchHostFunc_v2 | cudaLaunchHostFunc_v2_ptsz(
        call, stream: cudaStream_t, function: cudaHostFn_t, data: *mut c_void, mode: c_uint,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        if mode > 1 {
            return Err(cudaErrorInvalidValue);
        }
        let work = Work::Host(HostCall::function(function.ok_or(cudaErrorInvalidValue)?, data));
        submit(&mut machine, key, call.name, work, &[]).map(drop)
    }

    /// Does the same for a function that gets the stream and the state of the device, and is called after
    /// errors too.
    allowed fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz(
        call, stream: cudaStream_t, function: cudaStreamCallback_t, data: *mut c_void, flags: c_uint,
    ) {
        let (mut machine, _, key) = call.stream(stream)?;
        if flags != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let work = Work::Host(HostCall::callback(function.ok_or(cudaErrorInvalidValue)?, stream, data));
        submit(&mut machine, key, call.name, work, &[]).map(drop)
    }
}
