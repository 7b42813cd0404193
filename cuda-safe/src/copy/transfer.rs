//! The copy core: two operands and a shape become the one right runtime call, checked and in the books.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use std::panic::Location;

use super::call;
use super::direction::Direction;
use super::operand::{Operand, Side, sealed};
use super::peer;
use super::shape::Shape;
use super::staged::{self, HostMemory, Layout, Prepared, Traffic, Wait};
use crate::check;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Ledger, Mode};
use crate::stream::{AsStream, LegacyStream, StreamRef, ensure_idle, wait_host};

/// When the call returns.
#[derive(Clone, Copy, Debug)]
pub(super) enum How<'s> {
    /// Once the host's side is done.
    Blocking,
    /// The same, into memory of the host that was allocated just now.
    BlockingFresh,
    /// At once; the copy is done in the order of the stream.
    Enqueued(StreamRef<'s>),
}

/// Has a stream copy whatever can be copied: for what the short way has nothing.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn enqueue_anew<Shape, D, S>(
    api: &'static str,
    stream: StreamRef<'_>,
    destination: &mut D,
    source: &S,
) -> Result<()>
where
    D: sealed::Destination<Shape> + ?Sized,
    S: sealed::Source<Shape> + ?Sized,
{
    transfer(api, How::Enqueued(stream), &destination.operand_mut()?, &source.operand()?)
}

/// Copies `source` to `destination`.
#[track_caller]
pub(super) fn transfer(
    api: &'static str,
    how: How<'_>,
    destination: &Operand<'_>,
    source: &Operand<'_>,
) -> Result<()> {
    let shape = Shape::of(api, destination, source)?;
    if shape.is_empty() {
        return Ok(());
    }
    let direction = Direction::of(destination.side(), source.side());
    peer::ensure(destination.side(), source.side());
    let result = match (how, direction) {
        (How::Blocking | How::BlockingFresh, Direction::HostToHost) => {
            on_the_host(api, destination, source, shape)
        }
        (
            How::Blocking | How::BlockingFresh,
            Direction::HostToDevice(device)
            | Direction::DeviceToHost(device)
            | Direction::DeviceToDevice(device)
            | Direction::Managed(device)
            | Direction::Peer { destination: device, .. },
        ) => match stage(how, direction, destination, source, shape, Traffic::OneWay) {
            // No closure: it would hide the caller's place.
            Some(transfer) => match LegacyStream::of(device) {
                Ok(legacy) => staged(legacy.as_stream(), transfer, destination, source),
                Err(error) => Err(error),
            },
            None => blocking(how, device, direction, destination, source, shape),
        },
        (How::Enqueued(stream), _) => enqueued(stream, direction, destination, source, shape),
    };
    result.map_err(|error| error.with_detail(Detail::Transfer { bytes: shape.bytes() }))
}

/// Copies within the host's memory. The host does it, so it waits as a guard would, and nothing is left for the books.
#[track_caller]
fn on_the_host(
    api: &'static str,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
) -> Result<()> {
    // The host copies, but by a call of the runtime.
    ensure_idle(api)?;
    // Counted as guards are: a graph would reach the memory without a borrow.
    let _destination = Lent::new(destination, Mode::Write)?;
    let _source = Lent::new(source, Mode::Read)?;
    // SAFETY: both operands are borrowed host memory of at least so many bytes, the shape says that they do not
    // overlap, and no device uses them any more, nor begins to while they are lent.
    unsafe { call::copy(Direction::HostToHost, destination, source, shape, None) }?;
    if must_settle(destination, source) {
        // A slice may be of managed memory, of which the runtime promises nothing: it sees what it is by the address.
        let legacy = LegacyStream::of(Device::current()?)?;
        // SAFETY: the stream is that of the device that is current.
        unsafe { check!(cudaStreamSynchronize(legacy.as_raw())) }?;
    }
    Ok(())
}

/// An operand that is lent to the host, where it is memory that the tracker keeps books about.
struct Lent<'a>(Option<(&'a Ledger, Mode)>);

impl<'a> Lent<'a> {
    /// Enters the loan first and waits then, so that nothing conflicting slips in between.
    #[track_caller]
    fn new(operand: &Operand<'a>, mode: Mode) -> Result<Self> {
        let Some((ledger, range)) = operand.books() else { return Ok(Self(None)) };
        crate::hazard::lend(ledger, mode)?;
        let lent = Self(Some((ledger, mode)));
        wait_host(ledger, range, mode)?;
        Ok(lent)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some((ledger, mode)) = self.0.take() {
            // SAFETY: it was counted in, and lends nothing any more.
            unsafe { ledger.host_leaves(mode) };
        }
    }
}

/// Copies on the legacy stream of a device, as `cudaMemcpy` does.
#[track_caller]
fn blocking(
    how: How<'_>,
    device: Device,
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
) -> Result<()> {
    let place = Location::caller();
    let legacy = LegacyStream::of(device)?;
    let accesses = Accesses::of(destination.access(Mode::Write), source.access(Mode::Read));
    let settles = must_settle(destination, source);
    // Memory of a pool is copied with its device current, and arrays by calls of their own.
    let bounces = matches!(how, How::BlockingFresh)
        && matches!((direction, shape), (Direction::DeviceToHost(_), Shape::Linear { .. }))
        && source.pool().is_none()
        && source.array().is_none();
    if bounces {
        staged::count_bounce(device, shape.bytes(), HostMemory::New);
    }
    let call = |raw| {
        // SAFETY of both: both operands are borrowed memory of this shape, the host's for as long as it is needed: for these directions
        // the call returns once the host's side is done, or it is waited for below. The direction is that of the operands.
        let copied = if bounces {
            let (to, from) = (destination.pointer(), source.pointer().cast_const());
            // SAFETY: as above.
            let code = unsafe { staged::bounce_to_host(to, from, shape.bytes(), HostMemory::New) };
            Error::check("cudaMemcpy", code)
        } else {
            // SAFETY: as above.
            unsafe { call::copy(direction, destination, source, shape, None) }
        };
        let settled = copied.and_then(|()| {
            // SAFETY: the stream is live, and its device current.
            if settles { unsafe { check!(cudaStreamSynchronize(raw)) } } else { Ok(()) }
        });
        settled.map_err(|error| error.at(place))
    };
    let stream = legacy.as_stream();
    if settles || waits(direction, source.side()) {
        // SAFETY: the accesses are all that the call touches of tracked memory, and it returns once the copy is done.
        unsafe { stream.enqueue_blocking(accesses.list(), place, call) }
    } else {
        // SAFETY: the accesses are all that the call touches of tracked memory.
        unsafe { stream.enqueue(accesses.list(), call) }
    }
}

/// Prepares a copy between pageable memory and a device by the engine, where that is to make it.
fn stage(
    how: How<'_>,
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
    traffic: Traffic,
) -> Option<Prepared> {
    if staged::is_never_staged(shape.bytes()) || destination.array().is_some() || source.array().is_some() {
        return None;
    }
    let (device, way) = match (direction, destination.side(), source.side()) {
        (Direction::HostToDevice(device), _, Side::Pageable) => (device, staged::Direction::HostToDevice),
        (Direction::DeviceToHost(device), Side::Pageable, _) => (device, staged::Direction::DeviceToHost),
        _ => return None,
    };
    let (host, remote) = match way {
        staged::Direction::HostToDevice => (source.layout(), destination.layout()),
        staged::Direction::DeviceToHost => (destination.layout(), source.layout()),
    };
    let rows =
        |row_bytes, rows| Layout { row_bytes, rows, host_pitch: host.pitch, device_pitch: remote.pitch };
    let layout = match shape {
        Shape::Linear { bytes } => Layout::linear(bytes),
        Shape::Plane { row, rows: count } => rows(row, count),
        // Layers that follow each other on both sides are so many rows more.
        Shape::Volume { row, rows: count, layers }
            if host.layer_rows == count && remote.layer_rows == count =>
        {
            rows(row, count.checked_mul(layers)?)
        }
        Shape::Volume { .. } => return None,
    };
    let fresh = matches!(how, How::BlockingFresh).then(|| destination.pointer());
    staged::prepare(device, way, layout, fresh, traffic)
}

/// Copies between pageable memory and a device by the engine, in the order of any stream of that device; none where the engine is not to
/// make the copy, which is then not begun. It is complete on return.
#[track_caller]
pub(super) fn staged_on(
    stream: StreamRef<'_>,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    traffic: Traffic,
) -> Option<Result<()>> {
    let shape = match Shape::of("staged copy", destination, source) {
        Ok(shape) => shape,
        Err(error) => return Some(Err(error)),
    };
    let direction = Direction::of(destination.side(), source.side());
    let transfer = stage(How::Blocking, direction, destination, source, shape, traffic)?;
    Some(staged(stream, transfer, destination, source))
}

/// Copies by the engine, in the order of a stream of the device.
#[track_caller]
fn staged(
    stream: StreamRef<'_>,
    transfer: Prepared,
    destination: &Operand<'_>,
    source: &Operand<'_>,
) -> Result<()> {
    let place = Location::caller();
    let accesses = Accesses::of(destination.access(Mode::Write), source.access(Mode::Read));
    let (host, remote) = match transfer.direction() {
        staged::Direction::HostToDevice => (source.pointer(), destination.pointer()),
        staged::Direction::DeviceToHost => (destination.pointer(), source.pointer()),
    };
    // A pipeline's stages wait for each other as a rule, and its copies want the processors.
    let wait = if stream.is_legacy() { Wait::Spin } else { Wait::Sleep };
    let call = |raw| {
        // SAFETY: both operands are borrowed memory of at least as many bytes as the transfer was prepared with, the
        // accesses of the device's side are entered, and the stream, one of the device, was given the waits that they
        // need.
        unsafe { staged::run(transfer, raw, wait, (host, remote)) }.map_err(|error| error.at(place))
    };
    // SAFETY: the accesses are all that the copy touches of tracked memory; it begins with an event on the stream, waits for
    // it, and is complete when it returns.
    unsafe { stream.enqueue_blocking(accesses.list(), place, call) }
}

/// Whether `cudaMemcpy` and its like for planes and volumes return only when all of the copy is done. From pageable memory it may return once it has read the
/// source, and between devices at once; both stay in the books.
#[inline]
pub(super) fn waits(direction: Direction, source: Side) -> bool {
    match direction {
        Direction::DeviceToHost(_) => true,
        Direction::HostToDevice(_) => matches!(source, Side::Pinned(_)),
        Direction::HostToHost
        | Direction::DeviceToDevice(_)
        | Direction::Peer { .. }
        | Direction::Managed(_) => false,
    }
}

/// [`settles`], of operands: a slice may be of managed memory, too, lent by a guard.
pub(super) fn must_settle(destination: &Operand<'_>, source: &Operand<'_>) -> bool {
    let (to, from) = (destination.side(), source.side());
    settles(Direction::of(to, from), to, from)
        || destination.may_be_lent_managed()
        || source.may_be_lent_managed()
}

/// Whether the copy is waited for before a blocking verb returns, because the runtime promises nothing: between managed memory,
/// which may be anywhere, and the host's. Other copies of managed memory stay in the books.
fn settles(direction: Direction, destination: Side, source: Side) -> bool {
    let host = |side| matches!(side, Side::Pinned(_) | Side::Pageable);
    matches!(direction, Direction::Managed(_)) && (host(destination) || host(source))
}

/// Gives the copy to a stream.
#[track_caller]
fn enqueued(
    stream: StreamRef<'_>,
    direction: Direction,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    shape: Shape,
) -> Result<()> {
    let place = Location::caller();
    let accesses = Accesses::of(destination.access(Mode::Write), source.source());
    let call = |raw| {
        // SAFETY: both operands are memory of this shape that outlives the copy, the direction is that of the operands, and the
        // stream is live.
        unsafe { call::copy(direction, destination, source, shape, Some(raw)) }
            .map_err(|error| error.at(place))
    };
    // SAFETY: the accesses are all that the copy touches of tracked memory, whose owners wait for it before they free;
    // memory that is not tracked is borrowed by a scope that outlives the copy.
    unsafe { stream.enqueue(accesses.list(), call) }
}

/// What a copy enters in the books: a write, a read, or both, without a heap allocation.
struct Accesses<'a> {
    list: [Access<'a>; 2],
    len: usize,
}

impl<'a> Accesses<'a> {
    fn of(write: Option<Access<'a>>, read: Option<Access<'a>>) -> Self {
        let none = Access::read(&NOTHING, 0..0);
        match (write, read) {
            // In the order in which the books take them, so that they need not sort.
            (Some(write), Some(read)) if write.address() > read.address() => {
                Self { list: [read, write], len: 2 }
            }
            (Some(write), Some(read)) => Self { list: [write, read], len: 2 },
            (Some(one), None) | (None, Some(one)) => Self { list: [one, none], len: 1 },
            (None, None) => Self { list: [none, none], len: 0 },
        }
    }

    fn list(&self) -> &[Access<'a>] {
        self.list.get(..self.len).unwrap_or(&[])
    }
}

/// The books of no memory, for the places of a list that are not used.
static NOTHING: Ledger = Ledger::new(0);

#[cfg(test)]
mod tests {
    use super::{Direction, Side, settles, waits};
    use crate::device::Device;

    #[test]
    fn only_copies_that_the_header_promises_are_taken_as_complete() {
        let device = Device::from_ordinal(0);
        assert!(waits(Direction::DeviceToHost(device), Side::Device(device)));
        assert!(waits(Direction::HostToDevice(device), Side::Pinned(device)));
        assert!(!waits(Direction::HostToDevice(device), Side::Pageable));
        assert!(!waits(Direction::DeviceToDevice(device), Side::Device(device)));
        let managed = Direction::Managed(device);
        assert!(!waits(managed, Side::Managed(device)));
        assert!(settles(managed, Side::Managed(device), Side::Pageable));
        assert!(settles(managed, Side::Pinned(device), Side::Managed(device)));
        assert!(!settles(managed, Side::Managed(device), Side::Device(device)));
        assert!(!settles(Direction::DeviceToHost(device), Side::Pageable, Side::Device(device)));
    }
}
