//! The short way of an operation that does again what its stream did last to the same memory: to the whole of a few allocations, each used
//! by that stream in that way the last time, or to parts of them, where the list of such puts nothing else in the way.
//!
//! There is nothing then to order it after, as the stream's own order does that, and nothing to wait for. Nor is there where another stream
//! was the last one and this one waits for that already, as programs have it that order their streams themselves. What is left are an entry for
//! each allocation, one atomic step each, and the operation's tick. Nothing else of the books is looked at, and no more than that is in
//! the way of the program's own code: behind the driver each line of the processor's caches has to be fetched again, those with code
//! more than any.
//!
//! An operation that is one write comes this way too where the stream does not wait yet for the one operation in its way, and that is CUDA's
//! already: the stream is ordered after it first, and the access entered then. So programs do that use their streams in turn.
//!
//! # Why it need not be the usual order of steps
//! The usual way enters allocations in the order of their addresses, because it may wait at one for who has come to it before. Here
//! nobody waits: where the plainest entry is not possible, another one may be ([`Slot::enter_otherwise`]); and where none is, the
//! operation gives its tick up, which is then published like that of a failed one, and goes the usual way with the next one. So whoever
//! waits for this operation waits for one that comes to its end. An operation of which anything is entered is not ordered after
//! others here, which may take long: that is for its only access, before it is entered.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::access::{Access, Manner, Mode};
use crate::clock::{Stamp, Tick};
use crate::enter::Refusal;
use crate::ledger::Ledger;
use crate::order::Port;
use crate::primitives::{LockGuard, fence, rare};
use crate::slot::{Kind, Lane, Slot};
use crate::table::Books;
use crate::waits::Place;
use crate::word::Word;

/// So many accesses that are not all whole go the usual way, where the parts of an allocation are entered together.
const FEW: usize = 4;

/// An operation that is in the ledgers by the short way and not yet CUDA's. Its tick is published when this is dropped, whatever happens,
/// or others would wait for it for ever.
#[derive(Debug)]
pub struct Again<'a> {
    slot: &'a Slot,
    lane: LockGuard<'a, Lane>,
    tick: Tick,
    /// Whether it counts as one of the stream's, being sure to put something on it.
    real: bool,
    done: bool,
}

impl Books {
    /// Enters an operation by the short way. None, with nothing entered that would count, where it has to go the usual one.
    pub(crate) fn again<'a, P: Port>(
        &self,
        slot: &'a Slot,
        accesses: &[Access<'_>],
        port: &P,
        at: Place,
    ) -> Option<Again<'a>> {
        let take_turn =
            |lane: &mut Lane, ledger: &Ledger, manner| self.take_turn(slot, lane, ledger, manner, port, at);
        let otherwise = |lane: &mut Lane, ledger: &Ledger, manner| {
            self.enter_otherwise(slot, lane, ledger, manner, port, at)
        };
        let (lane, tick) = slot.lock_again(slot.kind, accesses, take_turn, otherwise)?;
        Some(Again::new(slot, lane, tick, !accesses.is_empty()))
    }

    /// [`Slot::enter_otherwise`], and what more there is.
    #[inline]
    pub(crate) fn enter_otherwise<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        ledger: &Ledger,
        manner: Manner,
        port: &P,
        at: Place,
    ) -> bool {
        let behind = |lane: &mut Lane| self.enter_behind(slot, lane, ledger, manner, port, at);
        slot.enter_otherwise(lane, ledger, manner, behind)
    }

    /// Enters an access to a whole allocation where all that the short form puts in its way is an operation of another stream that this
    /// one's clock covers. That is so whenever the access is made, for what a clock says is in the stream's queue, or over. For a
    /// write that is the operation's only access, the stream may be ordered after the other operation first. Says no, with nothing
    /// entered, where anything else is the case.
    #[inline]
    pub fn enter_behind<P: Port>(
        &self,
        slot: &Slot,
        lane: &mut Lane,
        ledger: &Ledger,
        manner: Manner,
        port: &P,
        at: Place,
    ) -> bool {
        let (me, bits) = (slot.next_by_owner(), ledger.bits());
        let Some(stamp) = Word::in_the_way(bits, manner.mode) else { return false };
        // Reads are in each other's way only in the short form.
        let orders = manner.alone && manner.mode == Mode::Write;
        stamp.slot != me.slot
            && (lane.clock.covers(stamp) || orders && self.put_behind(slot, lane, stamp, port, at))
            && Word::only(manner.mode, me).is_some_and(|next| ledger.replace(bits, next, manner.exclusive))
    }
}

impl Slot {
    /// Enters an operation that uses no memory that others know of: there is nothing to order it after.
    #[inline]
    pub(crate) fn bare(&self) -> Again<'_> {
        let (lane, tick) = self.lock_bare();
        Again::new(self, lane, tick, false)
    }

    #[inline]
    fn lock_bare(&self) -> (LockGuard<'_, Lane>, Tick) {
        (self.lane.lock(), self.next_by_owner().tick)
    }

    /// [`Books::again`] in pieces that need not be in memory, for [`Again::new`]. `take_turn` is [`Books::take_turn`], and `otherwise`
    /// [`enter_otherwise`](Self::enter_otherwise).
    #[expect(clippy::inline_always, reason = "measured: a call more is a tenth more")]
    #[inline(always)]
    pub fn lock_again(
        &self,
        kind: Kind,
        accesses: &[Access<'_>],
        take_turn: impl Fn(&mut Lane, &Ledger, Manner) -> bool,
        otherwise: impl Fn(&mut Lane, &Ledger, Manner) -> bool,
    ) -> Option<(LockGuard<'_, Lane>, Tick)> {
        let Some((_, others)) = accesses.split_first() else { return Some(self.lock_bare()) };
        if others.len() >= FEW && !accesses.iter().all(Access::is_whole) {
            return None;
        }
        let mut lane = self.lane.lock();
        if !self.orders.load(Relaxed) || !self.is_caught_up(kind, &lane) {
            return None;
        }
        let me = self.next_by_owner();
        for (at, access) in accesses.iter().enumerate() {
            let (ledger, manner) = (access.ledger, access.manner(others.is_empty()));
            let turn = manner.alone && manner.mode == Mode::Write;
            let entered = !is_lent(access)
                && if access.is_whole() {
                    ledger.stamp_plainly(manner, me, lane.clock.first())
                        || turn && take_turn(&mut lane, ledger, manner)
                        || otherwise(&mut lane, ledger, manner)
                } else {
                    self.enter_part(&lane, access.copied())
                };
            if !entered {
                self.give_up(lane, at > 0);
                return None;
            }
        }
        if lent_after_all(accesses) {
            self.give_up(lane, true);
            return None;
        }
        Some((lane, me.tick))
    }

    /// Enters an access to a whole allocation on the short way where that is not the plainest of steps: where the last access was of the
    /// stream itself. Where it was of another one, `behind` does, which is [`Books::enter_behind`]. Says no, with nothing entered, where
    /// it does.
    #[inline]
    pub fn enter_otherwise(
        &self,
        lane: &mut Lane,
        ledger: &Ledger,
        manner: Manner,
        behind: impl FnOnce(&mut Lane) -> bool,
    ) -> bool {
        let (me, bits) = (self.next_by_owner(), ledger.bits());
        if !Word::is_of(bits, me.slot) {
            return behind(lane);
        }
        // What may be read during the call is not behind all that the stream has, unless it is solid.
        let here = !manner.at_call || self.is_solid();
        let next = if here { Word::again(bits, manner.mode, me) } else { None };
        next.is_some_and(|next| ledger.replace(bits, next, manner.exclusive))
    }

    /// Enters an access to a part of an allocation where the list of that puts nothing in its way that the stream is not ordered after. Says no,
    /// with nothing entered, where anything else is the case.
    #[inline(never)]
    fn enter_part(&self, lane: &Lane, access: Access<'_>) -> bool {
        access.ledger.stamp_part(&access, self.next_by_owner(), &lane.clock, self.is_solid())
    }

    /// An operation comes no further on the short way. If any access was `entered` for it, its tick is published like that of a failed one.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_up(&self, lane: LockGuard<'_, Lane>, entered: bool) {
        if entered {
            drop(Again::new(self, lane, self.next_by_owner().tick, true));
        }
    }

    /// Tells the legacy stream, or as the legacy stream all others, of operation `tick`.
    #[cold]
    #[inline(never)]
    fn tell(&self, lane: &mut Lane, tick: Tick, done: bool) {
        if self.kind != Kind::Legacy {
            self.device.note_news(self.kind);
        } else if done {
            self.device.acted(tick, lane.untold.then_some(&lane.clock));
            lane.untold = false;
        }
    }
}

/// Whether the host has memory that the access would reach without a borrow.
#[inline]
fn is_lent(access: &Access<'_>) -> bool {
    access.unborrowed && access.ledger.lent_against(access.mode)
}

/// Whether the host has memory that one of the accesses, which are entered, would reach without a borrow. Asked again, now that whoever
/// takes a guard from here on sees the entries; the usual way then refuses the operation.
#[inline]
fn lent_after_all(accesses: &[Access<'_>]) -> bool {
    if !accesses.iter().any(|access| access.unborrowed) {
        return false;
    }
    fence(SeqCst);
    accesses.iter().any(is_lent)
}

impl<'a> Again<'a> {
    /// The operation that [`Slot::lock_again`] has entered for `slot`: a real one, if it has accesses.
    #[inline]
    pub fn new(slot: &'a Slot, lane: LockGuard<'a, Lane>, tick: Tick, real: bool) -> Self {
        Self { slot, lane, tick, real, done: false }
    }

    /// Whether the policy is to order what the program does not, for as long as this operation lasts.
    #[inline]
    pub(crate) fn is_under_order(&self) -> bool {
        self.slot.orders.load(Relaxed)
    }

    /// The operation.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp { slot: self.slot.id, tick: self.tick }
    }

    /// CUDA has it, or has refused it.
    #[inline]
    pub fn over(mut self, done: bool) {
        self.done = done;
    }

    /// Has `call` hand it to CUDA.
    #[inline]
    pub(crate) fn hand_over<R, E>(
        self,
        call: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Stamp), Refusal<E>> {
        let me = self.stamp();
        let answer = call().map_err(Refusal::Call)?;
        self.over(true);
        Ok((answer, me))
    }
}

impl Drop for Again<'_> {
    #[inline]
    fn drop(&mut self) {
        let (slot, tick, done) = (self.slot, self.tick, self.done && self.real);
        // As the legacy rule has nothing for it, the stream's end proves it as far as it proves those before.
        let proven = done || {
            rare();
            slot.provable() + 1 == tick
        };
        slot.publish(tick, proven);
        if slot.kind != Kind::NonBlocking {
            slot.tell(&mut self.lane, tick, done);
        }
    }
}
