//! Copies of one row.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::{address, api, wide};
use crate::stream::Volume;
use crate::sys::{cudaMemcpyKind, cudaStream_t};
use crate::transfer::{Mode, Request, Side, transfer};

fn request(dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) -> Request {
    let (to, from) = (Side::row(address(dst)), Side::row(address(src)));
    Request { to, from, volume: Volume::row(wide(count)), kind }
}

api! {
    /// Copies bytes, ordered with the default stream.
    fn cudaMemcpy | cudaMemcpy_ptds(call, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind) {
        let (mut machine, _, stream) = call.stream(core::ptr::null_mut())?;
        transfer(&mut machine, call, stream, &request(dst, src, count, kind), Mode::Blocking)
    }

    /// Copies bytes in stream order.
    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz(
        call, dst: *mut c_void, src: *const c_void, count: usize, kind: cudaMemcpyKind, stream: cudaStream_t,
    ) {
        let (mut machine, _, stream) = call.stream(stream)?;
        transfer(&mut machine, call, stream, &request(dst, src, count, kind), Mode::Asynchronous)
    }
}
