//! The addresses at which kernels reach host memory.
#![expect(unsafe_code, reason = "asks the runtime for the address")]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::allocation::Allocation;
use super::memory_type::MemoryType;
use super::memory_type::sealed::Tag;
use super::span::Span;
use crate::check;
use crate::error::Result;

/// The address at which kernels reach the first byte of an allocation. Every launch needs it, so it is
/// queried only once. Null until then.
#[derive(Debug, Default)]
pub(super) struct Mapped(AtomicPtr<u8>);

/// Returns the address at which kernels reach host memory.
#[inline]
#[track_caller]
pub(super) fn mapped_pointer<T>(span: Span<'_, T>) -> Result<*mut T> {
    if span.bytes() == 0 {
        return Ok(ptr::null_mut());
    }
    let allocation = span.allocation();
    // Relaxed is enough: only the address is passed on, and the runtime returns the same address to all
    // queries.
    let mut first = allocation.mapped().0.load(Ordering::Relaxed);
    if first.is_null() {
        first = map(allocation)?;
    }
    Ok(first.wrapping_add(span.range().start).cast())
}

/// Queries the address of the first byte.
#[cold]
#[inline(never)]
#[track_caller]
fn map(allocation: &Allocation) -> Result<*mut u8> {
    let mut pointer = ptr::null_mut();
    let _current = allocation.on().switch()?;
    // SAFETY: the first pointer is to a live variable, which the call fills. The second is to host memory
    // that is borrowed. The flags must be 0.
    unsafe { check!(cudaHostGetDevicePointer(&raw mut pointer, allocation.pointer().cast(), 0)) }?;
    let first = pointer.cast();
    allocation.mapped().0.store(first, Ordering::Relaxed);
    Ok(first)
}

/// Returns the address at which kernels reach memory of any type.
#[inline]
#[track_caller]
pub(crate) fn kernel_pointer<T, M: MemoryType>(span: Span<'_, T>) -> Result<*mut T> {
    match M::TAG {
        Tag::Device | Tag::Managed => Ok(span.pointer()),
        Tag::Pinned => mapped_pointer(span),
    }
}
