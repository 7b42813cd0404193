//! The fast path of an operation: what a program finds that does again what it did before, or that orders its streams itself.
//!
//! There is nothing then to order the operation after, and nothing to wait for. These are the steps, by the names that the literature
//! has for them:
//! - *Biased locking* (Kawachiya and others, 2002): a stream's lock belongs to the thread that uses it, until another one wants it
//!   ([`lock`](crate::lock)).
//! - *Same epoch, and ownership* (FastTrack): the last access to a whole allocation was of the same stream, so the stream's own order
//!   covers all before it. The next epoch takes the last one's place by one compare and exchange, or by a store where the access is
//!   by an exclusive borrow.
//! - *Epoch covered by the clock* (FastTrack): the last access was of another stream, which this one waits for already.
//! - An interval of an allocation: the list's entries that conflict with it are covered so too. It is entered under the list's lock.
//! - A prepared list of intervals that its stream enters again: one epoch stands for all of them, until anybody else looks at the
//!   list (a run: `prepared`).
//!
//! A write that is the operation's only access comes this way too where the stream does not wait yet for the one operation in its way,
//! and that is CUDA's already: the stream is ordered after it first, and the access entered then. So programs do that use their
//! streams in turn.
//!
//! # Why it need not be the usual order of steps
//! The slow path enters allocations in the order of their addresses, because it may wait at one for who has come to it before. Here
//! nobody waits: where no entry is possible, the
//! operation gives its tick up, which is then published like that of a failed one, and takes the slow path with the next one. So whoever
//! waits for this operation waits for one that comes to its end. An operation of which anything is entered is not ordered after
//! others here, which may take long: that is for its only access, before it is entered.
#![expect(unsafe_code, reason = "declares how operations begin")]

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::entry::{Manner, Mode};
use crate::ledger::{Access, Ledger};
use crate::order::Port;
use crate::prepared::{Repeat, Sorted};
use crate::primitives::fence;
use crate::slot::{Lane, LaneGuard, Slot};
use crate::submission::{Accesses, Operation, Submission};
use crate::table::Books;
use crate::waits::Place;
use crate::word::Word;

/// So many accesses that are not all whole take the slow path, where the parts of an allocation are entered together.
const FEW: usize = 4;

impl Books {
    /// Begins an operation by the fast path. None, with nothing entered that would count, where it has to take the slow one.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow).
    #[inline]
    pub unsafe fn begin_fast<'a, P: Port>(
        &'a self,
        slot: &'a Slot,
        operation: Operation<'_, '_>,
        port: &P,
        at: Place,
    ) -> Option<Submission<'a>> {
        if !operation.acts {
            return None;
        }
        match operation.accesses {
            Accesses::Listed(accesses) => self.begin_listed(slot, accesses, port, at),
            Accesses::Prepared(accesses) => self.begin_prepared(slot, accesses, port, at),
        }
    }

    #[inline]
    fn begin_listed<'a, P: Port>(
        &'a self,
        slot: &'a Slot,
        accesses: &[Access<'_>],
        port: &P,
        at: Place,
    ) -> Option<Submission<'a>> {
        if accesses.is_empty() {
            // It uses no memory that others know of: there is nothing to order it after.
            return Some(Submission::new(slot, slot.lane.lock(), false, false));
        }
        if accesses.len() > FEW && !accesses.iter().all(Access::is_whole) {
            return None;
        }
        let mut lane = slot.lock_caught_up()?;
        let alone = accesses.len() == 1;
        for (index, access) in accesses.iter().enumerate() {
            let entered = !is_lent(access)
                && if access.is_whole() {
                    self.enter_whole(slot, &mut lane, access.ledger, access.manner(alone), port, at)
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
    fn begin_prepared<'a, P: Port>(
        &'a self,
        slot: &'a Slot,
        accesses: &Sorted<'_>,
        port: &P,
        at: Place,
    ) -> Option<Submission<'a>> {
        // An access that no borrow stands for is to be held against guards; no access at all is no operation that counts.
        if accesses.kinds().unborrowed || accesses.ends().is_empty() {
            return None;
        }
        let mut lane = slot.lock_caught_up()?;
        let (mut rest, mut start) = (accesses.as_slice(), 0);
        for end in accesses.ends() {
            let (group, behind) = rest.split_at_checked(end - start).unwrap_or_default();
            let entered = match group {
                [access] if access.is_whole() => {
                    let manner = access.manner(start == 0 && behind.is_empty());
                    self.enter_whole(slot, &mut lane, access.ledger, manner, port, at)
                }
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

    /// Begins an operation that does again what its stream did last, of which the accesses need not be told. None, with nothing entered
    /// that would count, where the tracker needs more. There is no slow path for it: that wants the accesses.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow), the accesses being those of all the repeats. Each repeat stands, whenever it is used, for
    /// accesses to the same bytes of one allocation, of the same kinds, in the same order, be the allocation another one by then;
    /// where they are told, for just these.
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

    /// Enters an access to a whole allocation. Returns false, with nothing entered, where that takes the slow path.
    #[inline]
    fn enter_whole<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        ledger: &Ledger,
        manner: Manner,
        port: &P,
        at: Place,
    ) -> bool {
        ledger.stamp_plainly(manner, slot.next_by_owner(), lane.clock.first())
            || self.enter_whole_otherwise(slot, lane, ledger, manner, port, at)
    }

    /// The same where it takes more than one look: the last access was of the stream itself but not alike, or of another one that this
    /// one's clock covers. That is so whenever the access is made, for what a clock says is in the stream's queue, or over. For a write
    /// that is the operation's only access, the stream may be ordered after the other operation first.
    #[cold]
    #[inline(never)]
    fn enter_whole_otherwise<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        ledger: &Ledger,
        manner: Manner,
        port: &P,
        at: Place,
    ) -> bool {
        let (me, bits) = (slot.next_by_owner(), ledger.bits());
        let next = if Word::is_of(bits, me.slot) {
            // An access that may be made during the call is not behind all that the stream has, unless it is solid.
            let here = !manner.at_call || slot.is_solid();
            if here { Word::again(bits, manner.mode, me) } else { None }
        } else {
            let Some(stamp) = Word::in_the_way(bits, manner.mode) else { return false };
            // Reads are in each other's way only in the short form.
            let orders = manner.alone && manner.mode == Mode::Write;
            let behind = stamp.slot != me.slot
                && (lane.clock.covers(stamp) || orders && self.put_behind(slot, lane, stamp, port, at));
            if behind { Word::only(manner.mode, me) } else { None }
        };
        next.is_some_and(|next| ledger.replace(bits, next, manner.exclusive))
    }
}

impl Slot {
    /// Locks the stream's end of its queue, if the policy is to order and the legacy rule has nothing for the next operation.
    #[inline]
    fn lock_caught_up(&self) -> Option<LaneGuard<'_>> {
        let lane = self.lane.lock();
        (self.orders.load(Relaxed) && self.is_caught_up(&lane)).then_some(lane)
    }

    /// Enters an access to a part of an allocation where the list of that puts nothing in its way that the stream is not ordered after.
    /// Returns false, with nothing entered, where anything else is the case.
    #[inline(never)]
    fn enter_part(&self, lane: &Lane, access: &Access<'_>) -> bool {
        access.ledger.stamp_part(access, self.next_by_owner(), &lane.clock, self.is_solid())
    }

    /// An operation comes no further on the fast path. If any access was `entered` for it, its sequence number is published like that of
    /// a failed one.
    #[cold]
    #[inline(never)]
    fn give_up(&self, lane: LaneGuard<'_>, entered: bool) {
        if entered {
            drop(Submission::new(self, lane, true, false));
        }
    }
}

/// Whether the host has memory that the access would reach without a borrow.
#[inline]
fn is_lent(access: &Access<'_>) -> bool {
    access.unborrowed && access.ledger.lent_against(access.mode)
}

/// Whether the host has memory that one of the accesses, which are entered, would reach without a borrow. Asked again, now that whoever
/// takes a guard from here on sees the entries; the slow path then refuses the operation.
#[inline]
fn lent_after_all(accesses: &[Access<'_>]) -> bool {
    if !accesses.iter().any(|access| access.unborrowed) {
        return false;
    }
    fence(SeqCst);
    accesses.iter().any(is_lent)
}
