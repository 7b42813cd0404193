//! The copy functions: for contiguous elements, rows, and layers of rows.
//!
//! Each makes a descriptor of each side and calls [`transfer`]. [`memcpy_2d`] and [`memcpy_3d`] and
//! their asynchronous forms also take an [`Array`](crate::memory::Array) or a view of one on either
//! side. Widths are in elements on both sides and must be equal. Bounds were checked when the view was
//! made.

use super::operand::{AsyncDestination, AsyncSource, Destination, Planar, Source, Volumetric};
use super::transfer;
use crate::error::Result;
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// Copies all elements of `source` to `destination`, on the legacy stream of the device concerned.
///
/// Stands for [`cudaMemcpy`](sys::cudaMemcpy) in all four directions and, between two devices, for
/// [`cudaMemcpyPeer`](sys::cudaMemcpyPeer). Each side is device memory, pinned memory, a slice, an
/// array, a vector, or a part of these. A zero-length copy is a no-op.
///
/// # Ordering
/// The copy runs after conflicting work that was submitted to any stream before. On return, the host's
/// side is complete: a source slice may change, and a destination slice holds the elements. Between
/// devices and from pageable memory, `cudaMemcpy` may leave work in flight, and later work is ordered
/// after it. Between two pinned or pageable sides the host itself copies.
///
/// # Errors
/// - A refusal with both lengths if they differ.
/// - A refusal if the sides overlap.
/// - Refused inside a host function.
/// - The runtime's error, which may be the failure of earlier work.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, memcpy};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut device = DeviceBuffer::<u32>::alloc(8)?;
/// memcpy(&mut device.slice_mut(0..4)?, &[1, 2, 3, 4])?;
/// memcpy(&mut device.slice_mut(4..8)?, &vec![5, 6, 7, 8])?;
///
/// let mut host = [0; 8];
/// memcpy(&mut host, &device)?;
/// assert_eq!(host, [1, 2, 3, 4, 5, 6, 7, 8]);
/// assert!(memcpy(&mut host[..3], &device).is_err());
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemcpy")]
#[doc(alias = "cudaMemcpyPeer")]
#[track_caller]
#[doc(alias = "cudaMemcpyKind")]
#[doc(alias = "cudaMemcpyHostToDevice")]
#[doc(alias = "cudaMemcpyDeviceToHost")]
#[doc(alias = "cudaMemcpyDeviceToDevice")]
#[doc(alias = "cudaMemcpyDefault")]
pub fn memcpy<D, S>(destination: &mut D, source: &S) -> Result<()>
where
    D: Destination + ?Sized,
    S: Source<Element = D::Element> + ?Sized,
{
    transfer::block("memcpy", destination.operand_mut()?, source.operand()?)
}

/// Submits the copy of all elements of `source` to `destination`, and returns.
///
/// Stands for [`cudaMemcpyAsync`](sys::cudaMemcpyAsync) and, between two devices, for
/// [`cudaMemcpyPeerAsync`](sys::cudaMemcpyPeerAsync). Each side is device or pinned memory, or a part of
/// it. The operands are borrowed only for the call: their owners wait for the copy before they free the
/// memory, and pinned memory lends itself to the host only after the copy is complete. A zero-length
/// copy is a no-op.
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
///
/// # Errors
/// - A refusal with both lengths if they differ.
/// - A refusal if the sides overlap.
/// - Refused inside a host function.
/// - The runtime's error, which may be the failure of earlier work.
///
/// # Examples
/// ```
/// use cuda_safe::stream::Stream;
/// use cuda_safe::{DeviceBuffer, PinnedBuffer, memcpy_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let source = PinnedBuffer::from_slice(&[1, 2, 3])?;
/// let mut device = DeviceBuffer::<i32>::alloc(3)?;
/// let mut back = PinnedBuffer::<i32>::alloc(3)?;
/// memcpy_async(&mut device, &source, &stream)?;
/// memcpy_async(&mut back, &device, &stream)?;
/// assert_eq!(*back.host()?, [1, 2, 3]); // waits
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemcpyAsync")]
#[doc(alias = "cudaMemcpyPeerAsync")]
#[track_caller]
pub fn memcpy_async<D, S>(destination: &mut D, source: &S, stream: &impl AsStream) -> Result<()>
where
    D: AsyncDestination + ?Sized,
    S: AsyncSource<Element = D::Element> + ?Sized,
{
    transfer::enqueue("memcpy_async", stream.as_stream(), destination.operand_mut()?, source.operand()?)
}

/// Copies the rows of `source` to those of `destination`, on the legacy stream of the device concerned.
///
/// Stands for [`cudaMemcpy2D`](sys::cudaMemcpy2D) in all four directions and, between two devices, for
/// [`cudaMemcpy3DPeer`](sys::cudaMemcpy3DPeer) of one layer. Each side is pitched memory, or a
/// [`Plane`](crate::memory::Plane) of any memory; pitches may differ. Each side may also be an
/// [`Array`](crate::memory::Array) or a view of one layer of one. The call is then
/// [`cudaMemcpy2DToArray`](sys::cudaMemcpy2DToArray),
/// [`cudaMemcpy2DFromArray`](sys::cudaMemcpy2DFromArray) or
/// [`cudaMemcpy2DArrayToArray`](sys::cudaMemcpy2DArrayToArray). A zero-length copy is a no-op.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy).
///
/// # Errors
/// - A refusal with both extents if widths or heights differ.
/// - A refusal if the sides share a byte or, with different pitches, are interleaved.
/// - Refused inside a host function.
/// - The runtime's error, which may be the failure of earlier work.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PitchedBuffer, Plane, PlaneMut};
/// use cuda_safe::memcpy_2d;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers: Vec<i32> = (0..12).collect();
/// let mut device = PitchedBuffer::<i32>::alloc(4, 3)?;
/// memcpy_2d(&mut device, &Plane::from_slice(&numbers, 4, 3)?)?;
///
/// let mut middle = [0; 2]; // the last two rows of the third column
/// memcpy_2d(&mut PlaneMut::from_slice(&mut middle, 1, 2)?, &device.plane().columns(2..3)?.rows(1..)?)?;
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
    transfer::block("memcpy_2d", destination.operand_mut()?, source.operand()?)
}

/// Submits the copy of the rows of `source` to those of `destination`, and returns.
///
/// Stands for [`cudaMemcpy2DAsync`](sys::cudaMemcpy2DAsync) and, between two devices, for
/// [`cudaMemcpy3DPeerAsync`](sys::cudaMemcpy3DPeerAsync) of one layer. Each side is pitched memory, a
/// [`Plane`](crate::memory::Plane) of device or pinned memory, or an array or a view of one layer of
/// one. For arrays the call is [`cudaMemcpy2DToArrayAsync`](sys::cudaMemcpy2DToArrayAsync) or
/// [`cudaMemcpy2DFromArrayAsync`](sys::cudaMemcpy2DFromArrayAsync). A zero-length copy is a no-op.
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
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
    transfer::enqueue("memcpy_2d_async", stream.as_stream(), destination.operand_mut()?, source.operand()?)
}

/// Copies the layers of `source` to those of `destination`, on the legacy stream of the device concerned.
///
/// Stands for [`cudaMemcpy3D`](sys::cudaMemcpy3D) in all four directions and, between two devices, for
/// [`cudaMemcpy3DPeer`](sys::cudaMemcpy3DPeer). Each side is pitched memory, a
/// [`Volume`](crate::memory::Volume) of any memory, an [`Array`](crate::memory::Array) of any kind, or a
/// view of one; pitches may differ. A zero-length copy is a no-op.
///
/// # Ordering
/// As [`memcpy`](crate::memcpy).
///
/// # Errors
/// - A refusal with both extents if widths, heights or depths differ.
/// - A refusal if the sides share a byte or, with different pitches, are interleaved.
/// - Refused inside a host function.
/// - The runtime's error, which may be the failure of earlier work.
///
/// # Examples
/// ```
/// use cuda_safe::memory::{PitchedVolume, Volume, VolumeMut};
/// use cuda_safe::memcpy_3d;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let numbers: Vec<u8> = (0..60).collect();
/// let mut device = PitchedVolume::<u8>::alloc(5, 4, 3)?;
/// memcpy_3d(&mut device, &Volume::from_slice(&numbers, 5, 4, 3)?)?;
///
/// let mut last = [0; 4]; // the last two columns of the last two rows of the last layer
/// let part = device.volume().layers(2..)?.rows(2..)?.columns(3..)?;
/// memcpy_3d(&mut VolumeMut::from_slice(&mut last, 2, 2, 1)?, &part)?;
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
    transfer::block("memcpy_3d", destination.operand_mut()?, source.operand()?)
}

/// Submits the copy of the layers of `source` to those of `destination`, and returns.
///
/// Stands for [`cudaMemcpy3DAsync`](sys::cudaMemcpy3DAsync) and, between two devices, for
/// [`cudaMemcpy3DPeerAsync`](sys::cudaMemcpy3DPeerAsync). Each side is pitched memory, a
/// [`Volume`](crate::memory::Volume) of device or pinned memory, an [`Array`](crate::memory::Array), or
/// a view of one. A zero-length copy is a no-op.
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
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
    transfer::enqueue("memcpy_3d_async", stream.as_stream(), destination.operand_mut()?, source.operand()?)
}
