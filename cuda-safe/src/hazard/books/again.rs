//! The short way of an operation that does again what its stream did last to the same memory: the whole of a few allocations, each used
//! by that stream in that way the last time.
//!
//! There is nothing then to order it after, as the stream's own order does that, and nothing to wait for. Nor is there where another stream
//! was the last one and this one waits for that already, as programs have it that order their streams themselves. What is left are an entry for
//! each allocation, one atomic step each, and the operation's tick. Nothing else of the books is looked at, and no more than that is in
//! the way of the program's own code: behind the driver each line of the processor's caches has to be fetched again, those with code
//! more than any.
//!
//! # Why it need not be the usual order of steps
//! The usual way enters allocations in the order of their addresses, because it may wait at one for who has come to it before. Here
//! nobody waits: where the plainest entry is not possible, the operation goes on with the same tick by steps that look twice
//! ([`Again::go_on`]); and where these are not either, it gives the tick up, which is then published like that of a failed one, and goes the
//! usual way with the next one. So whoever waits for this operation waits for one that comes to its end.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::access::Access;
use super::clock::{Stamp, Tick};
use super::enter::Refusal;
use super::slot::{Kind, Lane, Slot};
use super::sync::{LockGuard, fence};

/// An operation that is in the ledgers by the short way and not yet CUDA's. Its tick is published when this is dropped, whatever happens,
/// or others would wait for it for ever.
#[derive(Debug)]
pub(crate) struct Again<'a> {
    slot: &'a Slot,
    lane: LockGuard<'a, Lane>,
    tick: Tick,
    /// Whether it counts as one of the stream's, being sure to put something on it.
    real: bool,
    done: bool,
    /// Whether there is anything in the ledgers.
    entered: bool,
}

impl Slot {
    /// Enters an operation by the short way. None, with nothing entered that would count, where it has to go the usual one.
    pub(crate) fn again(&self, accesses: &[Access<'_>]) -> Option<Again<'_>> {
        match self.lock_again(self.kind, accesses) {
            Tried::Entered(lane, tick) => Some(Again::new(self, lane, tick, !accesses.is_empty())),
            Tried::Halfway(lane, tick, at) => Again::new(self, lane, tick, true).go_on(accesses, at),
            Tried::Nothing => None,
        }
    }

    /// Enters an operation that uses no memory that others know of: there is nothing to order it after.
    #[inline]
    pub(super) fn bare(&self) -> Again<'_> {
        let (lane, tick) = self.lock_bare();
        Again::new(self, lane, tick, false)
    }

    #[inline]
    fn lock_bare(&self) -> (LockGuard<'_, Lane>, Tick) {
        (self.lane.lock(), self.next_by_owner().tick)
    }

    /// [`again`](Self::again) as far as the plainest entries go, in pieces that need not be in memory: see [`Again::new`] and
    /// [`Again::go_on`].
    #[expect(clippy::inline_always, reason = "measured: a call more is a tenth more")]
    #[inline(always)]
    pub(crate) fn lock_again(&self, kind: Kind, accesses: &[Access<'_>]) -> Tried<'_> {
        let Some((_, others)) = accesses.split_first() else {
            let (lane, tick) = self.lock_bare();
            return Tried::Entered(lane, tick);
        };
        // Where one of them is no more than a part, nothing is to be entered for those before it.
        if !others.iter().all(Access::is_whole) {
            return Tried::Nothing;
        }
        let lane = self.lane.lock();
        if !self.orders.load(Relaxed) || !self.is_caught_up(kind, &lane) {
            return Tried::Nothing;
        }
        let me = self.next_by_owner();
        for (at, access) in accesses.iter().enumerate() {
            if is_lent(access) || !access.ledger.stamp_again(access, me, || self.is_solid()) {
                return Tried::Halfway(lane, me.tick, at);
            }
        }
        if lent_after_all(accesses) {
            return Tried::Halfway(lane, me.tick, accesses.len());
        }
        Tried::Entered(lane, me.tick)
    }

    /// Tells the legacy stream, or as the legacy stream all others, of operation `tick`.
    #[cold]
    #[inline(never)]
    fn tell(&self, lane: &mut Lane, tick: Tick, done: bool) {
        self.device.note_news(self.kind);
        if done && self.kind == Kind::Legacy {
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

/// How far [`Slot::lock_again`] came.
pub(crate) enum Tried<'a> {
    /// All accesses are entered.
    Entered(LockGuard<'a, Lane>, Tick),
    /// Those before this one.
    Halfway(LockGuard<'a, Lane>, Tick, usize),
    /// None is, nor could any be.
    Nothing,
}

impl<'a> Again<'a> {
    /// The operation that [`Slot::lock_again`] has entered for `slot`: a real one, if it has accesses.
    #[inline]
    pub(crate) fn new(slot: &'a Slot, lane: LockGuard<'a, Lane>, tick: Tick, real: bool) -> Self {
        Self { slot, lane, tick, real, done: false, entered: true }
    }

    /// Enters the accesses from this one on by steps that look twice. Where one of them is not possible, the operation gives its tick up,
    /// if anything was entered for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn go_on(mut self, accesses: &[Access<'_>], mut at: usize) -> Option<Self> {
        let me = self.stamp();
        for access in accesses.iter().skip(at) {
            let entered = !is_lent(access)
                && (access.ledger.stamp_known(access, me, &self.lane.clock)
                    || access.ledger.stamp_again(access, me, || self.slot.is_solid()));
            if !entered {
                self.entered = at > 0;
                return None;
            }
            at += 1;
        }
        if lent_after_all(accesses) {
            return None;
        }
        Some(self)
    }

    /// Whether the policy is to order what the program does not, for as long as this operation lasts.
    #[inline]
    pub(super) fn is_under_order(&self) -> bool {
        self.slot.orders.load(Relaxed)
    }

    /// The operation.
    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { slot: self.slot.id, tick: self.tick }
    }

    /// CUDA has it, or has refused it.
    #[inline]
    pub(crate) fn over(mut self, done: bool) {
        self.done = done;
    }

    /// Has `call` hand it to CUDA.
    #[inline]
    pub(super) fn hand_over<R, E>(
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
        if !self.entered {
            return;
        }
        let (slot, tick, done) = (self.slot, self.tick, self.done && self.real);
        // As the legacy rule has nothing for it, the stream's end proves it as far as it proves those before.
        slot.publish(tick, done || slot.provable() + 1 == tick);
        if slot.kind != Kind::NonBlocking {
            slot.tell(&mut self.lane, tick, done);
        }
    }
}
