//! The fast path of an operation: what a program finds that does again what it did before, or that orders its
//! streams itself.
//!
//! There is nothing then to order the operation after, and nothing to wait for. These are the steps, by the
//! names that the literature has for them:
//! - *Biased locking* (Kawachiya and others, 2002): a stream's lock belongs to the thread that uses it, until
//!   another one wants it ([`lock`](crate::lock)).
//! - *Same epoch, and ownership* (FastTrack): the last access to a whole allocation was of the same stream,
//!   so the stream's own order covers all before it. The next epoch takes the last one's place by one compare
//!   and exchange, or by a store where the access is by an exclusive borrow.
//! - *Epoch covered by the clock* (FastTrack): the last access was of another stream, which this one waits
//!   for already.
//! - An interval of an allocation: the list's entries that conflict with it are covered so too. It is entered
//!   under the list's lock.
//! - A prepared list of intervals that its stream enters again: one epoch stands for all of them, until
//!   anybody else looks at the list (a run: `prepared`).
//!
//! # Why it need not be the usual order of steps
//! The slow path enters allocations in the order of their addresses, because it may wait at one for who has
//! come to it before. Here nobody waits: where no entry is possible, the operation gives its sequence number
//! up, which is then published like that of a failed one, and takes the slow path with the next one. So
//! whoever waits for this operation waits for one that comes to its end.
#![expect(unsafe_code, reason = "declares how operations begin")]

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::knowledge::Known;
use crate::ledger::{Access, Next};
use crate::prepared::{Repeat, Sorted};
use crate::primitives::fence;
use crate::slot::{Lane, LaneGuard, Slot};
use crate::submission::{Accesses, Operation, Submission};
use crate::table::Books;

/// So many accesses that are not all whole take the slow path, where the parts of an allocation are entered
/// together.
const FEW: usize = 4;

impl Books {
    /// Begins an operation by the fast path. None, with nothing entered that would count, where it has to
    /// take the slow one.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow).
    #[inline]
    pub unsafe fn begin_fast<'a>(
        &'a self,
        slot: &'a Slot,
        operation: Operation<'_, '_>,
    ) -> Option<Submission<'a>> {
        if !operation.acts {
            return None;
        }
        match operation.accesses {
            Accesses::Listed(accesses) => self.begin_listed(slot, accesses),
            Accesses::Prepared(accesses) => self.begin_prepared(slot, accesses),
        }
    }

    #[inline]
    fn begin_listed<'a>(&'a self, slot: &'a Slot, accesses: &[Access<'_>]) -> Option<Submission<'a>> {
        if accesses.is_empty() {
            // It uses no memory that others know of: there is nothing to order it after.
            return Some(Submission::new(slot, slot.lane.lock(), false, false));
        }
        if accesses.len() > FEW && !accesses.iter().all(Access::is_whole) {
            return None;
        }
        let lane = slot.lock_caught_up()?;
        let view = Known::new(self, slot, &lane, false, slot.next_by_owner());
        for (index, access) in accesses.iter().enumerate() {
            let entered = !is_lent(access)
                && if access.is_whole() {
                    enter_whole(access, &view)
                } else {
                    slot.enter_part(&lane, access)
                };
            if !entered {
                slot.give_up(lane, index > 0);
                return None;
            }
        }
        if lent_after_all(accesses) {
            slot.give_up(lane, true);
            return None;
        }
        Some(Submission::new(slot, lane, true, false))
    }

    /// The same of an operation whose accesses were put in order before.
    #[inline]
    fn begin_prepared<'a>(&'a self, slot: &'a Slot, accesses: &Sorted<'_>) -> Option<Submission<'a>> {
        // An access that no borrow stands for is to be held against guards; no access at all is no operation
        // that counts.
        if accesses.kinds().unborrowed || accesses.ends().is_empty() {
            return None;
        }
        let lane = slot.lock_caught_up()?;
        let view = Known::new(self, slot, &lane, false, slot.next_by_owner());
        let (mut rest, mut start) = (accesses.as_slice(), 0);
        for end in accesses.ends() {
            let (group, behind) = rest.split_at_checked(end - start).unwrap_or_default();
            let entered = match group {
                [access] if access.is_whole() => enter_whole(access, &view),
                [first, ..] => first.ledger.stamp_run(accesses.number(), group, slot.next_by_owner()),
                [] => false,
            };
            if !entered {
                slot.give_up(lane, start > 0);
                return None;
            }
            (rest, start) = (behind, *end);
        }
        Some(Submission::new(slot, lane, true, false))
    }

    /// Begins an operation that does again what its stream did last, of which the accesses need not be told.
    /// None, with nothing entered that would count, where the tracker needs more. There is no slow path for
    /// it: that wants the accesses.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow), the accesses being those of all the repeats. Each repeat
    /// stands, whenever it is used, for accesses to the same bytes of one allocation, of the same kinds, in
    /// the same order, be the allocation another one by then; where they are told, for just these.
    #[inline]
    pub unsafe fn begin_repeated<'a>(
        &'a self,
        slot: &'a Slot,
        repeats: &[Repeat<'_, '_>],
    ) -> Option<Submission<'a>> {
        // As above.
        if repeats.is_empty() || repeats.iter().any(|repeat| repeat.unborrowed) {
            return None;
        }
        let lane = slot.lock_caught_up()?;
        for (index, repeat) in repeats.iter().enumerate() {
            if !repeat.ledger.stamp_run(repeat.number, repeat.accesses, slot.next_by_owner()) {
                slot.give_up(lane, index > 0);
                return None;
            }
        }
        Some(Submission::new(slot, lane, true, false))
    }
}

impl Slot {
    /// Locks the stream's end of its queue, if the policy is to order and the legacy rule has nothing for the
    /// next operation.
    #[inline]
    fn lock_caught_up(&self) -> Option<LaneGuard<'_>> {
        let lane = self.lane.lock();
        (self.orders.load(Relaxed) && self.is_caught_up(&lane)).then_some(lane)
    }

    /// Enters an access to a part of an allocation where the list of that puts nothing in its way that the
    /// stream is not ordered after. Returns false, with nothing entered, where anything else is the case.
    #[inline(never)]
    fn enter_part(&self, lane: &Lane, access: &Access<'_>) -> bool {
        access.ledger.stamp_part(access, self.next_by_owner(), &lane.clock, self.is_solid())
    }

    /// An operation comes no further on the fast path. If any access was `entered` for it, its sequence
    /// number is published like that of a failed one.
    #[cold]
    #[inline(never)]
    fn give_up(&self, lane: LaneGuard<'_>, entered: bool) {
        if entered {
            drop(Submission::new(self, lane, true, false));
        }
    }
}

/// Enters an access to a whole allocation. Returns false, with nothing entered, where that takes the slow
/// path.
///
/// So does the first use of an allocation: two threads that use the same new ones in different orders would
/// both give up half-way, and each wait for what the other one has given up.
#[inline]
fn enter_whole(access: &Access<'_>, view: &Known<'_>) -> bool {
    !access.ledger.is_unused() && access.ledger.stamp_next(access, view) == Next::Entered
}

/// Whether the host has memory that the access would reach without a borrow.
#[inline]
fn is_lent(access: &Access<'_>) -> bool {
    access.unborrowed && access.ledger.lent_against(access.mode)
}

/// Whether the host has memory that one of the accesses, which are entered, would reach without a borrow.
/// Asked again, now that whoever takes a guard from here on sees the entries; the slow path then refuses the
/// operation.
#[inline]
fn lent_after_all(accesses: &[Access<'_>]) -> bool {
    if !accesses.iter().any(|access| access.unborrowed) {
        return false;
    }
    fence(SeqCst);
    accesses.iter().any(is_lent)
}
