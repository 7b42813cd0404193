//! Filling memory: with one byte, or with one element.
#![expect(unsafe_code, reason = "hands the destination's pointer to the runtime")]

use std::ffi::c_int;
use std::panic::Location;

use bytemuck::{NoUninit, bytes_of};

use cuda_hazard::Operation;

use super::call::{extent, pitched};
use super::operand::{AsyncDestination, Operand, Side};
use super::plain::Plain;
use super::shape::Shape;
use super::transfer::How;
use crate::device::Device;
use crate::error::{Detail, Result};
use crate::hazard::Access;
use crate::stream::{AsStream, Call, LegacyStream, StreamRef};
use crate::{check, sys};

/// Sets every *byte* of the destination to `value`, on the legacy stream of its device.
///
/// Stands for [`cudaMemset`](sys::cudaMemset). The destination is device or pinned memory, or a part of it. No
/// elements, no call.
///
/// # Ordering
/// After conflicting work that any stream was given before. Device memory may be filled after the call returned;
/// later work is ordered after it. Pinned memory is filled on return.
///
/// # Errors
/// A refusal inside a host function. Otherwise what the runtime says, which may be the failure of earlier work.
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
    set(How::Blocking, &destination.operand_mut()?, value)
}

/// Gives a stream the task of setting every *byte* of the destination to `value`, and returns.
///
/// Stands for [`cudaMemsetAsync`](sys::cudaMemsetAsync). The destination is device or pinned memory, or a part of it.
/// No elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// A refusal inside a host function. Otherwise what the runtime says, which may be the failure of earlier work.
#[doc(alias = "cudaMemsetAsync")]
#[track_caller]
pub fn memset_async<D: AsyncDestination + ?Sized>(
    destination: &mut D,
    value: u8,
    stream: &impl AsStream,
) -> Result<()> {
    let stream = stream.as_stream();
    if let Some(plain) = destination.plain_mut()
        && let Some(access) = plain.filled()
    {
        return set_plain(stream, plain, access, value);
    }
    set_any(stream, destination, value)
}

/// Has a stream fill whatever can be filled.
#[cold]
#[inline(never)]
#[track_caller]
fn set_any<D: AsyncDestination + ?Sized>(
    stream: StreamRef<'_>,
    destination: &mut D,
    value: u8,
) -> Result<()> {
    set(How::Enqueued(stream), &destination.operand_mut()?, value)
}

/// Has a stream fill bytes in a row.
#[inline]
#[track_caller]
fn set_plain(stream: StreamRef<'_>, destination: Plain<'_>, access: Access<'_>, value: u8) -> Result<()> {
    let (pointer, bytes) = (destination.pointer.cast(), destination.layout.row);
    if bytes == 0 {
        return Ok(());
    }
    let asked = Call { api: "cudaMemsetAsync", place: Location::caller(), bytes };
    // SAFETY: the access is all that the call touches.
    let submission = unsafe { stream.begin(Operation::new(&[access]), asked.place) };
    let submission = submission.map_err(|error| asked.about(error))?;
    note(stream, &access);
    // SAFETY: this is memory of so many bytes, for which any value is valid; its owner waits for this before it frees; and the
    // stream is live.
    let code = unsafe { sys::cudaMemsetAsync(pointer, c_int::from(value), bytes, stream.as_raw()) };
    submission.commit(code == sys::cudaSuccess);
    asked.check(code)
}

/// Notes with the stream, which is about to get it, a fill of pinned memory: see [`behind_fills`](super::batch::call::behind_fills).
#[inline]
fn note(stream: StreamRef<'_>, access: &Access<'_>) {
    if access.is_fill() {
        stream.note_fill();
    }
}

/// Sets every *element* of the destination to `value`, on the legacy stream of its device.
///
/// Elements whose bytes are all alike are set by [`cudaMemset`](sys::cudaMemset). For others the runtime has no call: they are set
/// byte by byte, by one [`cudaMemset2D`](sys::cudaMemset2D) for each byte of an element. A kernel is faster, such as that of
/// `cuda_kernels::fill`. No elements, no call.
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
    set_elements(How::Blocking, &destination.operand_mut()?, bytes_of(&value))
}

/// Gives a stream the task of setting every *element* of the destination to `value`, and returns.
///
/// By the calls that [`fill`] makes, in their asynchronous forms. No elements, no call.
///
/// # Ordering
/// In the order of the stream, and after conflicting work that other streams were given before.
///
/// # Errors
/// As [`fill`].
#[track_caller]
pub fn fill_async<D>(destination: &mut D, value: D::Element, stream: &impl AsStream) -> Result<()>
where
    D: AsyncDestination<Element: NoUninit> + ?Sized,
{
    set_elements(How::Enqueued(stream.as_stream()), &destination.operand_mut()?, bytes_of(&value))
}

/// Sets every element of a row to the same bytes, which are as many as an element has.
#[track_caller]
fn set_elements(how: How<'_>, operand: &Operand<'_>, element: &[u8]) -> Result<()> {
    if let [first, rest @ ..] = element
        && rest.iter().all(|byte| byte == first)
    {
        return set(how, operand, *first);
    }
    let (pointer, len, pitch) = (operand.pointer(), operand.len(), element.len());
    enter(how, operand, |stream| {
        element.iter().enumerate().try_for_each(|(at, byte)| {
            let (column, value) = (pointer.wrapping_add(at).cast(), c_int::from(*byte));
            match stream {
                // SAFETY: the operand is memory of so many elements, of each of which this is one byte; any value is valid for it.
                None => unsafe { check!(cudaMemset2D(column, pitch, value, 1, len)) },
                // SAFETY: as above; the operand's owner waits for this before it frees, and the stream is live.
                Some(raw) => unsafe { check!(cudaMemset2DAsync(column, pitch, value, 1, len, raw)) },
            }
        })
    })
}

/// Sets every byte of an operand, and nothing between its rows.
#[track_caller]
pub(super) fn set(how: How<'_>, operand: &Operand<'_>, value: u8) -> Result<()> {
    let (pointer, pitch, value) = (operand.pointer().cast(), operand.layout().pitch, c_int::from(value));
    let shape = Shape::of_one(operand);
    // SAFETY of all calls below: the operand is memory of this shape and pitch, for which any byte is valid; its owner waits for
    // this before it frees; and the stream is live.
    enter(how, operand, |stream| match (shape, stream) {
        (Shape::Linear { bytes }, None) => {
            // SAFETY: as above.
            unsafe { check!(cudaMemset(pointer, value, bytes)) }
        }
        (Shape::Linear { bytes }, Some(raw)) => {
            // SAFETY: as above.
            unsafe { check!(cudaMemsetAsync(pointer, value, bytes, raw)) }
        }
        (Shape::Plane { row, rows }, None) => {
            // SAFETY: as above.
            unsafe { check!(cudaMemset2D(pointer, pitch, value, row, rows)) }
        }
        (Shape::Plane { row, rows }, Some(raw)) => {
            // SAFETY: as above.
            unsafe { check!(cudaMemset2DAsync(pointer, pitch, value, row, rows, raw)) }
        }
        (Shape::Volume { .. }, None) => {
            // SAFETY: as above.
            unsafe { check!(cudaMemset3D(pitched(operand), value, extent(shape))) }
        }
        (Shape::Volume { .. }, Some(raw)) => {
            // SAFETY: as above.
            unsafe { check!(cudaMemset3DAsync(pitched(operand), value, extent(shape), raw)) }
        }
    })
}

/// Enters a fill in the books and makes the calls: on a stream, or, on the legacy stream of the operand's device, without one.
#[track_caller]
fn enter(
    how: How<'_>,
    operand: &Operand<'_>,
    call: impl FnOnce(Option<sys::cudaStream_t>) -> Result<()>,
) -> Result<()> {
    let bytes = operand.bytes();
    if bytes == 0 {
        return Ok(());
    }
    let place = Location::caller();
    let access = operand.filled();
    let filled = match how {
        How::Enqueued(stream) => {
            let call = |raw| {
                access.iter().for_each(|access| note(stream, access));
                call(Some(raw)).map_err(|error| error.at(place))
            };
            // SAFETY: the access is all that the calls touch.
            unsafe { stream.enqueue(access.as_slice(), call) }
        }
        How::Blocking | How::BlockingFresh => {
            let device = match operand.side() {
                Side::Device(device) | Side::Pinned(device) | Side::Managed(device) => device,
                Side::Pageable => Device::current()?,
            };
            let legacy = LegacyStream::of(device)?;
            // SAFETY: as above.
            unsafe {
                let stream = legacy.as_stream();
                stream.enqueue(access.as_slice(), |_| call(None).map_err(|error| error.at(place)))
            }
        }
    };
    filled.map_err(|error| error.with_detail(Detail::Transfer { bytes }))
}
