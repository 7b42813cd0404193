//! How copies and fills get onto a stream: all places where this module calls one, a function for each kind
//! of submission.
#![expect(unsafe_code, reason = "hands operations to streams")]

use std::panic::Location;

use crate::error::Result;
use crate::hazard::{Access, Sorted};
use crate::stream::{Call, StreamRef};
use crate::sys;

/// Submits one call that returns at once. Without a heap allocation: the accesses are passed by value.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[expect(
    clippy::inline_always,
    reason = "measured: what the types know of the accesses then need not be asked"
)]
#[inline(always)]
pub(super) unsafe fn enqueue(
    stream: StreamRef<'_>,
    (write, read): (Option<Access<'_>>, Option<Access<'_>>),
    asked: Call<impl Fn() -> usize + Copy>,
    call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t + Copy,
) -> Result<()> {
    match (write, read) {
        // SAFETY: the caller's duties are just these.
        (Some(write), Some(read)) => unsafe { stream.enqueue_call([write, read], asked, call) },
        // SAFETY: as above.
        (Some(one), None) | (None, Some(one)) => unsafe { stream.enqueue_call([one], asked, call) },
        // SAFETY: as above.
        (None, None) => unsafe { stream.enqueue_call([], asked, call) },
    }
}

/// Submits one call to a legacy stream. If the call `waits`, it returns only when the stream has done all
/// that it was given, this included.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses; and the call does wait if that is said.
#[inline]
pub(super) unsafe fn block(
    legacy: StreamRef<'_>,
    (write, read): (Option<Access<'_>>, Option<Access<'_>>),
    waits: bool,
    asked: Call<impl Fn() -> usize + Copy>,
    call: impl Fn(sys::cudaStream_t) -> sys::cudaError_t + Copy,
) -> Result<()> {
    match (write, read) {
        // SAFETY: the caller's duties are just these.
        (Some(write), Some(read)) => unsafe {
            legacy.enqueue_call_blocking([write, read], waits, asked, call)
        },
        // SAFETY: as above.
        (Some(one), None) | (None, Some(one)) => unsafe {
            legacy.enqueue_call_blocking([one], waits, asked, call)
        },
        // SAFETY: as above.
        (None, None) => unsafe { legacy.enqueue_call_blocking([], waits, asked, call) },
    }
}

/// Submits a copy of the staged engine, which is complete when `run` returns.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses; and `run` waits for the stream.
pub(super) unsafe fn staged(
    stream: StreamRef<'_>,
    (write, read): (Option<Access<'_>>, Option<Access<'_>>),
    place: &'static Location<'static>,
    run: impl FnOnce(sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    // One side is pageable.
    let accesses = write.or(read);
    // SAFETY: the caller's duties are just these.
    unsafe { stream.enqueue_blocking(accesses.as_slice(), place, run) }
}

/// Submits a batch, whose accesses were put in order before.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[inline]
pub(super) unsafe fn batch(
    stream: StreamRef<'_>,
    accesses: &Sorted<'_>,
    place: &'static Location<'static>,
    calls: impl FnOnce(sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's duties are just these.
    unsafe { stream.enqueue_sorted(accesses, place, calls) }
}

/// Submits a batch of one.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[cfg(cudart_13_2)]
pub(super) unsafe fn batch_of_one(
    stream: StreamRef<'_>,
    (write, read): (Option<Access<'_>>, Option<Access<'_>>),
    place: &'static Location<'static>,
    calls: impl FnOnce(sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    let accesses: Vec<Access<'_>> = write.into_iter().chain(read).collect();
    // SAFETY: the caller's duties are just these.
    unsafe { stream.enqueue_at(&accesses, place, calls) }
}
