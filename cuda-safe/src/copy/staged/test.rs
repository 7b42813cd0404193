//! Points at which tests of the engine let something go wrong. Nothing where there are no tests.

use crate::error::Result;

/// A place in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Pinned memory is about to be allocated.
    Allocate,
    /// A piece is about to be moved.
    Move,
    /// A block is about to be given to the device.
    Submit,
    /// A ring's stream has been waited for, after a failure.
    Drained,
}

#[cfg(not(test))]
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "fails in tests only")]
pub(super) fn point(_: Point) -> Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use armed::{arm, point};

#[cfg(test)]
mod armed {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::{Point, Result};

    type Trap = Arc<dyn Fn(Point) -> Result<()> + Send + Sync>;

    static TRAP: Mutex<Option<Trap>> = Mutex::new(None);

    /// What happens at the points from now on. It may wait, and panic.
    pub(in super::super) fn arm(trap: Option<Trap>) {
        *TRAP.lock().unwrap_or_else(PoisonError::into_inner) = trap;
    }

    pub(in super::super) fn point(at: Point) -> Result<()> {
        let trap = TRAP.lock().unwrap_or_else(PoisonError::into_inner).clone();
        trap.map_or(Ok(()), |trap| trap(at))
    }
}
