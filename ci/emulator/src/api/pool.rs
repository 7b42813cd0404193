//! Stream-ordered memory.
//!
//! The call allocates at once. A free is a task on its stream, and an allocation that comes after the free
//! may take the memory over before the free has run.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::c_void;

use super::mem_pool::device_place;
use super::{Call, Out, address, api, pointer, wide};
use crate::error::Answer;
use crate::graph::NodeOp;
use crate::machine::Guard;
use crate::memory::{Kind, PoolKey};
use crate::stream::{StreamId, Work, submit, submit_aside};
use crate::sys::*;

/// How an allocation comes after the end of another one that is still to be freed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum After {
    /// Selected by the stream.
    Stream,
    /// By the legacy stream's order only.
    Legacy,
    /// It does not yet.
    Wait,
}

/// Takes over memory whose free is still pending on a stream: on the same stream at any time, on another one
/// if the pool's rules of reuse allow it. (Memory that has been freed is the device's again, and anybody may
/// have it, whatever the rule for opportunistic reuse is.)
fn reuse(
    call: &Call,
    machine: &mut Guard,
    stream: StreamId,
    pool: PoolKey,
    size: u64,
) -> Answer<Option<u64>> {
    if machine.captures.of(stream).is_some() {
        return Ok(None);
    }
    let (follows, waits) = {
        let of = machine.allocations.pools.get(pool)?;
        let short = machine.allocations.pools.check(pool, size).is_err()
            || machine.allocations.room(of.device).0 < size;
        (of.reuse[0] != 0, of.reuse[2] != 0 && short)
    };
    let (queue, streams) = (&machine.queue, &machine.streams);
    let (owed, before) = (streams.owed(stream, queue), streams.before(stream, queue));
    let way = |(_, freed_by, free): &(u64, StreamId, _)| match () {
        () if *freed_by == stream || follows && queue.is_before(*free, &owed) => Some(After::Stream),
        () if follows && queue.is_before(*free, &before) => Some(After::Legacy),
        () => waits.then_some(After::Wait),
    };
    let offers = machine.allocations.to_be_had(pool, size);
    let found = offers.iter().filter_map(|offer| way(offer).map(|way| (way, offer.2, offer.0))).min();
    let Some((way, free, start)) = found else { return Ok(None) };
    machine.allocations.pass_on(start, call.name);
    let begin = Work::Reuse(start);
    match way {
        After::Stream => submit_aside(machine, stream, call.name, begin)?,
        // Hardware has the stream wait for the memory, which its end then proves to be there.
        After::Legacy | After::Wait => submit(machine, stream, call.name, begin, &[free])?,
    };
    Ok(Some(start))
}

/// Allocates from a pool and writes the address; null for no bytes, and null on failure.
fn allocate(
    call: &Call,
    machine: &mut Guard,
    stream: StreamId,
    pool: PoolKey,
    out: Out<'_, *mut c_void>,
    size: usize,
) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?.write(core::ptr::null_mut());
    if size == 0 {
        return Ok(());
    }
    let size = wide(size);
    if let Some(start) = reuse(call, machine, stream, pool, size)? {
        *out = pointer(start);
        return Ok(());
    }
    machine.allocations.pools.check(pool, size)?;
    let it = machine.allocations.pools.get(pool)?;
    let managed = it.place.allocation == cudaMemAllocationTypeManaged.0;
    let (device, on_host) = (it.device, it.place.is_host() || managed);
    if on_host && machine.captures.of(stream).is_some() {
        return Err(cudaErrorNotSupported);
    }
    let (kind, flags) = match managed {
        true => (Kind::Managed, cudaMemAttachGlobal),
        false => (Kind::Pinned, cudaHostAllocMapped),
    };
    let start = if on_host {
        machine.allocations.allocate_host(device, size, kind, flags, call.name)?
    } else {
        machine.allocations.allocate(device, size, Kind::Pool, call.name)?
    };
    // A graph has its memory from when the node is made. The memory is usable while the graph runs, and does
    // not belong to the pool.
    if machine.add_captured(stream, call.name, || Some(NodeOp::Alloc(start, size)))?.is_none() {
        machine.allocations.pools.took(pool, start, size);
        let m = &mut **machine;
        let before = m.streams.before(stream, &m.queue);
        if let Some(begin) = m.queue.push_done(device, Some(stream), call.name, &before) {
            m.queue.note_begin(&m.allocations, begin, start);
            m.streams.comes_after(stream, begin);
        }
    }
    *out = pointer(start);
    super::notification::look(machine, device);
    Ok(())
}

api! {
    /// Allocates device memory that is usable from this place in the stream's order on.
    allowed fn cudaMallocAsync | cudaMallocAsync_ptsz(call, out: Out<'_, *mut c_void>, size: usize, stream: cudaStream_t) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, _, key) = call.stream(stream)?;
        let device = machine.streams.get(key)?.device;
        let pool = machine.allocations.pools.current_of(device_place(device), device);
        allocate(call, &mut machine, key, pool, Some(out), size)
    }

    /// The same from a pool of the program's choice.
    allowed fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(
        call, out: Out<'_, *mut c_void>, size: usize, pool: cudaMemPool_t, stream: cudaStream_t,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let (mut machine, _, key) = call.stream(stream)?;
        let from = machine.allocations.pools.named(pool)?;
        let pool = machine.allocations.pools.get(from)?;
        if pool.imported.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        allocate(call, &mut machine, key, from, Some(out), size)
    }

    /// Frees memory when the stream comes to this place in its order.
    allowed fn cudaFreeAsync | cudaFreeAsync_ptsz(call, memory: *mut c_void, stream: cudaStream_t) {
        let (mut machine, _, key) = call.stream(stream)?;
        if memory.is_null() {
            return Ok(());
        }
        let memory = address(memory);
        // Memory that the host reaches is freed so if it is a pool's.
        let pooled = machine.allocations.pools.of(memory).is_some();
        let kinds: &[Kind] = if pooled { &[Kind::Pool, Kind::Pinned, Kind::Managed] } else { &[Kind::Pool, Kind::Device] };
        let kind = machine.allocations.starting_at(memory, kinds).ok_or(cudaErrorInvalidValue)?.kind;
        // A captured free runs when its graph runs, and takes memory of graphs only.
        if machine.captures.of(key).is_some() {
            if pooled || kind == Kind::Device {
                return Err(cudaErrorInvalidValue);
            }
            return submit(&mut machine, key, call.name, Work::Free(memory), &[]).map(drop);
        }
        // A graph keeps the address of its memory for its next launch.
        if let Some(used) = machine.graphs.memory.give_back(memory) {
            let done = used.then(|| submit(&mut machine, key, call.name, Work::Nothing, &[]));
            return done.ok_or(cudaErrorInvalidValue)?.map(drop);
        }
        if !machine.allocations.leaves(memory) {
            return Err(cudaErrorInvalidValue);
        }
        let free = submit(&mut machine, key, call.name, Work::Free(memory), &[])?;
        if machine.queue.pending(free) {
            machine.allocations.reuse.offer(memory, key, free);
        }
        Ok(())
    }
}
