//! Checks a copy before it is queued: both sides, the direction, and whether the call waits.
//!
//! | source → destination | blocking call | asynchronous call |
//! |---|---|---|
//! | pageable → device | takes the bytes, does not wait | takes the bytes, does not wait |
//! | pinned → device | waits | does not wait |
//! | device → pageable, pinned | waits | does not wait |
//! | host → host | waits | waits |
//! | device → device | does not wait | does not wait |
//!
//! The call waits as little as CUDA's rules allow. Managed memory counts as the device's, unless the
//! direction names the host.
//!
//! A small asynchronous copy from pinned memory to the device also reads its bytes in the call, if only the
//! legacy stream's order would delay it: see `stream::early`.

use super::Call;
use crate::error::Answer;
use crate::fidelity::{self, Limit};
use crate::finding::{Finding, Subject};
use crate::host_line::HostLine;
use crate::machine::Guard;
use crate::memory::{Allocation, Allocations, Found, Kind};
use crate::page::host_memory;
use crate::stream::{
    Copy, End, Memory, StreamId, Volume, Work, access, submit, submit_everywhere, synchronize, taken_early,
};
use crate::sys::*;

/// The largest pitch that device memory may have in a copy.
pub(crate) const LARGEST_PITCH: u64 = 0x7fff_ffff;

/// One side of a copy as the program gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) address: u64,
    /// Bytes from one row to the next.
    pub(crate) pitch: u64,
    /// Bytes from one layer to the next.
    pub(crate) slice: u64,
}

impl Side {
    /// A side of a copy of one row.
    pub(crate) fn row(address: u64) -> Self {
        Self { address, pitch: 0, slice: 0 }
    }
}

/// A copy as the program asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) volume: Volume,
    pub(crate) kind: cudaMemcpyKind,
}

/// Whether the call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Blocking,
    Asynchronous,
    /// Nothing is copied yet, and nothing read: the copy becomes a node of a graph.
    Captured,
}

/// The kind of memory on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryType {
    Pageable,
    Pinned,
    Managed,
    Device,
}

impl MemoryType {
    /// Whether the bytes are on the host. With `host`, the direction names the host, which decides for
    /// managed memory.
    fn on_host(self, host: bool) -> bool {
        match self {
            Self::Pageable | Self::Pinned => true,
            Self::Managed => host,
            Self::Device => false,
        }
    }
}

/// The kind of memory at `span` bytes from an address. With `device`, the direction names a device.
///
/// # Errors
/// `cudaErrorInvalidValue`, with a line on standard error, if some of the bytes do not exist or cannot be
/// copied.
pub(crate) fn memory_type(
    call: &str,
    allocations: &Allocations,
    address: u64,
    span: Option<u64>,
    device: bool,
) -> Answer<MemoryType> {
    let size = span.unwrap_or(u64::MAX);
    let wrong = |what: String| {
        Finding::pointer(call, &format!("{size} bytes at {address:#x}: {what}")).report();
        cudaErrorInvalidValue
    };
    match allocations.find(address, size) {
        Found::Inside(it) => match it.kind {
            Kind::Heap => Err(wrong(format!("only kernels reach {it}"))),
            Kind::Pinned | Kind::Registered => Ok(MemoryType::Pinned),
            Kind::Managed => Ok(MemoryType::Managed),
            Kind::Device | Kind::Pool | Kind::Array | Kind::Symbol | Kind::Imported => Ok(MemoryType::Device),
        },
        Found::Beyond(it) => Err(wrong(format!("past the end of {it}"))),
        Found::Unknown if allocations.on_device(address) => {
            Err(wrong(allocations.nearest(address).unwrap_or_else(|| "no memory is live there".to_owned())))
        }
        Found::Unknown if device && address != 0 => {
            Err(wrong(format!("{}, no memory that a device reaches", host_memory(address))))
        }
        Found::Unknown if device || address == 0 => Err(cudaErrorInvalidValue),
        Found::Unknown => Ok(MemoryType::Pageable),
    }
}

/// Which sides a direction claims for the device: destination and source.
fn claims(kind: cudaMemcpyKind) -> Answer<(bool, bool)> {
    match kind {
        it if it == cudaMemcpyHostToHost || it == cudaMemcpyDefault => Ok((false, false)),
        it if it == cudaMemcpyHostToDevice => Ok((true, false)),
        it if it == cudaMemcpyDeviceToHost => Ok((false, true)),
        it if it == cudaMemcpyDeviceToDevice => Ok((true, true)),
        _ => Err(cudaErrorInvalidMemcpyDirection),
    }
}

/// The direction from one kind of memory to another.
fn direction(to_device: bool, from_device: bool) -> &'static str {
    match (to_device, from_device) {
        (true, true) => "cudaMemcpyDeviceToDevice",
        (true, false) => "cudaMemcpyHostToDevice",
        (false, true) => "cudaMemcpyDeviceToHost",
        (false, false) => "cudaMemcpyHostToHost",
    }
}

/// The finding about a copy whose direction claims a side for the device that is pageable memory.
fn wrong_direction(call: &str, allocations: &Allocations, request: &Request) -> Option<Finding> {
    let Request { to, from, volume, kind } = *request;
    let claimed = claims(kind).ok()?;
    let is_pageable = |at: u64| allocations.at(at).is_none() && !allocations.on_device(at);
    let (side, at) = match claimed {
        (true, _) if is_pageable(to.address) => ("destination", to),
        (_, true) if is_pageable(from.address) => ("source", from),
        _ => return None,
    };
    let (other_side, other) = if side == "source" { ("destination", to) } else { ("source", from) };
    let known = allocations.at(other.address);
    let there = match known {
        Some(it) => it.to_string(),
        None if is_pageable(other.address) => host_memory(other.address),
        None => allocations.nearest(other.address).unwrap_or_default(),
    };
    let on_device = |at: u64| {
        allocations.at(at).map_or(!is_pageable(at), |it| !it.kind.on_host() || it.kind == Kind::Managed)
    };
    let right = direction(on_device(to.address), on_device(from.address));
    let asked = direction(claimed.0, claimed.1);
    let remedy = if claimed == (on_device(from.address), on_device(to.address)) {
        format!("either the two pointers are swapped, for the destination comes first, or this is {right}")
    } else {
        format!("for these two it is {right}")
    };
    let size = volume.span(at.pitch, at.slice).unwrap_or(u64::MAX);
    let what = format!(
        "{call}: {size} bytes at {:#x}: {asked} wants device memory as the {side}, and this is {}, no memory \
         that a device reaches. The {other_side} is {there}; {remedy}",
        at.address,
        host_memory(at.address)
    );
    let advice = "The direction must name the memory of both sides; cudaMemcpyDefault finds it out.";
    let finding = Finding::new(Subject::Pointer, what, advice).here(call);
    Some(match known.filter(|it| it.line != HostLine::NONE) {
        Some(it) => finding.part(format!("the {other_side}"), it.line),
        None => finding,
    })
}

/// A copy that was found possible.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) copy: Copy,
    /// Whether the call waits until it is done.
    pub(crate) waits: bool,
}

/// One side of a copy that was found possible.
pub(crate) fn end(side: Side, place: MemoryType) -> End {
    let memory = match place {
        MemoryType::Pageable => Memory::Pageable(usize::try_from(side.address).unwrap_or(0)),
        _ => Memory::Known(side.address),
    };
    End { memory, pitch: side.pitch, slice: side.slice }
}

/// Checks a copy.
///
/// # Errors
/// `cudaErrorInvalidMemcpyDirection` for an invalid direction, `cudaErrorInvalidValue` for a side whose
/// memory does not fit the direction.
pub(crate) fn plan(call: &Call, allocations: &Allocations, request: &Request, mode: Mode) -> Answer<Planned> {
    let (to_device, from_device) = claims(request.kind)?;
    let Request { to, from, volume, .. } = *request;
    if to.address == 0 || from.address == 0 {
        return Err(cudaErrorInvalidValue);
    }
    if let Some(finding) = wrong_direction(call.name, allocations, request) {
        finding.report();
        return Err(cudaErrorInvalidValue);
    }
    let look = |side: Side, device| {
        let found =
            memory_type(call.name, allocations, side.address, volume.span(side.pitch, side.slice), device)?;
        // The pitch of host memory may be any.
        let host = matches!(found, MemoryType::Pageable | MemoryType::Pinned);
        if host || side.pitch <= LARGEST_PITCH { Ok(found) } else { Err(cudaErrorInvalidValue) }
    };
    let (target, source) = (look(to, to_device)?, look(from, from_device)?);
    let to_host = request.kind == cudaMemcpyDeviceToHost || request.kind == cudaMemcpyHostToHost;
    let target_on_host = target.on_host(to_host);
    let source_on_host = source.on_host(false);
    let waits = match mode {
        Mode::Blocking => target_on_host || source == MemoryType::Pinned,
        Mode::Asynchronous => target_on_host && source_on_host,
        Mode::Captured => false,
    };
    let mut copy = Copy { to: end(to, target), from: end(from, source), volume, kind: request.kind };
    if source == MemoryType::Pageable && !target_on_host && mode != Mode::Captured {
        take_source(&mut copy, allocations);
    }
    Ok(Planned { copy, waits })
}

#[expect(unsafe_code, reason = "reads the program's memory")]
fn take_source(copy: &mut Copy, allocations: &Allocations) {
    // SAFETY: the program called a copy function with this source, and thereby promises that it can be read.
    unsafe { copy.stage(allocations) };
}

/// Reads the source of an asynchronous copy now, if hardware ignores an order for it.
pub(crate) fn take_early(machine: &Guard, stream: StreamId, copy: &mut Copy) {
    if taken_early(machine, stream, copy) {
        take_source(copy, &machine.allocations);
    }
}

/// Whether a device reads an allocation, and whether it writes it.
pub(crate) fn device_access(machine: &Guard, it: &Allocation, device: usize) -> (bool, bool) {
    let peers = machine.devices.get(device).map_or(&[][..], |device| &device.peers);
    access(&machine.allocations, it, device, peers)
}

/// Whether a graph allocates this memory, and no launch of it has begun yet.
pub(crate) fn is_before_launch(machine: &Guard, it: &Allocation) -> bool {
    let of_graph = it.kind == Kind::Pool && machine.allocations.pools.of(it.start).is_none();
    of_graph && !machine.graphs.memory.was_in_use(it.start)
}

/// Memory of a pool is found only if the current device has access to it, whatever stream the copy is for.
/// Memory of a graph is found only once the graph was launched.
pub(crate) fn reachable<const N: usize>(machine: &Guard, ends: [&End; N]) -> Answer {
    let device = crate::thread::device();
    let hidden = |end: &&End| match end.memory {
        Memory::Known(address) => machine
            .allocations
            .at(address)
            .filter(|it| it.kind == Kind::Pool)
            .is_some_and(|it| !device_access(machine, it, device).0 || is_before_launch(machine, it)),
        _ => false,
    };
    if ends.iter().any(hidden) { Err(cudaErrorInvalidValue) } else { Ok(()) }
}

/// The devices that a blocking copy with memory of others has to do with: it has the order of the default
/// streams of all.
fn devices(machine: &Guard, copy: &Copy, current: usize) -> Vec<usize> {
    let device = |end: &End| match end.memory {
        Memory::Known(address) => machine.allocations.at(address).filter(|it| !it.kind.on_host()),
        _ => None,
    };
    let others = [&copy.to, &copy.from].into_iter().filter_map(device).map(|it| it.device);
    [current].into_iter().chain(others.filter(|device| *device != current)).collect()
}

/// Checks a copy, puts it on a stream, and waits if the call does.
///
/// # Errors
/// Those of [`plan`], and the error that ended the device's context.
pub(crate) fn transfer(
    machine: &mut Guard,
    call: &Call,
    stream: StreamId,
    request: &Request,
    mode: Mode,
) -> Answer {
    if request.volume.is_empty() {
        return Ok(());
    }
    let mode = if machine.is_captured(stream) { Mode::Captured } else { mode };
    let Planned { mut copy, waits } = plan(call, &machine.allocations, request, mode)?;
    let to_pageable = matches!(copy.to.memory, Memory::Pageable(_));
    if mode != Mode::Captured {
        reachable(machine, [&copy.to, &copy.from])?;
    }
    if mode == Mode::Asynchronous {
        take_early(machine, stream, &mut copy);
    }
    let device = machine.streams.get(stream)?.device;
    let devices = if mode == Mode::Blocking { devices(machine, &copy, device) } else { vec![device] };
    let work = Work::Copy(Box::new(copy));
    let id = match devices.len() {
        1 => submit(machine, stream, call.name, work, &[])?,
        _ => submit_everywhere(machine, stream, &devices, call.name, work)?,
    };
    if waits {
        return synchronize(machine, device, &[id]);
    }
    if to_pageable && machine.queue.pending(id) {
        fidelity::note(Limit::Pageable);
    }
    Ok(())
}
