//! What lets a thread allocate and free while some thread captures.
//!
//! A capture forbids calls that it cannot record: to its own thread, and, where it was begun in global mode, to every thread
//! of the process whose own mode is not relaxed. Such a call fails, and it spoils the capture. Owners of memory come and go
//! when it suits the program, and what they allocate and free is never part of a graph, so they must not be stopped.
//!
//! Exchanging the thread's mode and back around every call would cost as much again as some of these calls, so a thread is
//! made relaxed when it first allocates or frees, and stays so. What that takes from the program is a check of *raw* calls
//! on that thread: in a raw capture, the runtime no longer refuses a raw `cudaMalloc` there. Raw code that wants the check
//! sets the mode itself, which stays: this is done once for a thread, and never again. Graphs stay right
//! either way: verbs of this crate that do not belong in a capture refuse by themselves.
#![expect(unsafe_code, reason = "exchanges the thread's capture mode")]

use std::cell::Cell;

use crate::error::Result;
use crate::{check, sys};

thread_local! {
    static RELAXED: Cell<bool> = const { Cell::new(false) };
}

/// Has the calling thread's calls let through that a capture would otherwise forbid.
#[inline]
#[track_caller]
pub(crate) fn relax() -> Result<()> {
    if RELAXED.get() { Ok(()) } else { first_time() }
}

#[cold]
#[track_caller]
fn first_time() -> Result<()> {
    let mut mode = sys::cudaStreamCaptureModeRelaxed;
    // SAFETY: the pointer is to a live variable, which the call reads and then fills with the thread's former mode.
    unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut mode)) }?;
    RELAXED.set(true);
    Ok(())
}
