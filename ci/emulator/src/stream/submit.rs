//! Puts work on streams.

use std::collections::BTreeSet;

use cuda_hazard::happens_before::VectorClock;

use super::drive::{queued, synchronize, wait_for};
use super::local;
use super::names::{OperationId, StreamId};
use super::work::{Part, Work};
use crate::error::Answer;
use crate::exec::env::Task;
use crate::host_line::HostLine;
use crate::machine::Guard;
use crate::race::Origin;
use crate::sys::cudaErrorInvalidResourceHandle;

/// The size of pageable memory held for copies that have not run, from which on a call waits for its own
/// copy.
const STAGED: usize = 64 << 20;

/// Puts an operation on a stream, with all its dependencies. Returns its name.
pub(crate) fn submit(
    machine: &mut Guard,
    stream: StreamId,
    call: &'static str,
    work: Work,
    and: &[OperationId],
) -> Answer<OperationId> {
    let mark = matches!(work, Work::Record(_) | Work::Nothing);
    put(machine, stream, call, work, and, (mark, None))
}

/// Puts work on a stream that does not count as the stream's own. Hardware does not wait for it with the
/// stream if only the legacy stream's order holds it back.
pub(crate) fn submit_aside(
    machine: &mut Guard,
    stream: StreamId,
    call: &'static str,
    work: Work,
) -> Answer<OperationId> {
    put(machine, stream, call, work, &[], (true, None))
}

/// Puts an operation on a stream: a `mark`, or something to do, which may begin `early`: after that only.
fn put(
    machine: &mut Guard,
    stream: StreamId,
    call: &'static str,
    work: Work,
    and: &[OperationId],
    (mark, early): (bool, Option<VectorClock>),
) -> Answer<OperationId> {
    let device = machine.streams.get(stream)?.device;
    let m = &mut **machine;
    let work = match m.take_captured(stream, call, work)? {
        Ok(id) => return Ok(id),
        Err(work) => work,
    };
    let mut before = m.streams.before(stream, &m.queue);
    before.extend_from_slice(and);
    let record = if let Work::Record(record) = &work { Some(record.event) } else { None };
    let line = HostLine::captured();
    let origin = Origin { call, stream: Some(stream), line, ..Origin::default() };
    let locals = local::targets(&work);
    let id = m.queue.push_from(device, origin, work, &before);
    local::note(&locals, id, call, line);
    if let Some(early) = early {
        m.queue.begins_early(id, early);
    }
    if mark {
        m.streams.took_mark(stream, id, record.is_some(), and, &m.queue);
        m.streams.append_mark(stream, id, and, &m.queue);
    } else {
        m.streams.took(stream, id);
        m.streams.append(stream, id, &m.queue);
    }
    if let Some(event) = record {
        m.events.recorded(event, id);
    }
    queued(machine);
    if machine.queue.staged > STAGED {
        wait_for(machine, &[id]);
    }
    Ok(id)
}

/// The place of the one operation that nothing comes after, if there is only one: it is the last, then.
fn only_leaf(parts: &[Part]) -> Option<usize> {
    let followed: BTreeSet<usize> = parts.iter().flat_map(|part| part.before.iter().copied()).collect();
    let mut leaves = (0..parts.len()).filter(|at| !followed.contains(at));
    leaves.next().filter(|_| leaves.next().is_none())
}

/// Puts operations on a stream whose mutual order is only the one that they state. Returns the name of an
/// operation that comes after all of them.
pub(crate) fn submit_all(
    machine: &mut Guard,
    stream: StreamId,
    call: &'static str,
    parts: Vec<Part>,
    and: &[OperationId],
) -> Answer<OperationId> {
    let device = machine.streams.get(stream)?.device;
    let m = &mut **machine;
    let mut first = m.streams.before(stream, &m.queue);
    first.extend_from_slice(and);
    let mut ids: Vec<OperationId> = Vec::with_capacity(parts.len());
    let real = parts.iter().any(|part| !matches!(part.work, Work::Nothing) || !part.and.is_empty());
    let leaf = only_leaf(&parts);
    let launch = HostLine::captured();
    for part in parts {
        let mut before: Vec<OperationId> =
            part.before.iter().filter_map(|at| ids.get(*at).copied()).collect();
        if before.is_empty() {
            before.extend_from_slice(&first);
        }
        before.extend_from_slice(&part.and);
        let record = if let Work::Record(record) = &part.work { Some(record.event) } else { None };
        let origin =
            Origin { call: part.call, stream: Some(stream), line: part.line, launch, ..Origin::default() };
        let id = m.queue.push_from(part.device, origin, part.work, &before);
        if let Some(event) = record {
            m.events.recorded(event, id);
        }
        ids.push(id);
    }
    first.extend_from_slice(&ids);
    let end = m.queue.push(device, call, Work::Nothing, &first);
    if real {
        let leaf = leaf.and_then(|at| ids.get(at).copied());
        m.streams.took(stream, leaf.unwrap_or(end));
        m.streams.append(stream, end, &m.queue);
    } else {
        // Empty nodes are nothing to do.
        m.streams.append_mark(stream, end, and, &m.queue);
    }
    queued(machine);
    Ok(end)
}

/// Puts an operation on no stream, after others.
pub(crate) fn submit_after(
    machine: &mut Guard,
    device: usize,
    call: &'static str,
    work: Work,
    after: &[OperationId],
) -> OperationId {
    let id = machine.queue.push(device, call, work, after);
    queued(machine);
    id
}

/// Launches a kernel on a stream of the calling thread's current device. It may begin `early`, before the
/// kernel before it on the stream is complete.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if the stream belongs to another device.
pub(crate) fn submit_kernel(
    machine: &mut Guard,
    (stream, device): (StreamId, usize),
    call: &'static str,
    task: Box<dyn Task>,
    early: bool,
) -> Answer<OperationId> {
    if machine.streams.get(stream)?.device != device {
        return Err(cudaErrorInvalidResourceHandle);
    }
    let before = machine.streams.before(stream, &machine.queue);
    let races = machine.queue.races.as_ref().filter(|_| early);
    let early = races.and_then(|races| races.order.without_kernel(stream, &before));
    let id = put(machine, stream, call, Work::Task(task), &[], (false, early))?;
    if machine.config.blocks {
        synchronize(machine, device, &[id])?;
    }
    Ok(id)
}

/// Puts an operation after all and before all that these devices have and will have to do. A device may be
/// named twice.
pub(crate) fn submit_everywhere(
    machine: &mut Guard,
    stream: StreamId,
    devices: &[usize],
    call: &'static str,
    work: Work,
) -> Answer<OperationId> {
    let devices = &BTreeSet::from_iter(devices);
    let before: Vec<OperationId> =
        devices.iter().flat_map(|device| machine.streams.tails(**device)).collect();
    let home = machine.streams.get(stream)?.device;
    let m = &mut **machine;
    let id = m.queue.push(home, call, work, &before);
    for device in devices {
        m.streams.append_everywhere(**device, id);
    }
    queued(machine);
    Ok(id)
}
