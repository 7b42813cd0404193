//! What the calling thread is in the middle of: handing an operation to CUDA, running a host function for
//! a stream, or its end; and which streams are its own.
//!
//! Either of the first two forbids what could wait for the thread itself.

use std::cell::{Cell, RefCell};
use std::panic::Location;

use cuda_hazard::{Timeline, TimelineId};

use crate::callback::{self, Activity};
use crate::error::{Detail, Error, Result};

pub(crate) use crate::callback::{Entered, enter_callback, in_callback};

thread_local! {
    /// The thread's own streams, as the tracker knows them.
    static OWN: RefCell<Vec<TimelineId>> = const { RefCell::new(Vec::new()) };
    /// Whether the thread has given its streams back. What variables of the thread do when they are dropped
    /// later, would be taken for what another thread does that has a timeline now.
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// What is refused to a thread that has given its streams back.
pub(super) const ENDED: Detail =
    Detail::Unsupported { what: "the default stream of a thread that is ending" };

/// The thread has given its streams back.
pub(super) fn end() {
    ENDING.set(true);
}

/// Refuses the streams of a thread that has given them back.
#[inline]
#[track_caller]
pub(super) fn ensure_going_on(api: &'static str) -> Result<()> {
    if ENDING.get() { Err(Error::refused(api, ENDED)) } else { Ok(()) }
}

/// The thread has a stream of its own with this timeline.
pub(super) fn owns(timeline: TimelineId) {
    // A thread whose variables are gone is ending.
    let _ = OWN.try_with(|own| own.borrow_mut().push(timeline));
}

/// Whether the timeline is that of a stream of the calling thread.
pub(super) fn is_mine(timeline: &Timeline) -> bool {
    OWN.try_with(|own| own.borrow().contains(&timeline.id)).unwrap_or(false)
}

/// The thread begins to hand an operation to CUDA.
///
/// # Errors
/// `Nested` if it is already at that, `InCallback` in a host function.
#[inline]
#[track_caller]
pub(super) fn enter(api: &'static str) -> Result<Entered> {
    begin(api, Location::caller())
}

/// [`enter`] on behalf of a call site elsewhere.
///
/// # Errors
/// As for `enter`.
#[inline]
pub(super) fn begin(api: &'static str, call_site: &'static Location<'static>) -> Result<Entered> {
    if callback::activity() == Activity::None {
        return Ok(callback::begin(Activity::Entering));
    }
    Err(refused(api).at(call_site))
}

/// Refuses what may not be done in the middle of an operation or of a host function.
///
/// # Errors
/// `Nested` or `InCallback`.
#[inline]
#[track_caller]
pub(crate) fn ensure_idle(api: &'static str) -> Result<()> {
    if callback::activity() == Activity::None { Ok(()) } else { Err(refused(api)) }
}

/// The refusal for what the thread is in the middle of.
#[cold]
#[track_caller]
fn refused(api: &'static str) -> Error {
    let detail = if in_callback() { Detail::InCallback } else { Detail::Nested };
    Error::refused(api, detail)
}
