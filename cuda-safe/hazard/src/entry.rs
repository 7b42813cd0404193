//! The entries of an access history, and the rule by which one becomes redundant.
//!
//! An entry is dropped, in part or whole, once a later access makes it redundant. A write makes redundant
//! whatever it covers and is ordered after. A read likewise makes redundant the reads that it covers. This
//! loses nothing: what is ordered after the later access is then ordered after the earlier one.

use crate::clock::Epoch;
use crate::wait_log::CallSite;

/// Whether bytes are read or written. Bytes that are both read and written are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only read: any number of reads may run at once.
    Read,
    /// Written, or read and written.
    Write,
}

/// The bytes of its allocation that an access covers, and its mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

impl Interval {
    /// Returns whether it covers no byte.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns whether the access is a write.
    #[inline]
    pub(crate) fn writes(self) -> bool {
        self.mode == Mode::Write
    }
}

/// The operation that made an allocation: the first entry of its access history.
#[derive(Clone, Copy, Debug)]
pub struct FirstWrite {
    pub(crate) epoch: Epoch,
    pub(crate) call_site: Option<CallSite>,
}

/// The work that an operation being entered is ordered after.
pub(crate) trait View {
    /// Returns the operation itself.
    fn me(&self) -> Epoch;
    /// Returns whether `epoch` has completed, which holds for every timeline.
    fn completed(&self, epoch: Epoch) -> bool;
    /// Returns whether `epoch` is ordered before the operation, also if both are of the same stream.
    fn is_after(&self, epoch: Epoch) -> bool;
}

/// An access in an access history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessEntry {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
    pub(crate) epoch: Epoch,
    pub(crate) call_site: Option<CallSite>,
}

impl AccessEntry {
    #[inline]
    pub(crate) fn new(interval: Interval, epoch: Epoch, call_site: Option<CallSite>) -> Self {
        Self { start: interval.start, end: interval.end, mode: interval.mode, epoch, call_site }
    }

    /// Returns whether the two accesses must not run at once, if they have bytes in common.
    pub(crate) fn conflicts(&self, interval: Interval) -> bool {
        interval.writes() || self.mode == Mode::Write
    }

    /// Returns the access as a conflict of another one.
    pub(crate) fn as_conflict(&self) -> Conflict {
        Conflict { epoch: self.epoch, call_site: self.call_site }
    }

    /// Returns whether it covers exactly these bytes.
    #[inline]
    pub(crate) fn is_of(&self, start: usize, end: usize) -> bool {
        (self.start, self.end) == (start, end)
    }
}

/// A conflict: an earlier access that the new one is not ordered after.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    /// The earlier operation.
    pub epoch: Epoch,
    /// Its call site, if that was recorded.
    pub call_site: Option<CallSite>,
}

/// Returns whether the part of `entry` that `interval` covers can be dropped once `interval` is entered.
#[inline]
pub(crate) fn redundant<V: View>(entry: &AccessEntry, interval: Interval, view: &V) -> bool {
    if interval.writes() || entry.mode == Mode::Read {
        view.is_after(entry.epoch)
    } else {
        view.completed(entry.epoch)
    }
}

/// Returns the parts of `entry` that `interval` does not cover.
pub(crate) fn outside(entry: &AccessEntry, interval: Interval) -> impl Iterator<Item = AccessEntry> + use<> {
    let left = (entry.start < interval.start).then_some(AccessEntry { end: interval.start, ..*entry });
    let right = (entry.end > interval.end).then_some(AccessEntry { start: interval.end, ..*entry });
    left.into_iter().chain(right)
}
