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
pub(crate) struct Want {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

impl Want {
    /// Whether there is nothing that it wants.
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
pub struct First {
    pub(crate) epoch: Epoch,
    pub(crate) call_site: Option<CallSite>,
}

/// What an operation that is being entered knows about earlier ones.
pub(crate) trait View {
    /// The operation itself.
    fn me(&self) -> Epoch;
    /// Whether `epoch` has completed, which is so for everybody.
    fn completed(&self, epoch: Epoch) -> bool;
    /// Whether `epoch` is ordered before the operation, for example because it is of the same stream.
    fn is_after(&self, epoch: Epoch) -> bool;
}

/// A view that knows the legacy rule and what is read during the call.
pub(crate) trait FullView: View + Sized {
    /// The same without what the legacy rule gives this very operation: of what is read during the call,
    /// before the stream is there. What the rule gave earlier ones counts, since as long as these have not
    /// come to it the stream has something to do.
    fn at_call(&self) -> Self;

    /// Whether `epoch` is ordered before an access of the operation, which is one that may be made during the
    /// call or not.
    #[inline]
    fn puts_behind(&self, at_call: bool, epoch: Epoch) -> bool {
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
    pub(crate) fn new(want: Want, epoch: Epoch, call_site: Option<CallSite>) -> Self {
        Self { start: want.start, end: want.end, mode: want.mode, epoch, call_site }
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
    pub epoch: Epoch,
    /// Where it was given, if that was kept.
    pub call_site: Option<CallSite>,
}

/// Whether the part of `entry` that `want` covers need not be remembered once `want` is on record.
#[inline]
pub(crate) fn redundant<V: View>(entry: &Entry, want: Want, view: &V) -> bool {
    if want.writes() || entry.mode == Mode::Read {
        view.is_after(entry.epoch)
    } else {
        view.completed(entry.epoch)
    }
}

/// The parts of `entry` that `want` does not cover.
pub(crate) fn outside(entry: &Entry, want: Want) -> impl Iterator<Item = Entry> + use<> {
    let left = (entry.start < want.start).then_some(Entry { end: want.start, ..*entry });
    let right = (entry.end > want.end).then_some(Entry { start: want.end, ..*entry });
    left.into_iter().chain(right)
}
