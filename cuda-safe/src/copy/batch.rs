//! Many copies at once: [`CopyBatch`] of contiguous elements, [`CopyBatch3d`] of rows and of layers of
//! rows.
//!
//! [`CopyBatch`] passes any number of copies to the runtime in few calls, which costs a quarter of a
//! loop (64 copies of 4 KiB on an H200). Host-to-device copies, device-to-host copies and the rest have
//! separate calls, with at most 32 host-to-device or device-to-host copies per call, because the driver
//! takes longer for the same copies in one call. Within one device a batch saves nothing, because the
//! runtime's cost there is per copy: `cuda_kernels::copy_many` makes those copies by one kernel.
//!
//! The copies of a batch are not ordered among themselves, so a copy that writes what another one reads
//! or writes is refused. As a whole, a batch is one operation of its stream. Zero-length copies are left
//! out. An empty batch is a no-op.
//!
//! # Streams that take no batches
//! The runtime refuses batches on the legacy stream, and before CUDA 12.8 it has none. It also refuses
//! them while a stream is captured, and a program that ignores the error gets a graph without the
//! copies. In these cases a batch becomes a loop of `cudaMemcpyAsync`, which has the same effect and
//! takes longer. The choice is made before the first copy is submitted. If raw calls have begun a
//! capture, the refusal reveals it, and no copy was made. Copies that a loop cannot make are refused:
//! see [`copy_during_call`](CopyBatch::copy_during_call).
//!
//! [`CopyBatch3d`] relates to [`memcpy_2d_async`](crate::memcpy_2d_async) and
//! [`memcpy_3d_async`](crate::memcpy_3d_async) as [`CopyBatch`] does to
//! [`memcpy_async`](crate::memcpy_async). Its operands are pitched memory, planes, volumes, arrays and
//! views of arrays, in any mixture.
//!
//! On streams that take no batches, it becomes a loop of the calls that `memcpy_2d_async` and
//! `memcpy_3d_async` make. A copy between an array and memory of another device than the stream's is
//! always a call of its own.
//!
//! Threads: a batch belongs to the thread that makes it. Nothing here blocks.
#![expect(unsafe_code, reason = "declares copies whose source may be read early, which is unsafe")]

mod attributes;
mod copies;
mod linear;
mod rows;
#[cfg(cudart_13_2)]
mod single;

use std::panic::Location;

use bytemuck::{AnyBitPattern, NoUninit};

pub use attributes::{CopyAttributes, Overlap};
use linear::LinearLists;
use rows::RowLists;
#[cfg(cudart_13_2)]
pub use single::{
    memcpy_2d_with_attributes_async, memcpy_3d_with_attributes_async, memcpy_with_attributes_async,
};

use self::copies::{Batch, Lists as _};
use super::operand::{AsyncDestination, AsyncSource, Dimensions, Operand, Planar, Volumetric};
use crate::error::Result;
use crate::memory::{Pageable, Plane, Volume};
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// What both batches have in common.
macro_rules! batch_methods {
    ($batch:ident) => {
        impl $batch<'_> {
            /// Makes an empty batch.
            pub fn new() -> Self {
                Self::default()
            }

            /// Makes an empty batch with capacity for `copies` copies.
            pub fn with_capacity(copies: usize) -> Self {
                Self { batch: Batch::with_capacity(copies) }
            }

            /// Sets how the copies are made that are added from now on. Without a call, they have no hints.
            pub fn with(mut self, attributes: CopyAttributes) -> Self {
                self.batch.attributes = attributes;
                self
            }

            /// Returns the number of copies, without zero-length ones.
            #[must_use]
            pub fn len(&self) -> usize {
                self.batch.lists.len()
            }

            /// Returns whether there is nothing to copy.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the total number of bytes of all copies.
            #[must_use]
            pub fn size_in_bytes(&self) -> usize {
                self.batch.bytes()
            }
        }
    };
}

batch_methods!(CopyBatch);
batch_methods!(CopyBatch3d);

/// Copies of contiguous elements, submitted together.
///
/// Stands for [`cudaMemcpyBatchAsync`](sys::cudaMemcpyBatchAsync). The batch borrows its operands as
/// long as it lives, and can be submitted any number of times. Its methods store the first error for
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
    batch: Batch<'a, LinearLists>,
}

impl<'a> CopyBatch<'a> {
    /// Adds the copy of all elements of `source` to `destination`, as
    /// [`memcpy_async`](crate::memcpy_async) makes it.
    ///
    /// Each side is device memory of any device, pinned memory, or a part of these. One batch may
    /// contain all directions.
    #[track_caller]
    pub fn copy<D, S>(mut self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination + ?Sized,
        S: AsyncSource<Element = D::Element> + ?Sized,
    {
        self.batch.push(destination.operand_mut(), source.operand());
        self
    }

    /// Adds the copy of a slice, which is read before [`enqueue`](Self::enqueue) returns, regardless of
    /// pending work of the stream. The destination is written in the order of the stream.
    ///
    /// The source order is `cudaMemcpySrcAccessOrderDuringApiCall`. Use it for values that the program
    /// does not want to keep alive. Pinned memory lends itself as a slice through its guard.
    ///
    /// On the legacy stream the slice is copied by `cudaMemcpy`. In a capture, and on other streams
    /// before CUDA 12.8, a batch with such a copy is refused: a graph would have to read the slice
    /// later, and the runtime promises nothing about asynchronous copies of pageable memory.
    #[track_caller]
    pub fn copy_during_call<D>(mut self, destination: &'a mut D, source: &'a [D::Element]) -> Self
    where
        D: AsyncDestination<Element: NoUninit> + ?Sized,
    {
        self.batch.push_during_call(destination.operand_mut(), Operand::from_slice(source));
        self
    }

    /// Submits all copies to a stream, and returns.
    ///
    /// # Ordering
    /// The batch is one operation of the stream. It runs after conflicting work that was submitted to
    /// other streams before. Its copies are not ordered among themselves.
    ///
    /// # Errors
    /// - The first error of the added copies: different lengths, or sides that overlap.
    /// - A refusal if a copy writes what another one reads or writes.
    /// - Refused inside a host function.
    /// - A refusal of a copy [during the call](Self::copy_during_call) if it is not possible.
    /// - The runtime's error, which may be the failure of earlier work.
    ///
    /// After a refusal, no copy was made. If the runtime fails a batch that takes several calls (more
    /// than 8 copies, or several directions) or that became a loop, it may have accepted the first
    /// copies.
    #[doc(alias = "cudaMemcpyBatchAsync")]
    #[track_caller]
    pub fn enqueue(&self, stream: &impl AsStream) -> Result<()> {
        self.batch.enqueue(stream.as_stream(), Location::caller())
    }
}

impl<'a, D, S> Extend<(&'a mut D, &'a S)> for CopyBatch<'a>
where
    D: AsyncDestination + ?Sized,
    S: AsyncSource<Element = D::Element> + ?Sized,
{
    fn extend<I: IntoIterator<Item = (&'a mut D, &'a S)>>(&mut self, pairs: I) {
        for (destination, source) in pairs {
            self.batch.push(destination.operand_mut(), source.operand());
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

/// Copies of rows and of layers of rows, submitted together.
///
/// Stands for [`cudaMemcpy3DBatchAsync`](sys::cudaMemcpy3DBatchAsync). The batch borrows its operands as
/// long as it lives, and can be submitted any number of times. Its methods store the first error for
/// [`enqueue`](Self::enqueue), so that they can be chained.
///
/// # Examples
/// Both sides of every copy have their own pitch:
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
    batch: Batch<'a, RowLists<'a>>,
}

impl<'a> CopyBatch3d<'a> {
    /// Adds the copy of all rows of `source` to `destination`, as
    /// [`memcpy_2d_async`](crate::memcpy_2d_async) makes it.
    ///
    /// Each side is pitched memory, a [`Plane`](crate::memory::Plane) of device, pinned or managed
    /// memory, an array, or a view of one layer of an array, of any device.
    #[track_caller]
    pub fn copy_2d<D, S>(mut self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination<Planar> + ?Sized,
        S: AsyncSource<Planar, Element = D::Element> + ?Sized,
    {
        self.batch.push(destination.operand_mut(), source.operand());
        self
    }

    /// Adds the copy of the rows of a slice, which are read before [`enqueue`](Self::enqueue) returns,
    /// regardless of pending work of the stream. The destination is written in the order of the stream.
    ///
    /// The source order is `cudaMemcpySrcAccessOrderDuringApiCall`.
    /// [`CopyBatch::copy_during_call`](CopyBatch::copy_during_call) says when such a copy is not
    /// possible, and what the legacy stream does.
    #[track_caller]
    pub fn copy_2d_during_call<D>(
        mut self,
        destination: &'a mut D,
        source: &Plane<'a, D::Element, Pageable>,
    ) -> Self
    where
        D: AsyncDestination<Planar, Element: AnyBitPattern + NoUninit> + ?Sized,
    {
        let source = Operand::from_grid::<_, Pageable>(source.grid(), Dimensions::Two);
        self.batch.push_during_call(destination.operand_mut(), source);
        self
    }

    /// Adds the copy of all layers of `source` to `destination`, as
    /// [`memcpy_3d_async`](crate::memcpy_3d_async) makes it.
    ///
    /// Each side is a pitched volume, a [`Volume`](crate::memory::Volume) of device, pinned or managed
    /// memory, an array, or a view of one, of any device.
    #[track_caller]
    pub fn copy_3d<D, S>(mut self, destination: &'a mut D, source: &'a S) -> Self
    where
        D: AsyncDestination<Volumetric> + ?Sized,
        S: AsyncSource<Volumetric, Element = D::Element> + ?Sized,
    {
        self.batch.push(destination.operand_mut(), source.operand());
        self
    }

    /// [`copy_2d_during_call`](Self::copy_2d_during_call) for the layers of a slice.
    #[track_caller]
    pub fn copy_3d_during_call<D>(
        mut self,
        destination: &'a mut D,
        source: &Volume<'a, D::Element, Pageable>,
    ) -> Self
    where
        D: AsyncDestination<Volumetric, Element: AnyBitPattern + NoUninit> + ?Sized,
    {
        let source = Operand::from_grid::<_, Pageable>(source.grid(), Dimensions::Three);
        self.batch.push_during_call(destination.operand_mut(), source);
        self
    }

    /// Submits all copies to a stream, and returns.
    ///
    /// # Ordering
    /// The batch is one operation of the stream. It runs after conflicting work that was submitted to
    /// other streams before. Its copies are not ordered among themselves.
    ///
    /// # Errors
    /// - The first error of the added copies: different extents, or sides that overlap.
    /// - A refusal if a copy writes what another one reads or writes. For rows with different pitches,
    ///   bytes between the rows count too.
    /// - Refused inside a host function.
    /// - A refusal of a copy [during the call](Self::copy_2d_during_call) if it is not possible.
    /// - The runtime's error, which may be the failure of earlier work.
    ///
    /// After a refusal, no copy was made. After an error of the runtime, it may have accepted the first
    /// copies.
    #[doc(alias = "cudaMemcpy3DBatchAsync")]
    #[track_caller]
    pub fn enqueue(&self, stream: &impl AsStream) -> Result<()> {
        self.batch.enqueue(stream.as_stream(), Location::caller())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::PlaneMut;
    use crate::stream::Stream;

    /// Adds a copy to bytes whose borrow has ended, as if two owners had the same memory.
    fn add<'a>(batch: &mut CopyBatch<'a>, to: *mut u8, from: &'a [u8]) {
        // SAFETY: the tests keep the memory alive, and it is as long as everything that they write.
        let to = unsafe { std::slice::from_raw_parts_mut(to, from.len()) };
        let (to, from) = (Operand::from_slice_mut(to), Operand::from_slice(from));
        batch.batch.push_during_call(Ok(to), from);
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
        assert!(error.detail().as_str().contains(" overlap: 1 bytes from byte "), "{error}");
        assert_eq!((error.api(), error.call_site().line()), ("CopyBatch::enqueue", line));
        assert_eq!(bytes, [0; 16]);
    }

    #[test]
    fn a_copy_that_is_added_after_an_enqueue_is_looked_at_too() {
        // The legacy stream copies slices at once on every machine.
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
        assert!(error.detail().as_str().contains(" overlap: 4 bytes from byte "), "{error}");
        assert_eq!(bytes, [[1; 8], [2; 8]].as_flattened());
    }

    #[test]
    fn a_batch_can_be_used_as_one_that_borrows_for_less_long() {
        // Compiles only while the lifetime of a batch can be shortened.
        fn with_one_more<'a>(batch: CopyBatch<'static>, to: &'a mut [u8], from: &'a [u8]) -> CopyBatch<'a> {
            let mut batch: CopyBatch<'a> = batch;
            let (to, from) = (Operand::from_slice_mut(to), Operand::from_slice(from));
            batch.batch.push_during_call(Ok(to), from);
            batch
        }
        let (mut to, from) = ([0_u8; 8], [1_u8; 8]);
        assert_eq!(with_one_more(CopyBatch::new(), &mut to, &from).len(), 1);
    }

    #[test]
    fn two_owners_of_the_same_rows_are_refused_though_the_copies_before_were_apart() {
        // The legacy stream copies slices at once on every machine.
        let stream = Stream::legacy().unwrap();
        let (mut to, from) = ([0_u8; 8], [1_u8; 8]);
        // A second operand of the same rows, as if there were two owners.
        let again = PlaneMut::from_slice(&mut to, 4, 2).unwrap();
        let grids = [again.grid(), again.grid()];
        let source = Plane::from_slice(&from, 4, 2).unwrap();
        let mut batch = CopyBatch3d::new();
        for grid in grids {
            batch.enqueue(&stream).unwrap();
            let destination = Operand::from_grid::<u8, Pageable>(grid, Dimensions::Two);
            let source = Operand::from_grid::<u8, Pageable>(source.grid(), Dimensions::Two);
            batch.batch.push_during_call(Ok(destination), source);
        }
        let error = batch.enqueue(&stream).unwrap_err();
        assert!(error.detail().as_str().contains(" overlap: 8 bytes from byte "), "{error}");
    }
}
