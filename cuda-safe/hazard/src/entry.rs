//! Accesses of one allocation on record, and what makes that needless.
//!
//! An entry is dropped, in part or whole, once a later access makes it redundant: a write makes redundant
//! whatever it covers and is ordered after; a read likewise makes redundant the reads that it covers. That
//! loses nothing, because whoever is ordered after the later access is then ordered after the earlier one.

use crate::clock::Epoch;
use crate::wait_log::CallSite;

/// Whether bytes are read or written. What is both is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only read: any number of these may run at once.
    Read,
    /// Written, or read and written.
    Write,
}

/// An access whose allocation is understood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

impl Interval {
    /// Whether there is nothing that it intervals.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether the access is a write.
    #[inline]
    pub(crate) fn writes(self) -> bool {
        self.mode == Mode::Write
    }
}

/// The operation that made an allocation, which its access history begins with.
#[derive(Clone, Copy, Debug)]
pub struct FirstWrite {
    pub(crate) epoch: Epoch,
    pub(crate) call_site: Option<CallSite>,
}

/// What an operation that is being entered knows about earlier ones.
pub(crate) trait View {
    /// The operation itself.
    fn me(&self) -> Epoch;
    /// Whether `enter` has completed, which is so for everybody.
    fn completed(&self, epoch: Epoch) -> bool;
    /// Whether `enter` is ordered before the operation, for example because it is of the same stream.
    fn is_after(&self, epoch: Epoch) -> bool;
}

/// A view that knows the legacy rule and what is read during the call.
pub(crate) trait FullView: View + Sized {
    /// The same without what the legacy rule gives this very operation: of what is read during the call,
    /// before the stream is there. What the rule gave earlier ones counts, since as long as these have not
    /// come to it the stream has something to do.
    fn at_call(&self) -> Self;

    /// Whether `enter` is ordered before an access of the operation, which is one that may be made during the
    /// call or not.
    #[inline]
    fn orders_before(&self, at_call: bool, epoch: Epoch) -> bool {
        if at_call { self.at_call().is_after(epoch) } else { self.is_after(epoch) }
    }
}

/// An access on record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
    pub(crate) epoch: Epoch,
    pub(crate) call_site: Option<CallSite>,
}

impl Entry {
    #[inline]
    pub(crate) fn new(interval: Interval, epoch: Epoch, call_site: Option<CallSite>) -> Self {
        Self { start: interval.start, end: interval.end, mode: interval.mode, epoch, call_site }
    }

    /// Whether the two accesses must not run at once, whoever makes them.
    pub(crate) fn conflicts(&self, interval: Interval) -> bool {
        interval.writes() || self.mode == Mode::Write
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
    pub epoch: Epoch,
    /// Where it was given, if that was kept.
    pub call_site: Option<CallSite>,
}

/// Whether the part of `entry` that `interval` covers need not be remembered once `interval` is on record.
#[inline]
pub(crate) fn redundant<V: View>(entry: &Entry, interval: Interval, view: &V) -> bool {
    if interval.writes() || entry.mode == Mode::Read {
        view.is_after(entry.epoch)
    } else {
        view.completed(entry.epoch)
    }
}

/// The parts of `entry` that `interval` does not cover.
pub(crate) fn outside(entry: &Entry, interval: Interval) -> impl Iterator<Item = Entry> + use<> {
    let left = (entry.start < interval.start).then_some(Entry { end: interval.start, ..*entry });
    let right = (entry.end > interval.end).then_some(Entry { start: interval.end, ..*entry });
    left.into_iter().chain(right)
}
