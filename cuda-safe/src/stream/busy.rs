//! What the calling thread is in the middle of: handing an operation to CUDA, or running a host function for
//! a stream.
//!
//! Either forbids what could wait for the thread itself.

use std::cell::Cell;
use std::panic::Location;

use crate::error::{Detail, Error, Result};

/// What a thread is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    /// Nothing of this crate's.
    Idle,
    /// An operation, with a stream locked.
    Entering,
    /// A host function that a stream runs.
    Callback,
}

thread_local! {
    static BUSY: Cell<Busy> = const { Cell::new(Busy::Idle) };
}

/// Puts the thread back to what it was in before.
pub(crate) struct Entered(Busy);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        BUSY.set(self.0);
    }
}

/// The thread begins to hand an operation to CUDA, if it is in the middle of nothing.
#[inline]
pub(super) fn try_enter() -> Option<Entered> {
    if BUSY.get() != Busy::Idle {
        return None;
    }
    BUSY.set(Busy::Entering);
    Some(Entered(Busy::Idle))
}

/// The thread begins to hand an operation to CUDA.
///
/// # Errors
/// `Nested` if it is already at that, `InCallback` in a host function.
#[inline]
#[track_caller]
pub(super) fn enter(api: &'static str) -> Result<Entered> {
    // No closure, which would hide the caller.
    match try_enter() {
        Some(entered) => Ok(entered),
        None => Err(refused(api)),
    }
}

/// [`enter`] on behalf of a call site elsewhere.
///
/// # Errors
/// As for `enter`.
#[inline]
pub(super) fn begin(api: &'static str, place: &'static Location<'static>) -> Result<Entered> {
    try_enter().ok_or_else(|| refused(api).at(place))
}

/// The thread begins to run a host function.
#[inline]
pub(crate) fn enter_callback() -> Entered {
    Entered(BUSY.replace(Busy::Callback))
}

/// Refuses what may not be done in the middle of an operation or of a host function.
///
/// # Errors
/// `Nested` or `InCallback`.
#[inline]
#[track_caller]
pub(crate) fn ensure_idle(api: &'static str) -> Result<()> {
    if BUSY.get() == Busy::Idle { Ok(()) } else { Err(refused(api)) }
}

/// The refusal for what the thread is in the middle of.
#[cold]
#[track_caller]
fn refused(api: &'static str) -> Error {
    let detail = if in_callback() { Detail::InCallback } else { Detail::Nested };
    Error::refused(api, detail)
}

/// Whether the calling thread is running a host function for a stream, and so may not call CUDA.
#[inline]
pub(crate) fn in_callback() -> bool {
    BUSY.get() == Busy::Callback
}
