//! Stream-ordered memory.
//!
//! An allocation is made at the call; its end waits its turn on the stream.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::mem_pool::device_place;
use super::{Call, Out, address, api, pointer, wide};
use crate::error::Answer;
use crate::graph::Act;
use crate::machine::Guard;
use crate::memory::{Kind, PoolKey};
use crate::stream::{Key, Work, submit};
use crate::sys::{
    cudaErrorInvalidValue, cudaErrorNotSupported, cudaMemLocationTypeDevice, cudaMemPool_t, cudaStream_t,
};

/// Allocates from a pool and writes the address; null for no bytes, and null on failure.
fn allocate(
    call: &Call,
    machine: &mut Guard,
    stream: Key,
    pool: PoolKey,
    out: Out<'_, *mut c_void>,
    size: usize,
) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?.write(core::ptr::null_mut());
    if size == 0 {
        return Ok(());
    }
    let size = wide(size);
    machine.book.pools.check(pool, size)?;
    let device = machine.book.pools.get(pool)?.device;
    let start = machine.book.allocate(device, size, Kind::Pool, call.name)?;
    // A graph has its memory from when the node is made; it is usable while the graph runs, and none of the pool's.
    if machine.add_captured(stream, call.name, || Some(Act::Alloc(start, size)))?.is_none() {
        machine.book.pools.took(pool, start, size);
    }
    *out = pointer(start);
    super::notification::look(machine, device);
    Ok(())
}

api! {
    /// Allocates device memory that is usable from this place in the stream's order on.
    fn cudaMallocAsync | cudaMallocAsync_ptsz(call, out: Out<'_, *mut c_void>, size: usize, stream: cudaStream_t) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, _, key) = call.stream(stream)?;
        let device = machine.streams.get(key)?.device;
        let pool = machine.book.pools.current_of(device_place(device), device);
        allocate(call, &mut machine, key, pool, Some(out), size)
    }

    /// The same from a pool of the program's choice.
    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(
        call, out: Out<'_, *mut c_void>, size: usize, pool: cudaMemPool_t, stream: cudaStream_t,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, _, key) = call.stream(stream)?;
        let from = machine.book.pools.named(pool)?;
        let pool = machine.book.pools.get(from)?;
        if pool.imported.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        if pool.place.location != cudaMemLocationTypeDevice.0 {
            eprintln!("CUDA emulator: {}: allocating from a pool of host memory is not supported", call.name);
            return Err(cudaErrorNotSupported);
        }
        allocate(call, &mut machine, key, from, Some(out), size)
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
        // What is captured frees when its graph runs.
        if machine.captures.of(key).is_none() && !machine.book.leaves(memory) {
            return Err(cudaErrorInvalidValue);
        }
        submit(&mut machine, key, call.name, Work::Free(memory), &[]).map(drop)
    }
}
