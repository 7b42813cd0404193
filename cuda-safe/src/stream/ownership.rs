//! Which per-thread streams belong to the calling thread, and whether it has retired them.

use std::cell::{Cell, RefCell};

use cuda_hazard::{Timeline, TimelineId};

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
