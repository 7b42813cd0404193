//! The short way of a copy, which most take: between sides with addresses that a few numbers describe.
//!
//! An [`Operand`](super::operand::Operand) says everything there is to say of a side, and costs as much to make and to look at as all
//! the rest of a small copy. Whatever is not simple goes that way: arrays, symbols, other devices, refusals.
#![expect(unsafe_code, reason = "hands the sides' pointers to the runtime")]

use std::ops::Range;
use std::panic::Location;

use bytemuck::{AnyBitPattern, NoUninit};

use cuda_hazard::Operation;

use super::call;
use super::direction::Direction;
use super::operand::{Dimensions, Side};
use super::shape::Shape;
use super::staged::{HostMemory, bounce_to_host, count_bounce, is_never_staged};
use super::transfer::waits;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Ledger, Mode};
use crate::memory::allocation::Allocation;
use crate::memory::grid::Grid;
use crate::memory::managed::extent;
use crate::memory::place::sealed::Residence;
use crate::memory::size::Layout;
use crate::memory::span::Span;
use crate::memory::{AnyPlace, Place};
use crate::stream::{AsStream, Call, LegacyStream, StreamRef};
use crate::sys;

/// One side of a copy in short: elements in a row, or in rows.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    pub(super) pointer: *mut u8,
    /// Elements of a row.
    pub(super) len: usize,
    pub(super) layout: Layout,
    pub(super) side: Side,
    /// The books of an allocation; none of pageable memory.
    ledger: Option<&'a Ledger>,
    /// The first byte and the one past the last, counted from the start of the allocation or slice.
    start: usize,
    end: usize,
    /// Whether a borrow of the side that is exclusive is so for all these bytes: between rows others may have some.
    alone: bool,
}

impl<'a> Plain<'a> {
    /// A part of an allocation.
    #[inline]
    pub(super) fn of_span<T, M: Place>(span: Span<'a, T>) -> Option<Self> {
        let (allocation, pointer, layout) = (span.allocation(), span.pointer(), Layout::linear(span.bytes()));
        Self::of(M::RESIDENCE, allocation, pointer.cast(), span.len(), layout, span.range(), true)
    }

    /// Rows, in layers. None of a slice's.
    #[inline]
    pub(super) fn of_grid<T, M: AnyPlace>(grid: &Grid<'a, T>) -> Option<Self> {
        let (residence, (allocation, range)) = (M::BOOKED?, grid.booked()?);
        Self::of(
            residence,
            allocation,
            grid.pointer().cast(),
            grid.width(),
            grid.layout(),
            range,
            grid.is_alone(),
        )
    }

    /// A borrowed slice.
    #[inline]
    fn pageable(pointer: *mut u8, len: usize, bytes: usize) -> Self {
        let layout = Layout::linear(bytes);
        Self { pointer, len, layout, side: Side::Pageable, ledger: None, start: 0, end: bytes, alone: true }
    }

    /// A slice, to be read.
    #[inline]
    pub(super) fn of_slice<T: NoUninit>(slice: &'a [T]) -> Self {
        Self::pageable(slice.as_ptr().cast_mut().cast(), slice.len(), size_of_val(slice))
    }

    /// A slice, to be written.
    #[inline]
    pub(super) fn of_slice_mut<T: AnyBitPattern>(slice: &'a mut [T]) -> Self {
        let (len, bytes) = (slice.len(), size_of_val(slice));
        Self::pageable(slice.as_mut_ptr().cast(), len, bytes)
    }

    /// None of a pool's memory where another device might have to be made current.
    #[inline]
    fn of(
        residence: Residence,
        allocation: &'a Allocation,
        pointer: *mut u8,
        len: usize,
        layout: Layout,
        Range { start, end }: Range<usize>,
        alone: bool,
    ) -> Option<Self> {
        if allocation.pool_device().is_some() && !Device::is_only_one() {
            return None;
        }
        let side = Side::of(residence, allocation.on());
        let ledger = Some(allocation.ledger());
        Some(Self { pointer, len, layout, side, ledger, start, end, alone })
    }

    /// The access to enter in the books; none for pageable memory.
    #[inline]
    fn access(&self, mode: Mode) -> Option<Access<'a>> {
        Some(Access::new(self.ledger?, self.start..self.end, mode))
    }

    /// The access of a source that a stream copies from.
    #[inline]
    fn source(&self) -> Option<Access<'a>> {
        self.access(Mode::Read).map(|access| self.side.source(access))
    }

    /// The access of what is written by a borrow that is exclusive until the call returns.
    #[inline]
    fn written(&self) -> Option<Access<'a>> {
        let write = self.access(Mode::Write)?;
        // SAFETY: the side was borrowed exclusively for all these bytes, until the call returns.
        Some(if self.alone { unsafe { write.exclusive() } } else { write })
    }

    /// The access of what a stream fills by such a borrow.
    #[inline]
    pub(super) fn filled(&self) -> Option<Access<'a>> {
        self.written().map(|access| self.side.filled(access))
    }

    /// Whether a slice may be of managed memory, lent by a guard.
    #[inline]
    pub(super) fn may_be_lent_managed(&self) -> bool {
        self.ledger.is_none() && extent::may_contain(self.pointer.addr())
    }

    /// Whether the other side, of the same elements, has the same extent, and neither lies in the other. No says nothing about that.
    #[inline]
    pub(super) fn pairs_with(&self, other: &Self, dimensions: Dimensions) -> bool {
        let apart = self.pointer.addr().abs_diff(other.pointer.addr());
        if let Dimensions::One = dimensions {
            return self.len == other.len && apart >= self.layout.row;
        }
        let span = (self.end - self.start).max(other.end - other.start);
        let extent = |it: &Self| (it.len, it.layout.rows, it.layout.layers);
        apart >= span && extent(self) == extent(other)
    }
}

/// The copy of one side to the other; none where there is more to look at.
///
/// Inlined, as what the types know of the two sides then need not be asked.
#[expect(clippy::inline_always, reason = "measured: a third less for the smallest copy")]
#[inline(always)]
pub(super) fn copy<'a>(
    dimensions: Dimensions,
    destination: Option<Plain<'a>>,
    source: Option<Plain<'a>>,
) -> Option<Copy<'a>> {
    let (to, from) = (destination?, source?);
    let direction = Direction::of(to.side, from.side);
    let shape = Shape::new(dimensions, &to.layout);
    let simple =
        !matches!(direction, Direction::Peer { .. }) && !shape.is_empty() && to.pairs_with(&from, dimensions);
    simple.then_some(Copy { direction, shape, to, from })
}

/// Copies elements in a row between pageable memory and a device, as `cudaMemcpy` does; says no, and has done nothing, where there is more
/// to look at, or enough to be staged.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
#[track_caller]
pub(super) fn block(destination: Option<Plain<'_>>, source: Option<Plain<'_>>) -> Result<bool> {
    let (Some(to), Some(from)) = (destination, source) else { return Ok(false) };
    let direction = Direction::of(to.side, from.side);
    let shape = Shape::new(Dimensions::One, &to.layout);
    let bytes = shape.bytes();
    let lent = to.may_be_lent_managed() || from.may_be_lent_managed();
    if bytes == 0 || lent || !is_never_staged(bytes) || !to.pairs_with(&from, Dimensions::One) {
        return Ok(false);
    }
    let (copy, place) = (Copy { direction, shape, to, from }, Location::caller());
    let (device, access, down) = match (direction, to.written(), from.access(Mode::Read)) {
        (Direction::HostToDevice(device), Some(write), None) => (device, write, false),
        (Direction::DeviceToHost(device), None, Some(read)) => {
            count_bounce(device, bytes, HostMemory::Existing);
            (device, read, true)
        }
        _ => return Ok(false),
    };
    copy.block(device, access, down, place).map(|()| true)
}

/// A copy between two sides of this shape, which share no byte.
#[derive(Clone, Copy)]
pub(super) struct Copy<'a> {
    direction: Direction,
    shape: Shape,
    to: Plain<'a>,
    from: Plain<'a>,
}

impl Copy<'_> {
    /// Gives it to a stream.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    #[track_caller]
    pub(super) fn enqueue(self, stream: StreamRef<'_>) -> Result<()> {
        let place = Location::caller();
        // What the types say of the sides leaves one of these.
        match (self.to.written(), self.from.source()) {
            (Some(write), Some(read)) => self.call(stream, place, &[write, read]),
            (Some(one), None) | (None, Some(one)) => self.call(stream, place, &[one]),
            (None, None) => self.call(stream, place, &[]),
        }
    }

    #[inline]
    fn call(
        self,
        stream: StreamRef<'_>,
        place: &'static Location<'static>,
        accesses: &[Access<'_>],
    ) -> Result<()> {
        let (kind, shape) = (self.direction.kind(), self.shape);
        let asked = Call { api: call::name(shape, true), place, bytes: shape.bytes() };
        // SAFETY: the accesses are all that the copy touches of tracked memory, whose owners wait for it before they free; memory
        // that is not tracked is borrowed by a scope that outlives the copy.
        let submission = unsafe { stream.begin(Operation::new(accesses), place) };
        let submission = submission.map_err(|error| asked.about(error))?;
        let (to, from) = ((self.to.pointer, &self.to.layout), (self.from.pointer, &self.from.layout));
        let raw = Some(stream.as_raw());
        // SAFETY: both sides are memory of this shape that outlives the copy, the direction is theirs, and the stream is live.
        let code = unsafe { call::calls(kind, to, from, shape, raw) };
        submission.commit(code == sys::cudaSuccess);
        asked.check(code)
    }

    /// Has the legacy stream of the device make it, and the host wait as far as `cudaMemcpy` does. `down`: to pageable memory.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    #[track_caller]
    fn block(
        self,
        device: Device,
        access: Access<'_>,
        down: bool,
        place: &'static Location<'static>,
    ) -> Result<()> {
        let legacy = LegacyStream::of(device)?;
        let (kind, shape, bytes) = (self.direction.kind(), self.shape, self.shape.bytes());
        let (to, from) = (self.to.pointer, self.from.pointer);
        let asked = Call { api: call::name(shape, false), place, bytes };
        let waits = waits(self.direction, self.from.side);
        // SAFETY: the access is all that the call touches of tracked memory.
        let submission = unsafe { legacy.as_stream().begin(Operation::new(&[access]), place) };
        let submission = submission.map_err(|error| asked.about(error))?;
        let covered = if waits { submission.covers() } else { None };
        // SAFETY of both: both sides are borrowed memory of so many bytes, the host's for as long as it is needed: the call returns once the
        // host's side is done. The direction is theirs.
        let code = if down {
            // SAFETY: as above.
            unsafe { bounce_to_host(to, from, bytes, HostMemory::Existing) }
        } else {
            // SAFETY: as above.
            unsafe { call::linear(kind, to, from, bytes, None) }
        };
        match code {
            // SAFETY: where it waits, the call returns once the copy is done.
            sys::cudaSuccess if waits => unsafe { submission.commit_blocking(covered) },
            _ => submission.commit(code == sys::cudaSuccess),
        }
        asked.check(code)
    }
}
