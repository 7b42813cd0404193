//! The calls that take memory from pools or give it back, while they are under way.
//!
//! A pool counts freed memory as unused before `cudaFreeAsync` has put the free on its stream. A wait for the
//! device that begins meanwhile does not wait for that free, and the pool must not be destroyed then
//! ([`gone`](super::gone)). So these calls are counted, and [`have_returned`] tells that all those have
//! returned that were under way when it was called.
//!
//! There are two counts, and calls are entered in one of them. After new calls are sent to the other one, the
//! first one goes to 0. Both are emptied in this way, because a call may be entered late in the one that was
//! read early. Programs that make no pool of their own pay a load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Whether the program has made a pool. The default pools are never destroyed.
static COUNTED: AtomicBool = AtomicBool::new(false);

/// The last bit is the count that calls are entered in.
static NOW: AtomicUsize = AtomicUsize::new(0);

static UNDER_WAY: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// How often a thread yields for calls that are under way.
const PATIENCE: usize = 2000;

/// A call that takes memory from a pool or gives it back. Made before, and dropped after it.
#[derive(Debug)]
pub(crate) struct PoolCall(Option<&'static AtomicUsize>);

impl PoolCall {
    #[inline]
    pub(crate) fn begin() -> Self {
        if COUNTED.load(SeqCst) { Self::counted() } else { Self(None) }
    }

    fn counted() -> Self {
        let [first, second] = &UNDER_WAY;
        let count = if NOW.load(SeqCst) & 1 == 0 { first } else { second };
        count.fetch_add(1, SeqCst);
        Self(Some(count))
    }
}

impl Drop for PoolCall {
    #[inline]
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, SeqCst);
        }
    }
}

/// Counts the calls from now on. Called before the program has its first pool.
pub(super) fn count() {
    COUNTED.store(true, SeqCst);
}

/// Returns whether every call has returned that was under way. Waits for them, but not for long.
pub(super) fn have_returned() -> bool {
    static TURN: Mutex<()> = Mutex::new(());
    let Ok(_turn) = TURN.try_lock() else { return false };
    let [first, second] = &UNDER_WAY;
    [(); 2].iter().all(|()| {
        let former = if NOW.fetch_add(1, SeqCst) & 1 == 0 { first } else { second };
        (0..PATIENCE).any(|_| {
            let gone = former.load(SeqCst) == 0;
            if !gone {
                std::thread::yield_now();
            }
            gone
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{PoolCall, count, have_returned};
    use crate::stream::CAPTURE_OR_WAIT;

    #[test]
    fn calls_that_are_under_way_are_known() {
        // The test of `gone` must find no call under way.
        let _turn = crate::lock::lock(&CAPTURE_OR_WAIT);
        count();
        let call = PoolCall::begin();
        assert!(!have_returned());
        drop(call);
        // Other tests' calls return, too.
        while !have_returned() {}
    }
}
