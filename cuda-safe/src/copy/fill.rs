//! Fills of memory with one byte or one element.
#![expect(unsafe_code, reason = "hands the destination's pointer to the runtime")]

use std::ffi::c_int;
use std::panic::Location;

use bytemuck::{NoUninit, bytes_of};
use cuda_hazard::Operation;

use super::checked::pitched;
use super::operand::{AsyncDestination, Dimensions, FillDestination, Operand, Planar, Volumetric};
use crate::device::Device;
use crate::error::Result;
use crate::memory::memory_type::sealed::Tag;
use crate::stream::{AsStream, Call, LegacyStream, StreamRef};
use crate::sys;

/// Sets every *byte* of the destination to `value`, on the legacy stream of its device.
///
/// Stands for [`cudaMemset`](sys::cudaMemset). The destination is device or pinned memory, or a part of
/// it. A zero-length fill is a no-op.
///
/// # Ordering
/// The fill runs after conflicting work that was submitted to any stream before. Device memory may be
/// filled after the call has returned; later work is ordered after it. Pinned memory is filled on
/// return.
///
/// # Errors
/// Returns the runtime's error, which may be the failure of earlier work. Refused inside a host
/// function.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, memset};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut numbers = DeviceBuffer::<u32>::alloc(2)?;
/// memset(&mut numbers, 1)?; // bytes, not elements
/// assert_eq!(numbers.to_vec()?, [0x0101_0101; 2]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaMemset")]
#[track_caller]
pub fn memset<D: AsyncDestination + ?Sized>(destination: &mut D, value: u8) -> Result<()> {
    block(destination.operand_mut()?, Value::Byte(value))
}

/// Submits a fill that sets every *byte* of the destination to `value`, and returns.
///
/// Stands for [`cudaMemsetAsync`](sys::cudaMemsetAsync). The destination is device or pinned memory, or a
/// part of it. A zero-length fill is a no-op.
///
/// # Ordering
/// The operation runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
///
/// # Errors
/// Returns the runtime's error, which may be the failure of earlier work. Refused inside a host
/// function.
#[doc(alias = "cudaMemsetAsync")]
#[track_caller]
pub fn memset_async<D: AsyncDestination + ?Sized>(
    destination: &mut D,
    value: u8,
    stream: &impl AsStream,
) -> Result<()> {
    fill_on(stream.as_stream(), destination.operand_mut()?, Value::Byte(value), true)
}

/// Sets every *element* of the destination to `value`, on the legacy stream of its device.
///
/// If all bytes of the element are equal, this is [`cudaMemset`](sys::cudaMemset). For other elements
/// the runtime has no function, so this makes one [`cudaMemset2D`](sys::cudaMemset2D) per byte of the
/// element. A kernel such as `cuda_kernels::fill` is faster. A zero-length fill is a no-op.
///
/// # Ordering
/// As [`memset`].
///
/// # Errors
/// As [`memset`].
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, fill};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let mut numbers = DeviceBuffer::<f32>::alloc(3)?;
/// fill(&mut numbers, 1.5)?;
/// assert_eq!(numbers.to_vec()?, [1.5; 3]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn fill<D>(destination: &mut D, value: D::Element) -> Result<()>
where
    D: AsyncDestination<Element: NoUninit> + ?Sized,
{
    block(destination.operand_mut()?, Value::from_element(bytes_of(&value)))
}

/// Submits a fill that sets every *element* of the destination to `value`, and returns.
///
/// It makes the calls of [`fill`] in their asynchronous forms. A zero-length fill is a no-op.
///
/// # Ordering
/// The operation runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
///
/// # Errors
/// As [`fill`].
#[track_caller]
pub fn fill_async<D>(destination: &mut D, value: D::Element, stream: &impl AsStream) -> Result<()>
where
    D: AsyncDestination<Element: NoUninit> + ?Sized,
{
    fill_on(stream.as_stream(), destination.operand_mut()?, Value::from_element(bytes_of(&value)), true)
}

/// Sets every *byte* of the rows of the destination to `value`, on the legacy stream of its device.
///
/// Stands for [`cudaMemset2D`](sys::cudaMemset2D). Bytes between the rows are not written. A zero-length
/// fill is a no-op.
///
/// # Ordering
/// As [`memset`](crate::memset).
///
/// # Errors
/// Returns the runtime's error, which may be the failure of earlier work. Refused inside a host
/// function.
#[doc(alias = "cudaMemset2D")]
#[track_caller]
pub fn memset_2d<D: FillDestination<Planar> + ?Sized>(destination: &mut D, value: u8) -> Result<()> {
    block(destination.operand_mut()?, Value::Byte(value))
}

/// Submits a fill that sets every *byte* of the rows of the destination to `value`, and returns.
///
/// Stands for [`cudaMemset2DAsync`](sys::cudaMemset2DAsync). Bytes between the rows are not written. A
/// zero-length fill is a no-op.
///
/// # Ordering
/// The operation runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
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
    fill_on(stream.as_stream(), destination.operand_mut()?, Value::Byte(value), true)
}

/// Sets every *byte* of the rows of the destination to `value`, on the legacy stream of its device.
///
/// Stands for [`cudaMemset3D`](sys::cudaMemset3D). Bytes between the rows and layers are not written. A
/// zero-length fill is a no-op.
///
/// # Ordering
/// As [`memset`](crate::memset).
///
/// # Errors
/// Returns the runtime's error, which may be the failure of earlier work. Refused inside a host
/// function.
#[doc(alias = "cudaMemset3D")]
#[track_caller]
pub fn memset_3d<D: FillDestination<Volumetric> + ?Sized>(destination: &mut D, value: u8) -> Result<()> {
    block(destination.operand_mut()?, Value::Byte(value))
}

/// Submits a fill that sets every *byte* of the rows of the destination to `value`, and returns.
///
/// Stands for [`cudaMemset3DAsync`](sys::cudaMemset3DAsync). Bytes between the rows and layers are not
/// written. A zero-length fill is a no-op.
///
/// # Ordering
/// The operation runs in the order of the stream, and after conflicting work that was submitted to other
/// streams before.
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
    fill_on(stream.as_stream(), destination.operand_mut()?, Value::Byte(value), true)
}

/// The value of a fill.
#[derive(Clone, Copy)]
enum Value<'v> {
    Byte(u8),
    /// The bytes of an element, for contiguous elements.
    Element(&'v [u8]),
}

impl<'v> Value<'v> {
    /// Makes the value of an element. It is one byte if all bytes of the element are equal.
    fn from_element(element: &'v [u8]) -> Self {
        match element {
            [first, rest @ ..] if rest.iter().all(|byte| byte == first) => Self::Byte(*first),
            _ => Self::Element(element),
        }
    }
}

/// Fills memory on the legacy stream of its device.
#[track_caller]
fn block(to: Operand<'_>, value: Value<'_>) -> Result<()> {
    let device = match to.memory {
        Some((_, device)) => device,
        None => Device::current()?,
    };
    fill_on(LegacyStream::new(device)?.as_stream(), to, value, false)
}

/// Fills memory in the order of a stream, by the calls that name the stream (`on_stream`) or by those
/// that do not.
#[expect(
    clippy::inline_always,
    reason = "measured: checks that follow from the types of the memory then cost nothing"
)]
#[inline(always)]
#[track_caller]
fn fill_on(stream: StreamRef<'_>, to: Operand<'_>, value: Value<'_>, on_stream: bool) -> Result<()> {
    let bytes = to.bytes();
    if bytes == 0 {
        return Ok(());
    }
    let asked = Call { api: name(to.dimensions, value, on_stream), call_site: Location::caller(), bytes };
    let write = to.written();
    let operation = Operation::new(write.as_slice()).with_untracked(write.is_none());
    // SAFETY: the calls access nothing else.
    let begun = unsafe { stream.begin(operation, asked.call_site) };
    let submission = begun.map_err(|error| asked.about(error))?;
    // A batch must not directly follow a fill of pinned memory. See `batch::copies`.
    if on_stream && matches!(to.memory, Some((Tag::Pinned, _))) {
        stream.note_fill();
    }
    // SAFETY: the operand is memory of this shape, for which any byte is valid. Its owner waits for this
    // fill before it frees the memory. The stream is live.
    let code = unsafe { fill_by_call(&to, value, on_stream.then(|| stream.as_raw())) };
    submission.commit(code == sys::cudaSuccess);
    asked.check(code)
}

/// Returns the name of the function that fills memory of so many dimensions.
#[inline]
fn name(dimensions: Dimensions, value: Value<'_>, on_stream: bool) -> &'static str {
    match (dimensions, value, on_stream) {
        (Dimensions::One, Value::Byte(_), false) => "cudaMemset",
        (Dimensions::One, Value::Byte(_), true) => "cudaMemsetAsync",
        (Dimensions::Two, _, false) | (_, Value::Element(_), false) => "cudaMemset2D",
        (Dimensions::Two, _, true) | (_, Value::Element(_), true) => "cudaMemset2DAsync",
        (Dimensions::Three, _, false) => "cudaMemset3D",
        (Dimensions::Three, _, true) => "cudaMemset3DAsync",
    }
}

/// Fills an operand without the bytes between its rows.
///
/// # Safety
/// - The operand is memory of this shape, for which any byte is valid, until the fill is complete.
/// - The stream is live.
#[inline]
unsafe fn fill_by_call(
    to: &Operand<'_>,
    value: Value<'_>,
    stream: Option<sys::cudaStream_t>,
) -> sys::cudaError_t {
    let byte = match value {
        Value::Byte(byte) => c_int::from(byte),
        // SAFETY: the caller has the same duties.
        Value::Element(element) => return unsafe { fill_elements(to, element, stream) },
    };
    let (pointer, pitch) = (to.pointer.cast(), to.layout.pitch);
    let [row, height, depth] = to.layout.extent();
    let extent = sys::cudaExtent { width: row, height, depth };
    match (to.dimensions, stream) {
        // SAFETY: the caller has the same duties.
        (Dimensions::One, None) => unsafe { sys::cudaMemset(pointer, byte, row) },
        // SAFETY: the caller has the same duties.
        (Dimensions::One, Some(raw)) => unsafe { sys::cudaMemsetAsync(pointer, byte, row, raw) },
        // SAFETY: the caller has the same duties.
        (Dimensions::Two, None) => unsafe { sys::cudaMemset2D(pointer, pitch, byte, row, height) },
        // SAFETY: the caller has the same duties.
        (Dimensions::Two, Some(raw)) => unsafe {
            sys::cudaMemset2DAsync(pointer, pitch, byte, row, height, raw)
        },
        // SAFETY: the caller has the same duties.
        (Dimensions::Three, None) => unsafe { sys::cudaMemset3D(pitched(to), byte, extent) },
        // SAFETY: the caller has the same duties.
        (Dimensions::Three, Some(raw)) => unsafe { sys::cudaMemset3DAsync(pitched(to), byte, extent, raw) },
    }
}

/// Sets every element of a row to the same bytes. There are as many bytes as an element has, and each is
/// written as a column.
///
/// # Safety
/// As [`fill_by_call`].
#[inline(never)]
unsafe fn fill_elements(
    to: &Operand<'_>,
    element: &[u8],
    stream: Option<sys::cudaStream_t>,
) -> sys::cudaError_t {
    let (len, pitch) = (to.len, element.len());
    for (at, byte) in element.iter().enumerate() {
        let (column, value) = (to.pointer.wrapping_add(at).cast(), c_int::from(*byte));
        let code = match stream {
            // SAFETY: the operand is memory of this many elements, and this is one byte of each. Any
            // value is valid for it.
            None => unsafe { sys::cudaMemset2D(column, pitch, value, 1, len) },
            // SAFETY: the operand has this many elements until the fill is complete. The stream is live.
            Some(raw) => unsafe { sys::cudaMemset2DAsync(column, pitch, value, 1, len, raw) },
        };
        if code != sys::cudaSuccess {
            return code;
        }
    }
    sys::cudaSuccess
}
