//! Copies that read their source before operations that they should come after, as observed on an H200.
//!
//! - A copy of at most 24,576 bytes in one row, from pinned memory to linear memory of a device, reads its
//!   bytes during the call if its stream has no work of its own: the legacy stream's order is ignored. Here
//!   that happens only if there is work that the order would wait for. Otherwise the source is read late, as
//!   of any copy, so that a program that overwrites it too early is found out.
//! - A batch does not wait for a memset of less than 2,048 bytes of pinned memory that was the last operation
//!   of its stream.
//!
//! Only the source is read early: the destination is written in order. Marks (records, and waits for finished
//! work) are no work of a stream's own. A record on the legacy stream waits for the other streams, and
//! therefore counts as work.

use super::copy::{Copy, Memory};
use super::drive::queued;
use super::fill::Fill;
use super::names::{OperationId, StreamId};
use super::queue::Queue;
use super::table::Streams;
use super::work::Work;
use crate::error::Answer;
use crate::host_line::HostLine;
use crate::machine::Guard;
use crate::memory::{Allocations, Kind};
use crate::race::Origin;

/// The most bytes that are read early.
const LARGEST_COPY: u64 = 24_576;
/// The fewest bytes of a memset that a batch waits for.
const LEAST_FILL: u64 = 2_048;

/// Whether the source of an asynchronous copy is read during the call, before operations that the legacy
/// stream's order puts first.
pub(crate) fn taken_early(machine: &Guard, stream: StreamId, copy: &Copy) -> bool {
    small(copy, &machine.allocations) && machine.streams.looks_idle(stream, &machine.queue)
}

/// Takes those copies out of a batch that read the target of a small memset, the last operation of the
/// stream. They go onto the queue before the memset, and after its dependencies: hardware runs both at once.
/// Returns their name.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` for a stream that there is not.
pub(crate) fn submit_past_fill(
    machine: &mut Guard,
    stream: StreamId,
    call: &'static str,
    copies: &mut Vec<Copy>,
) -> Answer<Option<OperationId>> {
    let device = machine.streams.get(stream)?.device;
    let Some((last, fill, before)) = machine.streams.last_fill(stream, &machine.queue) else {
        return Ok(None);
    };
    if !pinned(&machine.allocations, fill.address) {
        return Ok(None);
    }
    let allocations = &machine.allocations;
    let past: Vec<Copy> =
        copies.extract_if(.., |copy| small(copy, allocations) && reads(copy, &fill)).collect();
    if past.is_empty() {
        return Ok(None);
    }
    let origin = Origin { call, stream: Some(stream), line: HostLine::captured(), ..Origin::default() };
    let id = machine.queue.push_from(device, origin, Work::Copies(past), &before);
    machine.queue.put_off(last, id);
    queued(machine);
    Ok(Some(id))
}

fn pinned(allocations: &Allocations, address: u64) -> bool {
    allocations.at(address).is_some_and(|it| matches!(it.kind, Kind::Pinned | Kind::Registered))
}

/// Whether a copy is one row of few bytes, from pinned memory to linear memory of a device.
fn small(copy: &Copy, allocations: &Allocations) -> bool {
    let (Memory::Known(to), Memory::Known(from)) = (&copy.to.memory, &copy.from.memory) else { return false };
    let linear = |kind| matches!(kind, Kind::Device | Kind::Pool | Kind::Symbol | Kind::Imported);
    let volume = copy.volume;
    volume.height == 1
        && volume.depth == 1
        && volume.width <= LARGEST_COPY
        && pinned(allocations, *from)
        && allocations.at(*to).is_some_and(|it| linear(it.kind))
}

/// Whether a copy of one row reads bytes that a memset writes.
fn reads(copy: &Copy, fill: &Fill) -> bool {
    let Memory::Known(from) = copy.from.memory else { return false };
    let span = fill.volume.span(fill.pitch, fill.slice).unwrap_or(u64::MAX);
    from < fill.address.saturating_add(span) && fill.address < from.saturating_add(copy.volume.width)
}

impl Streams {
    /// Notes that a stream got work.
    pub(super) fn took(&mut self, key: StreamId, id: OperationId) {
        if let Ok(stream) = self.get_mut(key) {
            stream.own = vec![id];
        }
    }

    /// Notes that a stream got a mark, or a wait for `others`.
    pub(super) fn took_mark(
        &mut self,
        key: StreamId,
        id: OperationId,
        record: bool,
        others: &[OperationId],
        queue: &Queue,
    ) {
        let Ok(stream) = self.get_mut(key) else { return };
        stream.own.retain(|own| queue.pending(*own));
        stream.own.extend_from_slice(others);
        if stream.legacy && record {
            stream.own.push(id);
        }
    }

    /// Whether a stream has nothing of its own to do, and yet something that it comes after.
    fn looks_idle(&self, key: StreamId, queue: &Queue) -> bool {
        let Ok(stream) = self.get(key) else { return false };
        !stream.own.iter().any(|id| queue.busy(*id))
            && self.before(key, queue).iter().any(|id| queue.busy(*id))
    }

    /// The small memset that is the last operation of a stream, and its dependencies.
    fn last_fill(&self, key: StreamId, queue: &Queue) -> Option<(OperationId, Fill, Vec<OperationId>)> {
        let stream = self.get(key).ok()?;
        let mut own = stream.own.iter().copied().filter(|id| queue.busy(*id));
        let id = own.next().filter(|_| own.next().is_none())?;
        let (fill, before) = queue.fill(id)?;
        let volume = fill.volume;
        let bytes = volume.width.saturating_mul(volume.height).saturating_mul(volume.depth);
        // Later work of the legacy stream waits for the memset, and the stream's next operation waits for
        // that work.
        let between = self.legacy_tail(stream).is_some_and(|tail| tail > id && queue.pending(tail));
        (bytes < LEAST_FILL && !between).then(|| (id, fill.clone(), before.to_vec()))
    }
}
