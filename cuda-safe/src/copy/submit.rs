//! The submission of copies and fills: all code of this module that submits work to streams.
#![expect(unsafe_code, reason = "submits operations to streams")]

use std::panic::Location;

use cuda_hazard::Operation;

use crate::error::Result;
use crate::hazard::{Access, SortedAccesses};
use crate::stream::{Call, StreamRef, Submission};
use crate::sys;

/// Submits one call that returns at once.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[inline]
pub(super) unsafe fn enqueue(
    stream: StreamRef<'_>,
    accesses: (Option<Access<'_>>, Option<Access<'_>>),
    asked: Call,
    call: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
) -> Result<()> {
    // SAFETY: the caller has the same duties.
    let submission = unsafe { begin(stream, accesses, &asked) }?;
    let code = call(stream.as_raw());
    submission.commit(code == sys::cudaSuccess);
    asked.check(code)
}

/// Submits one call to a legacy stream. A call that `waits` returns only when the stream has completed
/// everything that was submitted to it, this call included.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses. The call waits if `waits` is set.
#[inline]
pub(super) unsafe fn block(
    legacy: StreamRef<'_>,
    accesses: (Option<Access<'_>>, Option<Access<'_>>),
    waits: bool,
    asked: Call,
    call: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
) -> Result<()> {
    // SAFETY: the caller has the same duties.
    let submission = unsafe { begin(legacy, accesses, &asked) }?;
    // Another thread may submit more during the call, so what the call waits for is read before it.
    let covered = if waits { submission.covers() } else { None };
    let code = call(legacy.as_raw());
    match code {
        // SAFETY: the call has waited for everything that was submitted to the stream.
        sys::cudaSuccess if waits => unsafe { submission.commit_blocking(covered) },
        _ => submission.commit(code == sys::cudaSuccess),
    }
    asked.check(code)
}

/// Begins a copy or a fill. The accesses are passed by value, without a heap allocation.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[expect(clippy::inline_always, reason = "measured: the types of the sides then decide how many there are")]
#[inline(always)]
pub(super) unsafe fn begin(
    stream: StreamRef<'_>,
    accesses: (Option<Access<'_>>, Option<Access<'_>>),
    asked: &Call,
) -> Result<Submission> {
    let begin_all = |accesses: &[Access<'_>]| {
        // SAFETY: the caller has the same duties.
        let begun = unsafe { stream.begin(Operation::new(accesses), asked.call_site) };
        begun.map_err(|error| asked.about(error))
    };
    match accesses {
        (Some(write), Some(read)) => begin_all(&[write, read]),
        (Some(one), None) | (None, Some(one)) => begin_all(&[one]),
        (None, None) => begin_all(&[]),
    }
}

/// Submits a copy of the staged engine, which is complete when `run` returns.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses. `run` waits for the stream.
pub(super) unsafe fn staged(
    stream: StreamRef<'_>,
    (write, read): (Option<Access<'_>>, Option<Access<'_>>),
    call_site: &'static Location<'static>,
    run: impl FnOnce(sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    // One side is pageable.
    let accesses = write.or(read);
    // SAFETY: the caller has the same duties.
    unsafe { stream.enqueue_blocking(accesses.as_slice(), call_site, run) }
}

/// Submits a batch, whose accesses were sorted before.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[inline]
pub(super) unsafe fn batch(
    stream: StreamRef<'_>,
    accesses: &SortedAccesses<'_>,
    call_site: &'static Location<'static>,
    calls: impl FnOnce(sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller has the same duties.
    unsafe { stream.submit(Operation::prepared(accesses), call_site, calls) }
}

/// Submits a batch of one.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses.
#[cfg(cudart_13_2)]
pub(super) unsafe fn batch_of_one(
    stream: StreamRef<'_>,
    (write, read): (Option<Access<'_>>, Option<Access<'_>>),
    call_site: &'static Location<'static>,
    calls: impl FnOnce(sys::cudaStream_t) -> Result<()>,
) -> Result<()> {
    let accesses: Vec<Access<'_>> = write.into_iter().chain(read).collect();
    // SAFETY: the caller has the same duties.
    unsafe { stream.submit(Operation::new(&accesses), call_site, calls) }
}
