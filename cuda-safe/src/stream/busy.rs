//! What the calling thread is in the middle of: handing an operation to CUDA, or running a host function for
//! a stream.
//!
//! Either forbids what could wait for the thread itself.

use crate::error::{Detail, Error, Result};
use crate::thread::{Busy, busy, set_busy};

/// Puts the thread back to what it was in before.
pub(crate) struct Entered(Busy);

impl Entered {
    /// The thread goes on with what it has begun, being idle before: [`Begun`] puts it back then.
    #[inline]
    pub(super) fn goes_on(self) {
        let _ = std::mem::ManuallyDrop::new(self);
    }
}

/// Puts a thread back that was idle before.
pub(super) struct Begun;

impl Drop for Begun {
    #[inline]
    fn drop(&mut self) {
        set_busy(Busy::Idle);
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        set_busy(self.0);
    }
}

/// The thread begins to hand an operation to CUDA, if it is in the middle of nothing.
#[inline]
pub(super) fn try_enter() -> Option<Entered> {
    if busy() != Busy::Idle {
        return None;
    }
    set_busy(Busy::Entering);
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

/// The thread begins to run a host function.
#[inline]
pub(crate) fn enter_callback() -> Entered {
    Entered(set_busy(Busy::Callback))
}

/// Refuses what may not be done in the middle of an operation or of a host function.
///
/// # Errors
/// `Nested` or `InCallback`.
#[inline]
#[track_caller]
pub(crate) fn ensure_idle(api: &'static str) -> Result<()> {
    if busy() == Busy::Idle { Ok(()) } else { Err(refused(api)) }
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
    busy() == Busy::Callback
}
