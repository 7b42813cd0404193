//! What the calling thread is doing: submitting an operation, running a host function, making a capture.
//!
//! A thread that runs a host function must not call CUDA, and neither must the closure of an operation.
//! [`enter_callback`] and [`enter_operation`] note which of the two the thread is in. While it makes a
//! capture, its operations may become part of a graph. Every operation asks for both, so they are variables
//! of the thread beside each other.

use std::cell::Cell;

/// What the thread must not be disturbed in.
#[derive(Clone, Copy, Debug)]
enum Busy {
    /// Nothing of this crate's.
    Idle,
    /// Submitting an operation, with a stream locked.
    Entering,
    /// Running a host function.
    Callback,
}

thread_local! {
    static BUSY: Cell<Busy> = const { Cell::new(Busy::Idle) };
    /// Whether the thread makes a capture.
    static CAPTURES: Cell<bool> = const { Cell::new(false) };
}

/// Restores the thread's previous state when dropped.
pub(crate) struct Entered(Busy);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        BUSY.set(self.0);
    }
}

/// The thread begins to submit an operation. Returns `None` if it already submits one, or runs a host
/// function.
#[inline]
pub(crate) fn enter_operation() -> Option<Entered> {
    if !matches!(BUSY.get(), Busy::Idle) {
        return None;
    }
    BUSY.set(Busy::Entering);
    Some(Entered(Busy::Idle))
}

/// The thread begins to run a host function.
#[inline]
pub(crate) fn enter_callback() -> Entered {
    Entered(BUSY.replace(Busy::Callback))
}

/// Returns whether the calling thread neither submits an operation nor runs a host function.
#[inline]
pub(crate) fn is_idle() -> bool {
    matches!(BUSY.get(), Busy::Idle)
}

/// Returns whether the calling thread runs a host function, and so must not call CUDA.
#[inline]
pub(crate) fn in_callback() -> bool {
    matches!(BUSY.get(), Busy::Callback)
}

/// Returns whether the calling thread makes a capture.
#[inline]
pub(crate) fn is_capturing() -> bool {
    CAPTURES.get()
}

/// Notes whether the calling thread makes a capture. Only the recorder of captures calls this.
pub(crate) fn set_capturing(captures: bool) {
    CAPTURES.set(captures);
}
