//! Lets a thread allocate and free while some thread captures.
//!
//! A capture forbids calls that it cannot record: to its own thread, and, if it was begun in global mode, to
//! every thread of the process whose own mode is not relaxed. Such a call fails, and it ends the capture: a
//! call is therefore never tried first and repeated in relaxed mode. Owners of memory come and go when it
//! suits the program, and memory that they allocate and free is never part of a graph, so they must not be
//! stopped.
//!
//! Two exchanges of the mode around every call would cost as much as some of these calls. So a thread becomes
//! relaxed when it first allocates or frees, and stays so. (Staged copies take longer, so they restore the
//! mode.) The program loses a check of *raw* calls on that thread: in a raw capture, the runtime no longer
//! refuses a raw `cudaMalloc` there.
//!
//! To switch this off for a thread, call `cudaThreadExchangeStreamCaptureMode` after the thread's first
//! allocation: the crate sets the mode once for each thread and never again. Graphs stay right in both cases:
//! verbs of this crate that do not belong in a capture refuse by themselves.
#![expect(unsafe_code, reason = "exchanges the thread's capture mode")]

use std::cell::Cell;

use crate::error::Result;
use crate::{check, sys};

thread_local! {
    static RELAXED: Cell<bool> = const { Cell::new(false) };
}

/// Makes the runtime accept calls of the calling thread that a capture would otherwise forbid.
#[inline]
#[track_caller]
pub(crate) fn relax() -> Result<()> {
    if RELAXED.get() { Ok(()) } else { first_time() }
}

#[cold]
#[track_caller]
fn first_time() -> Result<()> {
    let mut mode = sys::cudaStreamCaptureModeRelaxed;
    // SAFETY: the pointer is to a live variable, which the call reads and then fills with the thread's former
    // mode.
    unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut mode)) }?;
    RELAXED.set(true);
    Ok(())
}
