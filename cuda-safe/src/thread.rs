//! What the crate keeps of each thread.
//!
//! All in one place: every operation looks at it, and behind the driver each line of the cache has to be fetched again.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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

struct Thread {
    number: Cell<u64>,
    busy: Cell<Busy>,
}

thread_local! {
    static THREAD: Thread = const { Thread { number: Cell::new(NOBODY), busy: Cell::new(Busy::Idle) } };
}

/// The number of a thread that has asked for none. Others count from 1.
const NOBODY: u64 = u64::MAX / 2;

/// The number of the thread, which no other thread of the process has or will have; until it needs one, a number that is
/// nobody's.
#[inline]
pub(crate) fn number() -> u64 {
    THREAD.with(|thread| thread.number.get())
}

/// The number of the thread, given to it now if it has none.
pub(crate) fn number_of_its_own() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    THREAD.with(|thread| {
        if thread.number.get() == NOBODY {
            thread.number.set(LAST.fetch_add(1, Relaxed) + 1);
        }
        thread.number.get()
    })
}

/// What the thread is in the middle of.
#[inline]
pub(crate) fn busy() -> Busy {
    THREAD.with(|thread| thread.busy.get())
}

/// Changes what the thread is in the middle of; gives what it was before.
#[inline]
pub(crate) fn set_busy(busy: Busy) -> Busy {
    THREAD.with(|thread| thread.busy.replace(busy))
}
