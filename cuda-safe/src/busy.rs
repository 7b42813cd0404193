//! Refuses what the calling thread must not do now.
//!
//! Inside an operation or a host function, the thread must not start anything that could wait for the
//! thread itself.

use std::panic::Location;

use crate::callback::{self, Entered};
use crate::error::{Detail, Error, Result};

/// The thread begins to submit an operation.
///
/// # Errors
/// Returns `InCallback` if it already submits one, or inside a host function.
#[inline]
#[track_caller]
pub(crate) fn enter(api: &'static str) -> Result<Entered> {
    begin(api, Location::caller())
}

/// [`enter`] for another call site.
///
/// # Errors
/// As `enter`.
#[inline]
pub(crate) fn begin(api: &'static str, call_site: &'static Location<'static>) -> Result<Entered> {
    match callback::enter_operation() {
        Some(entered) => Ok(entered),
        None => Err(refused(api).at(call_site)),
    }
}

/// Refuses a call inside an operation or a host function.
///
/// # Errors
/// Returns `InCallback`.
#[inline]
#[track_caller]
pub(crate) fn ensure_idle(api: &'static str) -> Result<()> {
    if callback::is_idle() { Ok(()) } else { Err(refused(api)) }
}

/// Returns the refusal for the thread's current state.
#[cold]
#[track_caller]
fn refused(api: &'static str) -> Error {
    let detail = if callback::in_callback() { Detail::IN_CALLBACK } else { Detail::NESTED };
    Error::refused(api, detail)
}
