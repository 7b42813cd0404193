//! Refuses what the calling thread must not do now: inside an operation or a host function, or while the
//! thread ends. Also knows which per-thread streams belong to the thread.
//!
//! Inside an operation or a host function, the thread must not start anything that could wait for the
//! thread itself.

use std::cell::{Cell, RefCell};
use std::panic::Location;

use cuda_hazard::{Timeline, TimelineId};

use crate::callback::{self, Entered};
use crate::error::{Detail, Error, Result};

thread_local! {
    /// The timelines of the thread's own streams.
    static OWN: RefCell<Vec<TimelineId>> = const { RefCell::new(Vec::new()) };
    /// Whether the thread has retired its streams. Variables of the thread that are dropped later must
    /// not use them, because another thread may have the timelines by then.
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Returns the refusal for a thread that has retired its streams.
#[cold]
#[track_caller]
pub(super) fn ended(api: &'static str) -> Error {
    Error::refused(api, Detail::unsupported("the default stream of a thread that is ending"))
}

/// The thread has retired its streams.
pub(super) fn end() {
    ENDING.set(true);
}

/// Refuses the streams of a thread that has retired them.
#[inline]
#[track_caller]
pub(super) fn ensure_not_ending(api: &'static str) -> Result<()> {
    if ENDING.get() { Err(ended(api)) } else { Ok(()) }
}

/// Records that the thread has a stream with this timeline.
pub(super) fn owns(timeline: TimelineId) {
    // If the thread's variables are gone, the thread is ending.
    let _ = OWN.try_with(|own| own.borrow_mut().push(timeline));
}

/// Returns whether the timeline is that of a stream of the calling thread.
pub(super) fn is_mine(timeline: &Timeline) -> bool {
    OWN.try_with(|own| own.borrow().contains(&timeline.id)).unwrap_or(false)
}

/// The thread begins to submit an operation.
///
/// # Errors
/// Returns `InCallback` if it already submits one, or inside a host function.
#[inline]
#[track_caller]
pub(super) fn enter(api: &'static str) -> Result<Entered> {
    begin(api, Location::caller())
}

/// [`enter`] for another call site.
///
/// # Errors
/// As `enter`.
#[inline]
pub(super) fn begin(api: &'static str, call_site: &'static Location<'static>) -> Result<Entered> {
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
