//! Stream-ordered memory.
//!
//! An allocation is made at the call; its end waits its turn on the stream.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::{Out, address, api, pointer, wide};
use crate::graph::Act;
use crate::memory::Kind;
use crate::stream::{Work, submit};
use crate::sys::{cudaErrorInvalidValue, cudaStream_t};

api! {
    /// Allocates device memory that is usable from this place in the stream's order on.
    fn cudaMallocAsync | cudaMallocAsync_ptsz(call, out: Out<'_, *mut c_void>, size: usize, stream: cudaStream_t) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, _, key) = call.stream(stream)?;
        let device = machine.streams.get(key)?.device;
        let out = out.write(core::ptr::null_mut());
        if size > 0 {
            let bytes = wide(size);
            let memory = machine.book.allocate(device, bytes, Kind::Pool, call.name)?;
            // A graph has its memory from when the node is made; it is usable while the graph runs.
            machine.add_captured(key, call.name, || Some(Act::Alloc(memory, bytes)))?;
            *out = pointer(memory);
        }
        Ok(())
    }

    /// Frees memory when the stream comes to this place in its order.
    fn cudaFreeAsync | cudaFreeAsync_ptsz(call, memory: *mut c_void, stream: cudaStream_t) {
        let (mut machine, _, key) = call.stream(stream)?;
        if memory.is_null() {
            return Ok(());
        }
        let memory = address(memory);
        let kinds = [Kind::Device, Kind::Pool];
        machine.book.starting_at(memory, &kinds).ok_or(cudaErrorInvalidValue)?;
        submit(&mut machine, key, call.name, Work::Free(memory), &[]).map(drop)
    }
}
