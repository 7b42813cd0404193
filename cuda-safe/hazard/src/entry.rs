//! An access on record, and what makes that needless.
//!
//! An entry is dropped, in part or whole, once a later access makes it redundant: a write makes redundant
//! whatever it covers and is ordered after; a read likewise makes redundant the reads that it covers. That
//! loses nothing, because whoever is ordered after the later access is then ordered after the earlier one.

use crate::access::{Mode, Want};
use crate::clock::Stamp;
use crate::waits::Place;

/// What an operation that is being entered knows about earlier ones.
pub(crate) trait View {
    /// The operation itself.
    fn me(&self) -> Stamp;
    /// Whether `stamp` has completed, which is so for everybody.
    fn completed(&self, stamp: Stamp) -> bool;
    /// Whether `stamp` is ordered before the operation, for one because it is of the same stream.
    fn knows(&self, stamp: Stamp) -> bool;
}

/// An access on record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
    pub(crate) stamp: Stamp,
    pub(crate) place: Option<Place>,
}

impl Entry {
    #[inline]
    pub(crate) fn new(want: Want, stamp: Stamp, place: Option<Place>) -> Self {
        Self { start: want.start, end: want.end, mode: want.mode, stamp, place }
    }

    /// Whether the two accesses must not run at once, whoever makes them.
    pub(crate) fn conflicts(&self, want: Want) -> bool {
        want.writes() || self.mode == Mode::Write
    }

    /// Whether it is of just these bytes.
    #[inline]
    pub(crate) fn is_of(&self, start: usize, end: usize) -> bool {
        (self.start, self.end) == (start, end)
    }
}

/// A conflict found: an earlier access that the new one is not known to be ordered after.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    /// The earlier operation.
    pub stamp: Stamp,
    /// Where it was given, if that was kept.
    pub place: Option<Place>,
}

/// Whether the part of `entry` that `want` covers need not be remembered once `want` is on record.
#[inline]
pub(crate) fn redundant<V: View>(entry: &Entry, want: Want, view: &V) -> bool {
    if want.writes() || entry.mode == Mode::Read {
        view.knows(entry.stamp)
    } else {
        view.completed(entry.stamp)
    }
}

/// The parts of `entry` that `want` does not cover.
pub(crate) fn outside(entry: &Entry, want: Want) -> impl Iterator<Item = Entry> + use<> {
    let left = (entry.start < want.start).then_some(Entry { end: want.start, ..*entry });
    let right = (entry.end > want.end).then_some(Entry { start: want.end, ..*entry });
    left.into_iter().chain(right)
}
