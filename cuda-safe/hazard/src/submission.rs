//! One operation on its way to CUDA: begin, call, commit.
//!
//! The tracker is asked first ([`Books::begin_fast`], and where that gives none, [`Books::begin_slow`]): it
//! enters the accesses and adds the waits that are missing. Then the caller makes its call, and commits. The
//! [`Submission`] is all that stands between: it holds the stream's lock and the operation's sequence number.
//! Dropped without a commit, also by a panic, it counts as failed.
#![expect(unsafe_code, reason = "declares how operations are committed")]

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock::{Stamp, Tick};
use crate::device::Kind;
use crate::entry::First;
use crate::ledger::Access;
use crate::policy::Policy;
use crate::prepared::Sorted;
use crate::slot::{Lane, LaneGuard, Slot};
use crate::snapshot::Coverage;
use crate::table::Books;
use crate::waits::{Hazard, Place};

/// An operation that is to be submitted: what it reads and writes, and whether the device has anything to do
/// for it.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'b, 'a> {
    pub(crate) accesses: Accesses<'b, 'a>,
    /// Whether it counts as one of the stream's where it has accesses, being sure to put something on it.
    pub(crate) acts: bool,
}

/// What an operation reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accesses<'b, 'a> {
    /// In any order, some of them perhaps empty.
    Listed(&'b [Access<'a>]),
    /// Put in order before.
    Prepared(&'b Sorted<'a>),
}

impl<'b, 'a> Operation<'b, 'a> {
    /// An operation with these accesses. If any of them has a byte, the device has something to do for it.
    #[must_use]
    #[inline]
    pub fn new(accesses: &'b [Access<'a>]) -> Self {
        Self { accesses: Accesses::Listed(accesses), acts: true }
    }

    /// An operation that is ordered like work on the memory but gives the device nothing to do, so that it
    /// puts neither a blocking stream behind the legacy one nor the other way round.
    #[must_use]
    #[inline]
    pub fn mark(accesses: &'b [Access<'a>]) -> Self {
        Self { accesses: Accesses::Listed(accesses), acts: false }
    }

    /// An operation whose accesses were put in order before: nothing is paid again for how many there are,
    /// but for each its entry.
    #[must_use]
    #[inline]
    pub fn prepared(accesses: &'b Sorted<'a>) -> Self {
        Self { accesses: Accesses::Prepared(accesses), acts: true }
    }

    /// What it reads and writes.
    #[must_use]
    #[inline]
    pub fn accesses(&self) -> &'b [Access<'a>] {
        match self.accesses {
            Accesses::Listed(accesses) => accesses,
            Accesses::Prepared(accesses) => accesses.as_slice(),
        }
    }
}

/// Why an operation was not begun.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<E> {
    /// Nothing orders it after a conflicting one, and the policy is [`Policy::Error`].
    Hazard(Hazard),
    /// It would reach memory that a live host guard lends out.
    HostBorrowed,
    /// A call failed that was to order it.
    Call(E),
}

/// An operation that is entered and not yet CUDA's.
///
/// Its sequence number is published when this is dropped, whatever happens, or others would wait for it for
/// ever.
#[must_use = "dropped, the operation counts as failed"]
pub struct Submission<'a> {
    slot: &'a Slot,
    pub(crate) lane: LaneGuard<'a>,
    tick: Tick,
    /// Whether it counts as one of the stream's, being sure to put something on it.
    acts: bool,
    /// Whether it brings the stream what the legacy rule holds back for it.
    pending: bool,
    done: bool,
}

impl<'a> Submission<'a> {
    /// The next operation of a stream, whose lock is held.
    #[inline]
    pub(crate) fn new(slot: &'a Slot, lane: LaneGuard<'a>, acts: bool, pending: bool) -> Self {
        Self { slot, lane, tick: slot.next_by_owner().tick, acts, pending, done: false }
    }

    /// The operation.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp { slot: self.slot.id, tick: self.tick }
    }

    /// CUDA has the operation, or has refused it.
    #[inline]
    pub fn commit(mut self, done: bool) {
        self.done = done;
    }
}

impl Drop for Submission<'_> {
    #[inline]
    fn drop(&mut self) {
        let slot = self.slot;
        let acted = self.done && self.acts;
        if acted && self.pending {
            Books::commit(slot, &mut self.lane);
        }
        // As the legacy rule has nothing for it, the stream's end proves it as far as it proves those before.
        let proven = acted || !self.pending && slot.provable() + 1 == self.tick;
        slot.publish(self.tick, proven);
        if slot.kind != Kind::NonBlocking {
            slot.tell(&mut self.lane, self.tick, acted);
        }
    }
}

impl fmt::Debug for Submission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Submission({:?})", self.stamp())
    }
}

impl Slot {
    /// Tells the legacy stream, or as the legacy stream all others, of operation `tick`.
    #[cold]
    #[inline(never)]
    fn tell(&self, lane: &mut Lane, tick: Tick, acted: bool) {
        if self.kind != Kind::Legacy {
            self.device.note_news(self.kind);
        } else if acted {
            self.device.acted(tick, lane.untold.then_some(&lane.clock));
            lane.untold = false;
        }
    }
}

impl Books {
    /// Commits an operation that made memory which nobody else has yet, and gives what the memory's access
    /// history begins with.
    ///
    /// Such an operation has no accesses: there is nothing to order it after, and it need not be found in a
    /// history before the memory is there. The device does nothing for it, so that it puts neither a blocking
    /// stream behind the legacy one nor the other way round. (Where it is given memory that the legacy
    /// stream, or another one before it, has yet to come to the end of, as a pool does on the legacy stream's
    /// account, an H200 does put the stream behind that: the stream's end then proves that the memory is
    /// there.)
    #[inline]
    pub fn commit_first(&self, submission: Submission<'_>, at: Place) -> First {
        // Read while the operation holds its stream: the policy that it went by.
        let tells = !submission.slot.orders.load(Relaxed) && self.policy() == Policy::Error;
        let first = First { stamp: submission.stamp(), place: tells.then_some(at) };
        submission.commit(true);
        first
    }

    /// What the end of all that the stream has proves, the operation included. To be read before the call of
    /// one that blocks.
    pub fn covered_by(&self, submission: &Submission<'_>) -> Coverage {
        self.coverage_of(submission.slot).and(submission.stamp())
    }

    /// Commits an operation whose call returned only when the stream had done all that it was given.
    ///
    /// # Safety
    /// So it did, this included, and `covered` is what [`covered_by`](Self::covered_by) gave before the call.
    #[inline]
    pub unsafe fn commit_blocking(&self, submission: Submission<'_>, covered: &Coverage) {
        submission.commit(true);
        // SAFETY: the caller says that all of it is over.
        unsafe { self.completed_all(covered) };
    }
}
