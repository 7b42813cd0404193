//! Filling memory with one byte.
#![expect(unsafe_code, reason = "hands the destination's pointer to the runtime")]

use std::ffi::c_int;
use std::panic::Location;

use super::operand::{AsyncDestination, Operand, Side};
use crate::check;
use crate::device::Device;
use crate::error::{Detail, Result};
use crate::hazard::Mode;
use crate::stream::{AsStream, LegacyStream, StreamRef};
#[cfg(doc)]
use crate::sys;

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
    let operand = destination.operand_mut()?;
    let device = match operand.side() {
        Side::Device(device) | Side::Pinned(device) => device,
        Side::Pageable => Device::current()?,
    };
    let legacy = LegacyStream::of(device)?;
    fill(&operand, legacy.as_stream(), |pointer, bytes, _| {
        // SAFETY: the operand is borrowed memory of so many bytes, for which any byte is valid.
        unsafe { check!(cudaMemset(pointer.cast(), c_int::from(value), bytes)) }
    })
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
    fill(&destination.operand_mut()?, stream.as_stream(), |pointer, bytes, raw| {
        // SAFETY: the operand's owner waits for this before it frees; any byte is valid for it, and the stream is live.
        unsafe { check!(cudaMemsetAsync(pointer.cast(), c_int::from(value), bytes, raw)) }
    })
}

/// Enters a fill in the books and makes the call.
#[track_caller]
fn fill(
    operand: &Operand<'_>,
    stream: StreamRef<'_>,
    call: impl FnOnce(*mut u8, usize, crate::sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    let bytes = operand.bytes();
    if bytes == 0 {
        return Ok(());
    }
    let place = Location::caller();
    let access = operand.access(Mode::Write);
    // SAFETY: the access is all that the call touches.
    unsafe {
        stream.enqueue(access.as_slice(), |raw| {
            call(operand.pointer(), bytes, raw).map_err(|error| error.at(place))
        })
    }
    .map_err(|error| error.with_detail(Detail::Transfer { bytes }))
}
