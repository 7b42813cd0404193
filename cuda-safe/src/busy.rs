//! Refuses what the calling thread must not do now.
//!
//! Inside an operation or a host function, the thread must not start anything that could wait for the
//! thread itself.

use crate::error::{Detail, Error, Result};
use crate::thread_state::{self, Entered};

/// The thread begins to submit an operation.
///
/// # Errors
/// Returns `InCallback` if it already submits one, or inside a host function.
#[inline]
#[track_caller]
pub(crate) fn enter(api: &'static str) -> Result<Entered> {
    match thread_state::enter_operation() {
        Some(entered) => Ok(entered),
        None => Err(refused(api)),
    }
}

/// Refuses a call inside an operation or a host function.
///
/// # Errors
/// Returns `InCallback`.
#[inline]
#[track_caller]
pub(crate) fn ensure_idle(api: &'static str) -> Result<()> {
    if thread_state::is_idle() { Ok(()) } else { Err(refused(api)) }
}

/// Returns the refusal for the thread's current state.
#[cold]
#[track_caller]
pub(crate) fn refused(api: &'static str) -> Error {
    let detail = if thread_state::in_callback() { Detail::IN_CALLBACK } else { Detail::NESTED };
    Error::refused(api, detail)
}
