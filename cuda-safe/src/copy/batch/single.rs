//! Single copies with attributes, from CUDA 13.2 on.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use std::panic::Location;

use super::attributes::CopyAttributes;
use super::copies::{Copies, RowCopy, Single};
use crate::copy::checked::CheckedCopy;
use crate::copy::operand::{AsyncDestination, AsyncSource, Dimensions, Operand, Planar, Volumetric};
use crate::copy::transfer;
use crate::error::Result;
use crate::hazard::Mode;
use crate::stream::{AsStream, StreamRef};
use crate::sys;

/// [`memcpy_async`](crate::memcpy_async) with hints about how the copy is made.
///
/// Stands for [`cudaMemcpyWithAttributesAsync`](sys::cudaMemcpyWithAttributesAsync), available from CUDA
/// 13.2 on. On the legacy stream and in a capture the copy is made without the hints, by
/// `cudaMemcpyAsync`.
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
///
/// # Errors
/// As `memcpy_async`.
///
/// # Examples
/// ```
/// use cuda_safe::copy::{CopyAttributes, Overlap, memcpy_with_attributes_async};
/// use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let (stream, host) = (Stream::non_blocking()?, PinnedBuffer::from_slice(&[1, 2, 3])?);
/// let mut device = DeviceBuffer::<i32>::alloc(3)?;
/// let beside_kernels = CopyAttributes::new().overlap(Overlap::Small);
/// memcpy_with_attributes_async(&mut device, &host, beside_kernels, &stream)?;
/// assert_eq!(device.to_vec()?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemcpyWithAttributesAsync")]
#[track_caller]
pub fn memcpy_with_attributes_async<D, S>(
    destination: &mut D,
    source: &S,
    attributes: CopyAttributes,
    stream: &impl AsStream,
) -> Result<()>
where
    D: AsyncDestination + ?Sized,
    S: AsyncSource<Element = D::Element> + ?Sized,
{
    let (to, from) = (destination.operand_mut()?, source.operand()?);
    copy("memcpy_with_attributes_async", to, from, attributes, stream.as_stream())
}

/// [`memcpy_2d_async`](crate::memcpy_2d_async) with hints about how the copy is made.
///
/// Stands for [`cudaMemcpy3DWithAttributesAsync`](sys::cudaMemcpy3DWithAttributesAsync) of one layer,
/// available from CUDA 13.2 on. If that call is not possible, the copy is made without the hints, as
/// `memcpy_2d_async` makes it. This is the case on the legacy stream, in a capture, for another device's
/// array, and between an array and rows whose distance is not a multiple of the element size.
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
///
/// # Errors
/// As `memcpy_2d_async`.
///
/// # Examples
/// ```
/// use cuda_safe::copy::{CopyAttributes, Overlap, memcpy_2d_with_attributes_async};
/// use cuda_safe::memory::{PinnedBuffer, PitchedBuffer};
/// use cuda_safe::Stream;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let (stream, host) = (Stream::non_blocking()?, PinnedBuffer::from_slice(&[1, 2, 3, 4])?);
/// let mut device = PitchedBuffer::<i32>::alloc(2, 2)?;
/// let beside_kernels = CopyAttributes::new().overlap(Overlap::Small);
/// memcpy_2d_with_attributes_async(&mut device, &host.plane(2, 2)?, beside_kernels, &stream)?;
/// assert_eq!(device.to_vec()?, [1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemcpy3DWithAttributesAsync")]
#[track_caller]
pub fn memcpy_2d_with_attributes_async<D, S>(
    destination: &mut D,
    source: &S,
    attributes: CopyAttributes,
    stream: &impl AsStream,
) -> Result<()>
where
    D: AsyncDestination<Planar> + ?Sized,
    S: AsyncSource<Planar, Element = D::Element> + ?Sized,
{
    let (to, from) = (destination.operand_mut()?, source.operand()?);
    copy("memcpy_2d_with_attributes_async", to, from, attributes, stream.as_stream())
}

/// [`memcpy_3d_async`](crate::memcpy_3d_async) with hints about how the copy is made, as
/// [`memcpy_2d_with_attributes_async`].
///
/// Stands for [`cudaMemcpy3DWithAttributesAsync`](sys::cudaMemcpy3DWithAttributesAsync).
///
/// # Ordering
/// The copy runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
///
/// # Errors
/// As `memcpy_3d_async`.
#[doc(alias = "cudaMemcpy3DWithAttributesAsync")]
#[track_caller]
pub fn memcpy_3d_with_attributes_async<D, S>(
    destination: &mut D,
    source: &S,
    attributes: CopyAttributes,
    stream: &impl AsStream,
) -> Result<()>
where
    D: AsyncDestination<Volumetric> + ?Sized,
    S: AsyncSource<Volumetric, Element = D::Element> + ?Sized,
{
    let (to, from) = (destination.operand_mut()?, source.operand()?);
    copy("memcpy_3d_with_attributes_async", to, from, attributes, stream.as_stream())
}

#[track_caller]
fn copy(
    api: &'static str,
    destination: Operand<'_>,
    source: Operand<'_>,
    attributes: CopyAttributes,
    stream: StreamRef<'_>,
) -> Result<()> {
    let Some(copy) = CheckedCopy::new(api, destination, source)? else { return Ok(()) };
    let call_site = Location::caller();
    let attributes = attributes.of_copy(copy.bytes(), attributes.order());
    // SAFETY: the copy accesses no other tracked memory, and its owners wait for the copy before they
    // free it.
    let begun = unsafe { transfer::begin(stream, copy.to.access(Mode::Write), copy.from.read(), call_site) };
    let submission = begun.map_err(|error| copy.about(error))?;
    let copied = WithAttributes(RowCopy { copy, attributes }).hand_over(stream, stream.as_raw());
    submission.commit(copied.is_ok());
    copied.map_err(|error| copy.about(error.at(call_site)))
}

/// A copy with attributes, for streams that support them.
///
/// No device has confirmed yet that these calls refuse a capture begun by raw calls in the same way as
/// batches. If they refuse it otherwise, the program gets that error.
struct WithAttributes<'a>(RowCopy<'a>);

impl Copies for WithAttributes<'_> {
    const API: &'static str = "memcpy_with_attributes_async";

    fn function(&self) -> &'static str {
        match self.0.copy.to.dimensions {
            Dimensions::One => "cudaMemcpyWithAttributesAsync",
            _ => "cudaMemcpy3DWithAttributesAsync",
        }
    }

    fn singles(&self) -> impl Iterator<Item = Single<'_>> + Clone {
        let CheckedCopy { to, from, .. } = &self.0.copy;
        let bytes = self.0.copy.bytes();
        let dimensions = to.dimensions;
        let (to, from) = (to.pointer.cast(), from.pointer.cast_const().cast());
        std::iter::once(match dimensions {
            Dimensions::One => {
                Single::Linear { to, from, bytes, order: self.0.attributes.order, settles: false }
            }
            _ => Single::Rows(&self.0),
        })
    }

    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        let RowCopy { copy, attributes } = &self.0;
        if let Dimensions::One = copy.to.dimensions {
            let bytes = copy.bytes();
            let (to, from) = (copy.to.pointer.cast(), copy.from.pointer.cast_const().cast());
            // C may write the attributes.
            let mut attributes = attributes.to_raw();
            return self.at_once(stream, raw, |raw| {
                // SAFETY: both operands are memory of this many bytes that outlives the copy. The stream
                // is live, and the attributes are a live variable.
                unsafe { sys::cudaMemcpyWithAttributesAsync(to, from, bytes, &raw mut attributes, raw) }
            });
        }
        let beyond = self.0.has_array_beyond(stream.device());
        let Some(mut op) = self.0.whole().filter(|_| !beyond) else {
            return Single::Rows(&self.0).copy(Some(raw));
        };
        self.at_once(stream, raw, |raw| {
            // SAFETY: the operation is a live variable that describes where the operands are and their
            // layouts. Their memory outlives the copy. The stream is live.
            unsafe { sys::cudaMemcpy3DWithAttributesAsync(&raw mut op, 0, raw) }
        })
    }
}
