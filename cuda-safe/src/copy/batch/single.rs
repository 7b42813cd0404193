//! One copy with attributes: from CUDA 13.2 on.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use std::ffi::c_void;
use std::panic::Location;

use cuda_hazard::Operation;

use super::CopyAttributes;
use super::attributes::Order;
use crate::copy::copies::Copies;
use crate::copy::operand::{AsyncDestination, AsyncSource};
use crate::copy::peer;
use crate::copy::shape::Shape;
use crate::error::{Detail, Result};
use crate::hazard::{Access, Mode};
use crate::stream::{AsStream, StreamRef};
use crate::{check, sys};

/// [`memcpy_async`](crate::memcpy_async) with wishes about how the copy is done.
///
/// Stands for [`cudaMemcpyWithAttributesAsync`](sys::cudaMemcpyWithAttributesAsync), which CUDA 13.2 brought. On the legacy
/// stream and in a capture the copy is made without the wishes, by `cudaMemcpyAsync`.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
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
    let place = Location::caller();
    let (destination, source) = (destination.operand_mut()?, source.operand()?);
    let bytes = Shape::of(Single::API, &destination, &source)?.bytes();
    if bytes == 0 {
        return Ok(());
    }
    peer::ensure(destination.side(), source.side());
    let stream = stream.as_stream();
    let single = Single {
        to: destination.pointer().cast(),
        from: source.pointer().cast_const().cast(),
        bytes,
        attributes: attributes.of_copy(bytes, Order::Stream).to_raw(),
    };
    let accesses: Vec<Access<'_>> =
        destination.access(Mode::Write).into_iter().chain(source.source()).collect();
    // SAFETY: the accesses are all that the copy touches of tracked memory, whose owners wait for it before they free.
    unsafe { stream.submit(Operation::new(&accesses), place, |raw| single.hand_over(stream, raw)) }
        .map_err(|error| error.at(place).with_detail(Detail::Transfer { bytes }))
}

/// A copy with attributes, where they are heard.
///
/// That the call refuses a capture which raw calls began as batches do, no device has shown yet. If it refuses it otherwise, the program
/// gets that error.
struct Single {
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    attributes: sys::cudaMemcpyAttributes,
}

impl Copies for Single {
    const API: &'static str = "memcpy_with_attributes_async";
    const FUNCTION: &'static str = "cudaMemcpyWithAttributesAsync";

    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        // C may write them.
        let mut attributes = self.attributes;
        self.at_once(stream, raw, |raw| {
            // SAFETY: both operands are memory of so many bytes that outlives the copy, and the stream is live; the attributes are a live
            // variable.
            unsafe {
                sys::cudaMemcpyWithAttributesAsync(self.to, self.from, self.bytes, &raw mut attributes, raw)
            }
        })
    }

    fn one_by_one(&self, raw: sys::cudaStream_t, _: bool) -> Result<()> {
        // SAFETY: as above.
        unsafe { check!(cudaMemcpyAsync(self.to, self.from, self.bytes, sys::cudaMemcpyDefault, raw)) }
    }
}
