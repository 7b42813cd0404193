//! A batch as a whole: what its copies come to, and how they get onto a stream as one step of it.
//!
//! What an enqueue has to know of all copies is found out at the first one after a copy was added, and kept: whether they are apart from
//! each other, and what they touch, in the order in which the books take it. Later ones cost little more than one copy.
#![expect(
    unsafe_code,
    reason = "enters what a batch reads and writes in the books, and keeps that under a lifetime of its own"
)]

use std::cell::OnceCell;
use std::panic::Location;

use super::operand::Operand;
use super::peer;
use super::shape::Shape;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode, Sorted};
use crate::stream::StreamRef;
use crate::sys;

/// What is known of all copies of a batch together.
#[derive(Debug, Default)]
pub(super) struct Whole<'a> {
    /// What the copies write, and what they read: apart, because either is often in order.
    writes: Vec<Access<'a>>,
    reads: Vec<Access<'a>>,
    bytes: usize,
    /// Of the first copy that could not be added.
    error: Option<Error>,
    /// Both lists as one, once the copies were found to be apart: a `Sorted<'a>` in truth. A cell of that would forbid what a batch is
    /// otherwise good for: to be used as one that borrows for less long.
    sorted: OnceCell<Sorted<'static>>,
}

impl<'a> Whole<'a> {
    /// Nothing yet, with room for what so many copies touch.
    pub(super) fn with_capacity(copies: usize) -> Self {
        Self { writes: Vec::with_capacity(copies), reads: Vec::with_capacity(copies), ..Self::default() }
    }

    /// Bytes that all copies move together; 0 only if there are none.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts a copy in whose sides agree, and gives its shape; none where it is left out, for it has no elements, or the batch has an
    /// error already.
    #[track_caller]
    #[inline]
    pub(super) fn count(
        &mut self,
        api: &'static str,
        destination: &Operand<'a>,
        source: &Operand<'a>,
    ) -> Result<Option<Shape>> {
        let shape = Shape::of(api, destination, source)?;
        let bytes = shape.bytes();
        if bytes == 0 || self.error.is_some() {
            return Ok(None);
        }
        let Some(sum) = self.bytes.checked_add(bytes) else {
            let detail = Detail::Overflow { what: "the bytes of a batch", left: self.bytes, right: bytes };
            return Err(Error::refused(api, detail));
        };
        peer::ensure(destination.side(), source.side());
        self.sorted.take();
        note(&mut self.writes, destination.access(Mode::Write));
        note(&mut self.reads, source.source());
        self.bytes = sum;
        Ok(Some(shape))
    }

    /// Keeps the first error of the copies that were to be added.
    #[inline]
    pub(super) fn keep(&mut self, answer: Result<()>) {
        if let Err(error) = answer {
            self.error.get_or_insert(error);
        }
    }

    /// Puts all copies on a stream, by `call`. None is made where `clash` finds that one writes what another one reads or writes: borrows
    /// keep them away from each other, but two owners may stand for the same memory.
    ///
    /// # Safety
    /// `call` puts the copies that were counted in on the stream that it is given, and nothing else; at least one, if there is any. What
    /// they touch beside the memory of this crate's owners, they touch before it returns.
    #[inline]
    pub(super) unsafe fn enqueue(
        &self,
        api: &'static str,
        stream: StreamRef<'_>,
        place: &'static Location<'static>,
        clash: impl FnOnce() -> Option<Detail>,
        call: impl FnOnce(sys::cudaStream_t) -> Result<()>,
    ) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        if self.bytes == 0 {
            return Ok(());
        }
        let sorted = match self.sorted.get() {
            Some(sorted) => sorted,
            None => {
                if let Some(detail) = clash() {
                    return Err(Error::refused(api, detail).at(place));
                }
                self.sorted.get_or_init(|| self.sort())
            }
        };
        // SAFETY: the accesses are all that the copies touch of tracked memory, whose owners wait for them before they free; the rest is
        // the caller's duty.
        unsafe { stream.enqueue_sorted(sorted, place, call) }
            .map_err(|error| error.at(place).with_detail(Detail::Transfer { bytes: self.bytes }))
    }

    /// What the copies write and read, in order.
    #[cold]
    fn sort(&self) -> Sorted<'static> {
        let (writes, reads) = (self.writes.as_slice(), self.reads.as_slice());
        // As a rule there are two allocations, each of which is in order.
        let address = |accesses: &[Access<'_>]| accesses.first().map(Access::address);
        let in_order = address(writes) <= address(reads);
        let sorted = Sorted::of(if in_order { [writes, reads] } else { [reads, writes] }.concat());
        // SAFETY: only the lifetime becomes another one. The list is never given away and consists of what `writes` and `reads` hold, so
        // that all it refers to is borrowed for as long as this lives, and for as long as it was when the list was made.
        unsafe { std::mem::transmute::<Sorted<'_>, Sorted<'static>>(sorted) }
    }
}

/// Adds an access to a list, or to its last one where both are one.
#[inline]
fn note<'a>(accesses: &mut Vec<Access<'a>>, access: Option<Access<'a>>) {
    if let Some(access) = access
        && !accesses.last_mut().is_some_and(|last| last.take_in(&access))
    {
        accesses.push(access);
    }
}
