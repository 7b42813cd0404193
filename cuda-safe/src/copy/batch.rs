//! Many copies at once.
//!
//! [`CopyBatch`] hands any number of copies to the runtime in few calls, which costs a quarter of a loop (64 copies of 4 KiB on an
//! H200): what goes up, what goes down and the rest each in calls of their own, of at most 32 copies up and down, for the driver takes
//! longer for the same copies in one call. Between places of one device a batch saves nothing, for the runtime pays for each
//! copy there: `cuda_kernels::copy_many` moves those by one kernel.
//!
//! The copies of a batch are not ordered among themselves, so none may write what another reads or writes: that is refused.
//! As a whole, a batch is one step of its stream. Copies without elements are left out; a batch of nothing is no call.
//!
//! # Where the runtime has no batches
//! It refuses them on the legacy stream; while a stream is captured it refuses them too, and a program that does not look
//! gets a graph from which the copies are missing; before CUDA 12.8 it has none. There a batch becomes a loop of
//! `cudaMemcpyAsync`, which is as right and takes longer. Which way to go is known before the first copy is handed over; of a capture
//! that raw calls began, the refusal tells, from which no copy was made.
//! What no loop can do is refused: see [`copy_during_call`](CopyBatch::copy_during_call).
//!
//! Threads: a batch belongs to the thread that makes it. Nothing here blocks.
//!
//! C functions: `cudaMemcpyBatchAsync`, `cudaMemcpyWithAttributesAsync` (from CUDA 13.2 on).
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

mod alias;
pub(super) mod attributes;
mod call;
mod lane;
#[cfg(cudart_13_2)]
mod single;

use std::panic::Location;

use bytemuck::NoUninit;

pub use attributes::{CopyAttributes, Overlap};
#[cfg(cudart_13_2)]
pub use single::memcpy_with_attributes_async;

use super::copies::Copies;
use super::direction::{ByHeading, Direction};
use super::operand::{AsyncDestination, AsyncSource, Operand};
use super::transfer::must_settle;
use super::whole::Whole;
use crate::error::{Detail, Result};
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;
use attributes::Order;
use lane::Lane;
#[cfg(cudart_12_8)]
use lane::Lists;

/// Copies to be put on a stream at once.
///
/// Stands for [`cudaMemcpyBatchAsync`](sys::cudaMemcpyBatchAsync). The batch borrows all that it copies for as long as it
/// lives; it can be put on streams as often as one likes. Its methods keep the first error for
/// [`enqueue`](Self::enqueue), so that they can be chained.
///
/// # Examples
/// ```
/// use cuda_safe::copy::CopyBatch;
/// use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let (a, b) = (PinnedBuffer::from_slice(&[1, 2])?, PinnedBuffer::from_slice(&[0.5])?);
/// let (mut on_a, mut on_b) = (DeviceBuffer::<i32>::alloc(2)?, DeviceBuffer::<f64>::alloc(1)?);
/// CopyBatch::new().copy(&mut on_a, &a).copy(&mut on_b, &b).enqueue(&stream)?;
/// assert_eq!((on_a.to_vec()?, on_b.to_vec()?), (vec![1, 2], vec![0.5]));
/// # Ok(())
/// # }
/// ```
///
/// Parts of one buffer, in a loop:
/// ```
/// # use cuda_safe::copy::CopyBatch;
/// # use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream};
/// # fn main() -> cuda_safe::Result<()> {
/// # let stream = Stream::new()?;
/// # let hosts = [PinnedBuffer::from_slice(&[1_u8; 4])?, PinnedBuffer::from_slice(&[2_u8; 4])?];
/// let mut device = DeviceBuffer::<u8>::alloc(8)?;
/// let mut parts: Vec<_> = device.slice_mut(..)?.chunks_mut(4)?.collect();
/// let batch: CopyBatch = parts.iter_mut().zip(&hosts).collect();
/// batch.enqueue(&stream)?;
/// # assert_eq!(device.to_vec()?, [1, 1, 1, 1, 2, 2, 2, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "a batch does nothing before `enqueue`"]
pub struct CopyBatch<'a> {
    /// The copies, by the way that they go.
    lanes: ByHeading<Lane>,
    /// How many copies the program said that there will be.
    capacity: usize,
    /// Of a slice that is read during the call, the runtime does not promise that a blocking copy has read it on return, or
    /// that it writes the destination in the order of the stream.
    settles: bool,
    #[cfg(cudart_12_8)]
    lists: Lists,
    whole: Whole<'a>,
}

impl<'a> CopyBatch<'a> {
    /// A batch of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch of nothing with room for so many copies.
    pub fn with_capacity(copies: usize) -> Self {
        Self { capacity: copies, whole: Whole::with_capacity(copies), ..Self::default() }
    }

    /// Adds the copy of all elements of `source` to `destination`, as [`memcpy_async`](crate::memcpy_async) would do it.
    ///
    /// Either side is device memory (of any device), pinned memory, or a part of these; all directions can be in one batch.
    #[track_caller]
    pub fn copy<D, S>(self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination + ?Sized,
        S: AsyncSource<Element = D::Element> + ?Sized,
    {
        self.copy_with(destination, source, CopyAttributes::default())
    }

    /// [`copy`](Self::copy) with wishes about how it is done, which change nothing about what it does.
    #[track_caller]
    pub fn copy_with<D, S>(
        mut self,
        destination: &'a mut D,
        source: &'a S,
        attributes: CopyAttributes,
    ) -> Self
    where
        D: AsyncDestination + ?Sized,
        S: AsyncSource<Element = D::Element> + ?Sized,
    {
        self.push(destination.operand_mut(), source.operand(), attributes, Order::Stream);
        self
    }

    /// Adds the copy of a slice, which is read before [`enqueue`](Self::enqueue) returns, whatever the stream has still to
    /// do before. The destination is written in the order of the stream.
    ///
    /// The source order `cudaMemcpySrcAccessOrderDuringApiCall`: for values that the program has at hand and does not want
    /// to keep. Pinned memory lends itself as a slice through its guard.
    ///
    /// On the legacy stream the slice is copied by `cudaMemcpy`. In a capture, and on other streams before CUDA 12.8, a
    /// batch with such a copy is refused: a graph would have to read the slice later, and the runtime promises nothing
    /// about asynchronous copies of pageable memory.
    #[track_caller]
    pub fn copy_during_call<D>(mut self, destination: &'a mut D, source: &'a [D::Element]) -> Self
    where
        D: AsyncDestination<Element: NoUninit> + ?Sized,
    {
        let source = Ok(Operand::of_slice(source));
        self.push(destination.operand_mut(), source, CopyAttributes::default(), Order::DuringCall);
        self
    }

    /// [`copy`](Self::copy), with a source that may be read at any time from the call on, before work that the stream was
    /// given earlier has run (`cudaMemcpySrcAccessOrderAny`). Some machines copy faster so.
    ///
    /// # Safety
    /// Nothing that was given to any stream before, and is not complete at the time of [`enqueue`](Self::enqueue), writes
    /// the source.
    #[track_caller]
    pub unsafe fn copy_in_any_order<D, S>(mut self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination + ?Sized,
        S: AsyncSource<Element = D::Element> + ?Sized,
    {
        self.push(destination.operand_mut(), source.operand(), CopyAttributes::default(), Order::Any);
        self
    }

    /// How many copies there are; those without elements do not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|(_, lane)| lane.len()).sum()
    }

    /// Whether there is nothing to copy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that all copies move together.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.whole.bytes()
    }

    /// Puts all copies on a stream, and returns.
    ///
    /// # Ordering
    /// One step of the stream, after conflicting work that other streams were given before. The copies are not ordered
    /// among themselves.
    ///
    /// # Errors
    /// The first error of the copies that were added: a length that differs, memory that overlaps with itself. A refusal where
    /// a copy writes what another one reads or writes; inside a host function; for a copy
    /// [during the call](Self::copy_during_call) where there can be none. Otherwise what the runtime says, which may be the
    /// failure of earlier work. From a refusal no copy was made; where the runtime fails a batch that takes more than one call (more than 8 copies, or
    /// of several directions) or that became a loop, it may have taken the first of them.
    #[doc(alias = "cudaMemcpyBatchAsync")]
    #[track_caller]
    pub fn enqueue(&self, stream: &impl AsStream) -> Result<()> {
        let (stream, place) = (stream.as_stream(), Location::caller());
        let call = |raw| self.call(stream, raw);
        // SAFETY: the copies are those that were counted in, and slices are read before the call returns.
        unsafe { self.whole.enqueue(Self::API, stream, place, || self.clash(), call) }
    }

    /// Adds a copy whose lengths agree and that has elements; keeps the first error.
    #[track_caller]
    fn push(
        &mut self,
        destination: Result<Operand<'a>>,
        source: Result<Operand<'a>>,
        attributes: CopyAttributes,
        order: Order,
    ) {
        let answer = self.try_push(&destination, &source, attributes, order);
        self.whole.keep(answer);
    }

    #[track_caller]
    fn try_push(
        &mut self,
        destination: &Result<Operand<'a>>,
        source: &Result<Operand<'a>>,
        attributes: CopyAttributes,
        order: Order,
    ) -> Result<()> {
        let (destination, source) = match (destination, source) {
            (Ok(destination), Ok(source)) => (destination, source),
            (Err(error), _) | (_, Err(error)) => return Err(error.clone()),
        };
        let Some(shape) = self.whole.count("CopyBatch", destination, source)? else { return Ok(()) };
        let direction = Direction::of(destination.side(), source.side());
        // Within the host's memory the host copies, and nothing says that it waits for the stream first.
        let by_the_host = direction == Direction::HostToHost;
        self.settles |= order == Order::DuringCall && (by_the_host || must_settle(destination, source));
        let attributes = attributes.of_copy(shape.bytes(), order);
        let room = if self.is_empty() { self.capacity } else { 0 };
        self.lanes.of(direction.heading()).push(room, destination, source, shape.bytes(), attributes);
        Ok(())
    }

    /// A byte that one copy writes and another one reads or writes, if there is one.
    fn clash(&self) -> Option<Detail> {
        let range = |address: usize, bytes: usize| address..address.saturating_add(bytes);
        let copies = || self.lanes.iter().flat_map(|(_, lane)| lane.copies());
        let destinations = copies().map(|copy| range(copy.destination.addr(), copy.bytes));
        let sources = copies().map(|copy| range(copy.source.addr(), copy.bytes));
        alias::find(destinations, sources)
    }
}

impl<'a, D, S> Extend<(&'a mut D, &'a S)> for CopyBatch<'a>
where
    D: AsyncDestination + ?Sized,
    S: AsyncSource<Element = D::Element> + ?Sized,
{
    fn extend<I: IntoIterator<Item = (&'a mut D, &'a S)>>(&mut self, pairs: I) {
        for (destination, source) in pairs {
            self.push(destination.operand_mut(), source.operand(), CopyAttributes::default(), Order::Stream);
        }
    }
}

impl<'a, D, S> FromIterator<(&'a mut D, &'a S)> for CopyBatch<'a>
where
    D: AsyncDestination + ?Sized,
    S: AsyncSource<Element = D::Element> + ?Sized,
{
    fn from_iter<I: IntoIterator<Item = (&'a mut D, &'a S)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let mut batch = Self::with_capacity(pairs.size_hint().0);
        batch.extend(pairs);
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    /// Adds a copy to bytes of which the borrow is over, as if two owners stood for one memory.
    fn add<'a>(batch: &mut CopyBatch<'a>, to: *mut u8, from: &'a [u8]) {
        // SAFETY: the tests keep the memory, which is as long as all that they write.
        let to = unsafe { std::slice::from_raw_parts_mut(to, from.len()) };
        let (to, from) = (Operand::of_slice_mut(to), Operand::of_slice(from));
        batch.push(Ok(to), Ok(from), CopyAttributes::default(), Order::DuringCall);
    }

    #[test]
    fn two_owners_of_the_same_bytes_are_refused_before_any_call() {
        let stream = Stream::non_blocking().unwrap();
        let mut bytes = [0_u8; 16];
        let mut batch = CopyBatch::new();
        for (at, source) in [(0, &[1; 8]), (7, &[2; 8])] {
            add(&mut batch, bytes.as_mut_ptr().wrapping_add(at), source);
        }
        let line = line!() + 1;
        let error = batch.enqueue(&stream).unwrap_err();
        assert!(matches!(error.detail(), Detail::Overlapping { bytes: 1, .. }), "{error}");
        assert_eq!((error.api(), error.place().line()), ("CopyBatch::enqueue", line));
        assert_eq!(bytes, [0; 16]);
    }

    #[test]
    fn a_copy_that_is_added_after_an_enqueue_is_looked_at_too() {
        // The legacy stream copies slices at once, on every machine.
        let stream = Stream::legacy().unwrap();
        let mut bytes = [0_u8; 16];
        let start = bytes.as_mut_ptr();
        let mut batch = CopyBatch::new();
        add(&mut batch, start, &[1; 8]);
        batch.enqueue(&stream).unwrap();
        add(&mut batch, start.wrapping_add(8), &[2; 8]);
        batch.enqueue(&stream).unwrap();
        assert_eq!(bytes, [[1; 8], [2; 8]].as_flattened());
        add(&mut batch, start.wrapping_add(12), &[3; 4]);
        let error = batch.enqueue(&stream).unwrap_err();
        assert!(matches!(error.detail(), Detail::Overlapping { bytes: 4, .. }), "{error}");
        assert_eq!(bytes, [[1; 8], [2; 8]].as_flattened());
    }

    #[test]
    fn a_batch_can_be_used_as_one_that_borrows_for_less_long() {
        // Compiles only as long as the lifetime of a batch can be shortened.
        fn with_one_more<'a>(batch: CopyBatch<'static>, to: &'a mut [u8], from: &'a [u8]) -> CopyBatch<'a> {
            let mut batch: CopyBatch<'a> = batch;
            let (to, from) = (Operand::of_slice_mut(to), Operand::of_slice(from));
            batch.push(Ok(to), Ok(from), CopyAttributes::default(), Order::DuringCall);
            batch
        }
        let (mut to, from) = ([0_u8; 8], [1_u8; 8]);
        assert_eq!(with_one_more(CopyBatch::new(), &mut to, &from).len(), 1);
    }
}
