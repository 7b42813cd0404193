//! Copies and fills of layers of rows.

use super::fill::set;
use super::operand::{
    AsyncDestination, AsyncSource, Destination, Dimensions, FillDestination, Source, Volumetric,
};
use super::plain;
use super::transfer::{How, enqueue_anew, transfer};
use crate::error::Result;
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// Copies the layers of `source` to those of `destination`, on the legacy stream of the device concerned.
///
/// Stands for [`cudaMemcpy3D`](sys::cudaMemcpy3D) in all four directions, and, between the memories of two devices, for
/// [`cudaMemcpy3DPeer`](sys::cudaMemcpy3DPeer). Either side may be pitched memory, or a
/// [`Volume`](crate::memory::Volume) of anything; pitches may differ. Either side may be an [`Array`](crate::memory::Array) of
/// any kind, or a view of one. No elements, no call.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy).
///
/// # Errors
/// A refusal, with both extents, where widths, heights or depths differ; where the sides share a byte, or, with different
/// pitches, lie in each other; and inside a host function. Otherwise what the runtime says, which may be the failure of earlier
/// work.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PitchedVolume, Volume, VolumeMut};
/// use cuda_safe::memcpy_3d;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers: Vec<u8> = (0..60).collect();
/// let mut device = PitchedVolume::<u8>::alloc(5, 4, 3)?;
/// memcpy_3d(&mut device, &Volume::of_slice(&numbers, 5, 4, 3)?)?;
///
/// let mut last = [0; 4]; // the last two columns of the last two rows of the last layer
/// let part = device.volume().layers(2..)?.rows(2..)?.columns(3..)?;
/// memcpy_3d(&mut VolumeMut::of_slice(&mut last, 2, 2, 1)?, &part)?;
/// assert_eq!(last, [53, 54, 58, 59]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemcpy3D")]
#[doc(alias = "cudaMemcpy3DPeer")]
#[track_caller]
#[doc(alias = "cudaMemcpy3DParms")]
pub fn memcpy_3d<D, S>(destination: &mut D, source: &S) -> Result<()>
where
    D: Destination<Volumetric> + ?Sized,
    S: Source<Volumetric, Element = D::Element> + ?Sized,
{
    transfer("memcpy_3d", How::Blocking, &destination.operand_mut()?, &source.operand()?)
}

/// Gives a stream the copy of the layers of `source` to those of `destination`, and returns.
///
/// Stands for [`cudaMemcpy3DAsync`](sys::cudaMemcpy3DAsync), and, between the memories of two devices, for
/// [`cudaMemcpy3DPeerAsync`](sys::cudaMemcpy3DPeerAsync). Either side may be pitched memory, or a
/// [`Volume`](crate::memory::Volume) of device or pinned memory, or an [`Array`](crate::memory::Array) or a view of one. No
/// elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// As [`memcpy_3d`].
#[doc(alias = "cudaMemcpy3DAsync")]
#[doc(alias = "cudaMemcpy3DPeerAsync")]
#[track_caller]
pub fn memcpy_3d_async<D, S>(destination: &mut D, source: &S, stream: &impl AsStream) -> Result<()>
where
    D: AsyncDestination<Volumetric> + ?Sized,
    S: AsyncSource<Volumetric, Element = D::Element> + ?Sized,
{
    let stream = stream.as_stream();
    if let Some(copy) = plain::copy(Dimensions::Three, destination.plain_mut(), source.plain()) {
        return copy.enqueue(stream);
    }
    enqueue_anew("memcpy_3d_async", stream, destination, source)
}

/// Sets every *byte* of the rows of the destination to `value`, on the legacy stream of its device.
///
/// Stands for [`cudaMemset3D`](sys::cudaMemset3D). What is between the rows and layers is left alone. No elements, no call.
///
/// # Ordering
/// As [`memset`](crate::memset).
///
/// # Errors
/// A refusal inside a host function. Otherwise what the runtime says, which may be the failure of earlier work.
#[doc(alias = "cudaMemset3D")]
#[track_caller]
pub fn memset_3d<D: FillDestination<Volumetric> + ?Sized>(destination: &mut D, value: u8) -> Result<()> {
    set(How::Blocking, &destination.operand_mut()?, value)
}

/// Gives a stream the task of setting every *byte* of the rows of the destination to `value`, and returns.
///
/// Stands for [`cudaMemset3DAsync`](sys::cudaMemset3DAsync). What is between the rows and layers is left alone. No
/// elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// As [`memset_3d`].
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PinnedBuffer, PitchedVolume};
/// use cuda_safe::{Stream, memcpy_3d_async, memset_3d, memset_3d_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut device = PitchedVolume::<u8>::alloc(2, 2, 2)?;
/// memset_3d(&mut device, 1)?;
/// memset_3d_async(&mut device.volume_mut().layers_mut(1..)?, 2, &stream)?;
/// let mut host = PinnedBuffer::<u8>::alloc(8)?;
/// memcpy_3d_async(&mut host.volume_mut(2, 2, 2)?, &device, &stream)?;
/// assert_eq!(*host.host()?, [1, 1, 1, 1, 2, 2, 2, 2]); // waits
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemset3DAsync")]
#[track_caller]
pub fn memset_3d_async<D: FillDestination<Volumetric> + ?Sized>(
    destination: &mut D,
    value: u8,
    stream: &impl AsStream,
) -> Result<()> {
    set(How::Enqueued(stream.as_stream()), &destination.operand_mut()?, value)
}
