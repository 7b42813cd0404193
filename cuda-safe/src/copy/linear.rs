//! Copies of elements in a row.

use super::operand::{AsyncDestination, AsyncSource, Destination, Dimensions, Source};
use super::plain;
use super::transfer::{How, enqueue_anew, transfer};
use crate::error::Result;
use crate::stream::AsStream;
#[cfg(doc)]
use crate::sys;

/// Copies all elements of `source` to `destination`, on the legacy stream of the device concerned.
///
/// Stands for [`cudaMemcpy`](sys::cudaMemcpy) in all four directions, and, between the memories of two devices, for
/// [`cudaMemcpyPeer`](sys::cudaMemcpyPeer). Either side may be device memory, pinned memory, a slice, an array, a
/// vector, or a part of these. No elements, no call.
///
/// # Ordering
/// First comes what conflicting work was given to any stream before. The host's side is done on return: a source
/// slice may change, a destination slice holds the elements. What `cudaMemcpy` leaves in flight, between devices and from
/// pageable memory, later work is ordered after. Between two pinned or pageable sides the host itself copies.
///
/// # Errors
/// A refusal, with both lengths, where they differ; where the sides overlap; and inside a host function. Otherwise
/// what the runtime says, which may be the failure of earlier work.
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
    if plain::block(destination.plain_mut(), source.plain())? {
        return Ok(());
    }
    transfer("memcpy", How::Blocking, &destination.operand_mut()?, &source.operand()?)
}

/// Gives a stream the copy of all elements of `source` to `destination`, and returns.
///
/// Stands for [`cudaMemcpyAsync`](sys::cudaMemcpyAsync), and, between the memories of two devices, for
/// [`cudaMemcpyPeerAsync`](sys::cudaMemcpyPeerAsync). Either side may be device or pinned memory, or a part of it. The
/// operands are borrowed only for the call: their owners wait for the copy before they free, and pinned memory lends
/// itself to the host only once it is done. No elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// A refusal, with both lengths, where they differ; where the sides overlap; and inside a host function. Otherwise
/// what the runtime says, which may be the failure of earlier work.
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
    let stream = stream.as_stream();
    if let Some(copy) = plain::copy(Dimensions::One, destination.plain_mut(), source.plain()) {
        return copy.enqueue(stream);
    }
    enqueue_anew("memcpy_async", stream, destination, source)
}
