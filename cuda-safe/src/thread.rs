//! What each thread is in the middle of.

use std::cell::Cell;

/// What a thread is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Nothing of this crate's.
    Idle,
    /// The closure of an `enqueue`, with a stream locked.
    Entering,
    /// A host function that a stream runs.
    Callback,
}

thread_local! {
    static BUSY: Cell<Busy> = const { Cell::new(Busy::Idle) };
}

/// What the thread is in the middle of.
#[inline]
pub(crate) fn busy() -> Busy {
    BUSY.get()
}

/// Changes what the thread is in the middle of; gives what it was before.
#[inline]
pub(crate) fn set_busy(busy: Busy) -> Busy {
    BUSY.replace(busy)
}
