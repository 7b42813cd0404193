//! Many copies of rows and of layers of rows in one call.
//!
//! [`CopyBatch3d`] is to [`memcpy_2d_async`](crate::memcpy_2d_async) and [`memcpy_3d_async`](crate::memcpy_3d_async) what
//! [`CopyBatch`](super::CopyBatch) is to [`memcpy_async`](crate::memcpy_async): its operands are pitched memory, planes,
//! volumes, arrays and views of arrays, all of them in one batch if need be.
//!
//! The copies of a batch are not ordered among themselves, so none may write what another reads or writes: that is refused.
//! As a whole, a batch is one step of its stream. Copies without elements are left out; a batch of nothing is no call.
//!
//! # Where the runtime has no batches
//! On the legacy stream, while a stream is captured, and before CUDA 12.8 a batch becomes a loop of the calls that
//! `memcpy_2d_async` and `memcpy_3d_async` make, as a [`CopyBatch`](super::CopyBatch) does, for its reasons, and known as
//! there. Copies that an array and the memory of another device than the stream's take part in have such a call each, anywhere.
//!
//! Threads: a batch belongs to the thread that makes it. Nothing here blocks.
//!
//! C functions: `cudaMemcpy3DBatchAsync`, `cudaMemcpy3DWithAttributesAsync` (from CUDA 13.2 on).
#![expect(unsafe_code, reason = "enters what the runtime is to read and write in the books")]

mod alias;
mod call;
#[cfg(cudart_12_8)]
mod op;
#[cfg(cudart_13_2)]
mod single;

use std::panic::Location;

use bytemuck::{AnyBitPattern, NoUninit};

#[cfg(cudart_13_2)]
pub use single::{memcpy_2d_with_attributes_async, memcpy_3d_with_attributes_async};

use super::batch::CopyAttributes;
use super::batch::attributes::{Attributes, Order};
use super::copies::Copies;
#[cfg(cudart_12_8)]
use super::direction::ByHeading;
use super::operand::{AsyncDestination, AsyncSource, Dimensions, Operand, Planar, Volumetric};
#[cfg(cudart_12_8)]
use super::scratch::Scratch;
use super::shape::Shape;
use super::whole::Whole;
use crate::error::Result;
use crate::memory::{Pageable, Plane, Volume};
use crate::stream::AsStream;
#[cfg(any(doc, cudart_12_8))]
use crate::sys;

/// Copies of rows and of layers of rows, to be put on a stream in one call.
///
/// Stands for [`cudaMemcpy3DBatchAsync`](sys::cudaMemcpy3DBatchAsync). The batch borrows all that it copies for as long as it
/// lives; it can be put on streams as often as one likes. Its methods keep the first error for
/// [`enqueue`](Self::enqueue), so that they can be chained.
///
/// # Examples
/// Both sides of every copy have a pitch of their own:
/// ```
/// use cuda_safe::copy::CopyBatch3d;
/// use cuda_safe::memory::{PinnedBuffer, PitchedBuffer, PitchedVolume};
/// use cuda_safe::Stream;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let host = PinnedBuffer::from_slice(&[1, 2, 3, 4, 5, 6, 7, 8])?;
/// let mut plane = PitchedBuffer::<i32>::alloc(2, 4)?;
/// let mut volume = PitchedVolume::<i32>::alloc(2, 2, 2)?;
/// CopyBatch3d::new()
///     .copy_2d(&mut plane, &host.plane(2, 4)?)
///     .copy_3d(&mut volume, &host.volume(2, 2, 2)?)
///     .enqueue(&stream)?;
/// assert_eq!((plane.to_vec()?, volume.to_vec()?), ((1..9).collect(), (1..9).collect()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "a batch does nothing before `enqueue`"]
pub struct CopyBatch3d<'a> {
    entries: Vec<Entry<'a>>,
    /// The entries as C takes them, by the way that they go: in turns they take three times as long.
    #[cfg(cudart_12_8)]
    ops: ByHeading<Vec<sys::cudaMemcpy3DBatchOp>>,
    /// Whether an array takes part.
    #[cfg(cudart_12_8)]
    arrays: bool,
    /// Those of one call, in a list that C may write.
    #[cfg(cudart_12_8)]
    scratch: Scratch<sys::cudaMemcpy3DBatchOp>,
    whole: Whole<'a>,
}

/// One copy, checked.
#[derive(Debug)]
struct Entry<'a> {
    destination: Operand<'a>,
    source: Operand<'a>,
    shape: Shape,
    attributes: Attributes,
}

impl<'a> CopyBatch3d<'a> {
    /// A batch of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch of nothing with room for so many copies.
    pub fn with_capacity(copies: usize) -> Self {
        Self {
            entries: Vec::with_capacity(copies),
            #[cfg(cudart_12_8)]
            ops: ByHeading::default(),
            #[cfg(cudart_12_8)]
            arrays: false,
            #[cfg(cudart_12_8)]
            scratch: Scratch::default(),
            whole: Whole::with_capacity(copies),
        }
    }

    /// Adds the copy of all rows of `source` to `destination`, as [`memcpy_2d_async`](crate::memcpy_2d_async) would do it.
    ///
    /// Either side is pitched memory, a [`Plane`](crate::memory::Plane) of device, pinned or managed memory, or an array or a
    /// view of one layer of one, of any device.
    #[track_caller]
    pub fn copy_2d<D, S>(self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination<Planar> + ?Sized,
        S: AsyncSource<Planar, Element = D::Element> + ?Sized,
    {
        self.copy_2d_with(destination, source, CopyAttributes::new())
    }

    /// [`copy_2d`](Self::copy_2d) with wishes about how it is done, which change nothing about what it does.
    #[track_caller]
    pub fn copy_2d_with<D, S>(
        mut self,
        destination: &'a mut D,
        source: &'a S,
        attributes: CopyAttributes,
    ) -> Self
    where
        D: AsyncDestination<Planar> + ?Sized,
        S: AsyncSource<Planar, Element = D::Element> + ?Sized,
    {
        self.push(destination.operand_mut(), source.operand(), attributes, Order::Stream);
        self
    }

    /// Adds the copy of the rows of a slice, which are read before [`enqueue`](Self::enqueue) returns, whatever the stream
    /// has still to do before. The destination is written in the order of the stream.
    ///
    /// The source order `cudaMemcpySrcAccessOrderDuringApiCall`. Where there can be no such copy, and what the legacy stream
    /// does, [`CopyBatch::copy_during_call`](super::CopyBatch::copy_during_call) says.
    #[track_caller]
    pub fn copy_2d_during_call<D>(
        mut self,
        destination: &'a mut D,
        source: &Plane<'a, D::Element, Pageable>,
    ) -> Self
    where
        D: AsyncDestination<Planar, Element: AnyBitPattern + NoUninit> + ?Sized,
    {
        let source = Operand::of_grid::<_, Pageable>(source.grid(), Dimensions::Two);
        self.push(destination.operand_mut(), Ok(source), CopyAttributes::new(), Order::DuringCall);
        self
    }

    /// [`copy_2d`](Self::copy_2d), with a source that may be read at any time from the call on, before work that the stream
    /// was given earlier has run (`cudaMemcpySrcAccessOrderAny`). Some machines copy faster so.
    ///
    /// # Safety
    /// Nothing that was given to any stream before, and is not complete at the time of [`enqueue`](Self::enqueue), writes
    /// the source.
    #[track_caller]
    pub unsafe fn copy_2d_in_any_order<D, S>(mut self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination<Planar> + ?Sized,
        S: AsyncSource<Planar, Element = D::Element> + ?Sized,
    {
        self.push(destination.operand_mut(), source.operand(), CopyAttributes::new(), Order::Any);
        self
    }

    /// Adds the copy of all layers of `source` to `destination`, as [`memcpy_3d_async`](crate::memcpy_3d_async) would do it.
    ///
    /// Either side is a pitched volume, a [`Volume`](crate::memory::Volume) of device, pinned or managed memory, or an array or
    /// a view of one, of any device.
    #[track_caller]
    pub fn copy_3d<D, S>(self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination<Volumetric> + ?Sized,
        S: AsyncSource<Volumetric, Element = D::Element> + ?Sized,
    {
        self.copy_3d_with(destination, source, CopyAttributes::new())
    }

    /// [`copy_3d`](Self::copy_3d) with wishes about how it is done, which change nothing about what it does.
    #[track_caller]
    pub fn copy_3d_with<D, S>(
        mut self,
        destination: &'a mut D,
        source: &'a S,
        attributes: CopyAttributes,
    ) -> Self
    where
        D: AsyncDestination<Volumetric> + ?Sized,
        S: AsyncSource<Volumetric, Element = D::Element> + ?Sized,
    {
        self.push(destination.operand_mut(), source.operand(), attributes, Order::Stream);
        self
    }

    /// [`copy_2d_during_call`](Self::copy_2d_during_call) of the layers of a slice.
    #[track_caller]
    pub fn copy_3d_during_call<D>(
        mut self,
        destination: &'a mut D,
        source: &Volume<'a, D::Element, Pageable>,
    ) -> Self
    where
        D: AsyncDestination<Volumetric, Element: AnyBitPattern + NoUninit> + ?Sized,
    {
        let source = Operand::of_grid::<_, Pageable>(source.grid(), Dimensions::Three);
        self.push(destination.operand_mut(), Ok(source), CopyAttributes::new(), Order::DuringCall);
        self
    }

    /// [`copy_3d`](Self::copy_3d), with a source that may be read at any time from the call on, as by
    /// [`copy_2d_in_any_order`](Self::copy_2d_in_any_order).
    ///
    /// # Safety
    /// That of `copy_2d_in_any_order`.
    #[track_caller]
    pub unsafe fn copy_3d_in_any_order<D, S>(mut self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination<Volumetric> + ?Sized,
        S: AsyncSource<Volumetric, Element = D::Element> + ?Sized,
    {
        self.push(destination.operand_mut(), source.operand(), CopyAttributes::new(), Order::Any);
        self
    }

    /// How many copies there are; those without elements do not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing to copy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
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
    /// The first error of the copies that were added: an extent that differs, memory that overlaps with itself. A refusal where
    /// a copy writes what another one reads or writes (of rows with different pitches, what lies between them counts as
    /// theirs); inside a host function; for a copy [during the call](Self::copy_2d_during_call) where there can be none.
    /// Otherwise what the runtime says, which may be the failure of earlier work. From a refusal no copy was made; where the
    /// runtime fails, it may have taken the first of the copies.
    #[doc(alias = "cudaMemcpy3DBatchAsync")]
    #[track_caller]
    pub fn enqueue(&self, stream: &impl AsStream) -> Result<()> {
        let (stream, place) = (stream.as_stream(), Location::caller());
        let (clash, call) = (|| alias::find(&self.entries), |raw| self.call(stream, raw));
        // SAFETY: the copies are those that were counted in, and slices are read before the call returns.
        unsafe { self.whole.enqueue(Self::API, stream, place, clash, call) }
    }

    /// Adds a copy whose extents agree and that has elements; keeps the first error.
    #[track_caller]
    fn push(
        &mut self,
        destination: Result<Operand<'a>>,
        source: Result<Operand<'a>>,
        attributes: CopyAttributes,
        order: Order,
    ) {
        let answer = self.try_push(destination, source, attributes, order);
        self.whole.keep(answer);
    }

    #[track_caller]
    fn try_push(
        &mut self,
        destination: Result<Operand<'a>>,
        source: Result<Operand<'a>>,
        attributes: CopyAttributes,
        order: Order,
    ) -> Result<()> {
        let (destination, source) = (destination?, source?);
        let Some(shape) = self.whole.count("CopyBatch3d", &destination, &source)? else { return Ok(()) };
        let attributes = attributes.of_copy(shape.bytes(), order);
        let entry = Entry { destination, source, shape, attributes };
        #[cfg(cudart_12_8)]
        {
            self.arrays |= entry.destination.array().is_some() || entry.source.array().is_some();
            op::add(self.ops.of(entry.direction().heading()), &entry);
        }
        self.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Detail;
    use crate::memory::PlaneMut;
    use crate::stream::Stream;

    #[test]
    fn two_owners_of_the_same_bytes_are_refused_though_the_copies_before_were_apart() {
        // The legacy stream copies slices at once, on every machine.
        let stream = Stream::legacy().unwrap();
        let (mut to, from) = ([0_u8; 8], [1_u8; 8]);
        // A second operand of the same rows, as if there were two owners.
        let again = PlaneMut::of_slice(&mut to, 4, 2).unwrap();
        let grids = [again.grid(), again.grid()];
        let source = Plane::of_slice(&from, 4, 2).unwrap();
        let mut batch = CopyBatch3d::new();
        for grid in grids {
            assert!(alias::find(&batch.entries).is_none());
            batch.enqueue(&stream).unwrap();
            let destination = Operand::of_grid::<u8, Pageable>(grid, Dimensions::Two);
            let source = Operand::of_grid::<u8, Pageable>(source.grid(), Dimensions::Two);
            batch.push(Ok(destination), Ok(source), CopyAttributes::new(), Order::DuringCall);
        }
        let error = batch.enqueue(&stream).unwrap_err();
        assert!(matches!(error.detail(), Detail::Overlapping { bytes: 8, .. }), "{error}");
    }
}
