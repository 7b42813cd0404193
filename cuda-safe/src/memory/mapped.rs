//! Where kernels reach memory of the host.
#![expect(unsafe_code, reason = "asks the runtime for the address")]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::allocation::Allocation;
use super::place::Place;
use super::place::sealed::Residence;
use super::span::Span;
use crate::check;
use crate::error::Result;

/// The address at which kernels reach the first byte of an allocation: asked for once, as every launch needs it. Null
/// until then.
#[derive(Debug, Default)]
pub(super) struct Mapped(AtomicPtr<u8>);

/// The address at which kernels reach memory of the host.
#[inline]
#[track_caller]
pub(super) fn mapped_pointer<T>(span: Span<'_, T>) -> Result<*mut T> {
    if span.bytes() == 0 {
        return Ok(ptr::null_mut());
    }
    let allocation = span.allocation();
    // The address is all there is to hand over, and whoever asks twice is told the same twice.
    let mut first = allocation.mapped().0.load(Ordering::Relaxed);
    if first.is_null() {
        first = map(allocation)?;
    }
    Ok(first.wrapping_add(span.range().start).cast())
}

/// Asks for the address of the first byte.
#[cold]
#[inline(never)]
#[track_caller]
fn map(allocation: &Allocation) -> Result<*mut u8> {
    let mut pointer = ptr::null_mut();
    let _current = allocation.on().switch()?;
    // SAFETY: the first pointer is to a live variable, which the call fills, the second to host memory that is borrowed; the flags must
    // be 0.
    unsafe { check!(cudaHostGetDevicePointer(&raw mut pointer, allocation.pointer().cast(), 0)) }?;
    let first = pointer.cast();
    allocation.mapped().0.store(first, Ordering::Relaxed);
    Ok(first)
}

/// The address at which kernels reach memory, wherever it is.
#[inline]
#[track_caller]
pub(crate) fn kernel_pointer<T, M: Place>(span: Span<'_, T>) -> Result<*mut T> {
    match M::RESIDENCE {
        Residence::Device | Residence::Managed => Ok(span.pointer()),
        Residence::Pinned => mapped_pointer(span),
    }
}
