//! Copies and fills of rows.

use super::fill::set;
use super::operand::{
    AsyncDestination, AsyncSource, Destination, Dimensions, FillDestination, Planar, Source,
};
use super::plain;
use super::transfer::{How, enqueue_anew, transfer};
use crate::error::Result;
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// Copies the rows of `source` to those of `destination`, on the legacy stream of the device concerned.
///
/// Stands for [`cudaMemcpy2D`](sys::cudaMemcpy2D) in all four directions, and, between the memories of two devices, for
/// [`cudaMemcpy3DPeer`](sys::cudaMemcpy3DPeer) of one layer. Either side may be pitched memory, or a
/// [`Plane`](crate::memory::Plane) of anything; pitches may differ. Either side may be an [`Array`](crate::memory::Array) or a
/// view of one layer of one: then [`cudaMemcpy2DToArray`](sys::cudaMemcpy2DToArray),
/// [`cudaMemcpy2DFromArray`](sys::cudaMemcpy2DFromArray) or [`cudaMemcpy2DArrayToArray`](sys::cudaMemcpy2DArrayToArray).
/// No elements, no call.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy).
///
/// # Errors
/// A refusal, with both extents, where widths or heights differ; where the sides share a byte, or, with different pitches, lie
/// in each other; and inside a host function. Otherwise what the runtime says, which may be the failure of earlier work.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PitchedBuffer, Plane, PlaneMut};
/// use cuda_safe::memcpy_2d;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers: Vec<i32> = (0..12).collect();
/// let mut device = PitchedBuffer::<i32>::alloc(4, 3)?;
/// memcpy_2d(&mut device, &Plane::of_slice(&numbers, 4, 3)?)?;
///
/// let mut middle = [0; 2]; // the last two rows of the third column
/// memcpy_2d(&mut PlaneMut::of_slice(&mut middle, 1, 2)?, &device.plane().columns(2..3)?.rows(1..)?)?;
/// assert_eq!(middle, [6, 10]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemcpy2D")]
#[doc(alias = "cudaMemcpy2DToArray")]
#[doc(alias = "cudaMemcpy2DFromArray")]
#[doc(alias = "cudaMemcpy2DArrayToArray")]
#[doc(alias = "cudaMemcpy3DPeer")]
#[track_caller]
pub fn memcpy_2d<D, S>(destination: &mut D, source: &S) -> Result<()>
where
    D: Destination<Planar> + ?Sized,
    S: Source<Planar, Element = D::Element> + ?Sized,
{
    transfer("memcpy_2d", How::Blocking, &destination.operand_mut()?, &source.operand()?)
}

/// Gives a stream the copy of the rows of `source` to those of `destination`, and returns.
///
/// Stands for [`cudaMemcpy2DAsync`](sys::cudaMemcpy2DAsync), and, between the memories of two devices, for
/// [`cudaMemcpy3DPeerAsync`](sys::cudaMemcpy3DPeerAsync) of one layer. Either side may be pitched memory, or a
/// [`Plane`](crate::memory::Plane) of device or pinned memory, or an array or a view of one layer of one: then
/// [`cudaMemcpy2DToArrayAsync`](sys::cudaMemcpy2DToArrayAsync) or
/// [`cudaMemcpy2DFromArrayAsync`](sys::cudaMemcpy2DFromArrayAsync). No elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// As [`memcpy_2d`].
#[doc(alias = "cudaMemcpy2DAsync")]
#[doc(alias = "cudaMemcpy2DToArrayAsync")]
#[doc(alias = "cudaMemcpy2DFromArrayAsync")]
#[doc(alias = "cudaMemcpy3DPeerAsync")]
#[track_caller]
pub fn memcpy_2d_async<D, S>(destination: &mut D, source: &S, stream: &impl AsStream) -> Result<()>
where
    D: AsyncDestination<Planar> + ?Sized,
    S: AsyncSource<Planar, Element = D::Element> + ?Sized,
{
    let stream = stream.as_stream();
    if let Some(copy) = plain::copy(Dimensions::Two, destination.plain_mut(), source.plain()) {
        return copy.enqueue(stream);
    }
    enqueue_anew("memcpy_2d_async", stream, destination, source)
}

/// Sets every *byte* of the rows of the destination to `value`, on the legacy stream of its device.
///
/// Stands for [`cudaMemset2D`](sys::cudaMemset2D). What is between the rows is left alone. No elements, no call.
///
/// # Ordering
/// As [`memset`](crate::memset).
///
/// # Errors
/// A refusal inside a host function. Otherwise what the runtime says, which may be the failure of earlier work.
#[doc(alias = "cudaMemset2D")]
#[track_caller]
pub fn memset_2d<D: FillDestination<Planar> + ?Sized>(destination: &mut D, value: u8) -> Result<()> {
    set(How::Blocking, &destination.operand_mut()?, value)
}

/// Gives a stream the task of setting every *byte* of the rows of the destination to `value`, and returns.
///
/// Stands for [`cudaMemset2DAsync`](sys::cudaMemset2DAsync). What is between the rows is left alone. No elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// As [`memset_2d`].
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PinnedBuffer, PitchedBuffer};
/// use cuda_safe::{Stream, memcpy_2d_async, memset_2d, memset_2d_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut device = PitchedBuffer::<u8>::alloc(4, 3)?;
/// memset_2d(&mut device, 1)?;
/// memset_2d_async(&mut device.plane_mut().columns_mut(2..)?, 2, &stream)?;
/// let mut host = PinnedBuffer::<u8>::alloc(12)?;
/// memcpy_2d_async(&mut host.plane_mut(4, 3)?, &device, &stream)?;
/// assert_eq!(*host.host()?, [1, 1, 2, 2].repeat(3)); // waits
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemset2DAsync")]
#[track_caller]
pub fn memset_2d_async<D: FillDestination<Planar> + ?Sized>(
    destination: &mut D,
    value: u8,
    stream: &impl AsStream,
) -> Result<()> {
    set(How::Enqueued(stream.as_stream()), &destination.operand_mut()?, value)
}
