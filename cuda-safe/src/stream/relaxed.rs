//! The relaxed capture mode: it lets a thread allocate, free, wait and ask while some thread captures.
//!
//! A capture forbids calls that it cannot record. It forbids them to its own thread and, if it was begun in
//! global mode, to every thread of the process whose own mode is not relaxed. Such a call fails and ends the
//! capture: a call is therefore never tried first and repeated in relaxed mode. A program makes and drops
//! owners of memory at any time, and their allocations are never part of a graph. It also waits for streams
//! and events that no capture has, and asks them. Therefore a capture must not stop these calls, and they
//! must not end it.
//!
//! Two exchanges of the mode around every call would cost as much as some of these calls. Instead, the first
//! such call of a thread makes the thread relaxed, and it stays relaxed. (Staged copies take longer, so they
//! restore the mode.) The program thereby loses a check of *raw* calls on that thread: in a raw
//! capture, the runtime no longer refuses a raw `cudaMalloc` there. To get the check back for a thread, call
//! `cudaThreadExchangeStreamCaptureMode` after the thread's first such call: the crate sets the mode once
//! for each thread and never again. Graphs stay correct in both cases: functions of this crate that do not
//! belong in a capture refuse it themselves.
#![expect(unsafe_code, reason = "exchanges the thread's capture mode")]

use std::cell::Cell;

use crate::error::Result;
use crate::{check, sys};

thread_local! {
    static RELAXED: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread relaxed, so that captures do not forbid its calls.
#[inline]
#[track_caller]
pub(crate) fn relax() -> Result<()> {
    if RELAXED.get() { Ok(()) } else { first_time() }
}

#[cold]
#[track_caller]
fn first_time() -> Result<()> {
    let mut mode = sys::cudaStreamCaptureModeRelaxed;
    // SAFETY: the pointer is to a live variable, which the call reads and then fills with the thread's
    // former mode.
    unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut mode)) }?;
    RELAXED.set(true);
    Ok(())
}
