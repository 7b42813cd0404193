//! One copy of rows or of layers of rows, with attributes: from CUDA 13.2 on.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use std::panic::Location;

use cuda_hazard::Operation;

use super::super::batch::CopyAttributes;
use super::super::batch::attributes::Order;
use super::super::copies::Copies;
use super::super::operand::{AsyncDestination, AsyncSource, Operand, Planar, Volumetric};
use super::super::peer;
use super::super::shape::Shape;
use super::{Entry, op};
use crate::error::{Detail, Result};
use crate::hazard::{Access, Mode};
use crate::stream::{AsStream, StreamRef};
use crate::sys;

/// [`memcpy_2d_async`](crate::memcpy_2d_async) with wishes about how the copy is done.
///
/// Stands for [`cudaMemcpy3DWithAttributesAsync`](sys::cudaMemcpy3DWithAttributesAsync), of one layer, which CUDA 13.2
/// brought. Where that cannot do it (on the legacy stream, in a capture, of another device's array, between an array and rows
/// that do not begin whole elements apart) the copy is made without the wishes, as `memcpy_2d_async` makes it.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
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

/// [`memcpy_3d_async`](crate::memcpy_3d_async) with wishes about how the copy is done, as
/// [`memcpy_2d_with_attributes_async`].
///
/// Stands for [`cudaMemcpy3DWithAttributesAsync`](sys::cudaMemcpy3DWithAttributesAsync).
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
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
    let place = Location::caller();
    let shape = Shape::of(api, &destination, &source)?;
    let bytes = shape.bytes();
    if bytes == 0 {
        return Ok(());
    }
    peer::ensure(destination.side(), source.side());
    let accesses: Vec<Access<'_>> =
        destination.access(Mode::Write).into_iter().chain(source.source()).collect();
    let attributes = attributes.of_copy(bytes, Order::Stream);
    let entry = Entry { destination, source, shape, attributes };
    let call = |raw| entry.hand_over(stream, raw);
    // SAFETY: the accesses are all that the copy touches of tracked memory, whose owners wait for it before they free.
    unsafe { stream.submit(Operation::new(&accesses), place, call) }
        .map_err(|error| error.at(place).with_detail(Detail::Transfer { bytes }))
}

/// A copy with attributes, where they are heard; as [`memcpy_with_attributes_async`](crate::copy::memcpy_with_attributes_async).
impl Copies for Entry<'_> {
    const API: &'static str = "memcpy_3d_with_attributes_async";
    const FUNCTION: &'static str = "cudaMemcpy3DWithAttributesAsync";

    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        let beyond = self.has_array_beyond(stream.device());
        let Some(mut op) = op::whole(self).filter(|_| !beyond) else {
            return self.copy(Some(raw));
        };
        self.at_once(stream, raw, |raw| {
            // SAFETY: the operation is a live variable that says places and layouts of memory of the operands, which outlives the
            // copy; the stream is live.
            unsafe { sys::cudaMemcpy3DWithAttributesAsync(&raw mut op, 0, raw) }
        })
    }

    fn one_by_one(&self, raw: sys::cudaStream_t, _: bool) -> Result<()> {
        self.copy(Some(raw))
    }
}
