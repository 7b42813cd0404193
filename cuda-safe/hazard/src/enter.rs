//! Entering operations: what happens, in which order, between `enqueue` and CUDA.

use std::sync::atomic::Ordering::SeqCst;

use crate::access::Access;
use crate::again::Again;
use crate::clock::Stamp;
use crate::entered::Entered;
use crate::entry::{Conflict, View};
use crate::knowledge::Known;
use crate::ledger::{Before, Next};
use crate::order::Port;
use crate::policy::Policy;
use crate::primitives::{fence, pause};
use crate::slot::{Lane, Slot};
use crate::sorted::{Kinds, Sorted, by_allocation, in_order, sorted};
use crate::table::Books;
use crate::waits::{Hazard, Place};

/// Accesses of one operation that are sorted without asking for memory.
const INLINE: usize = 16;

/// The same for the usual launch.
const FEW: usize = 4;

/// The operation that made an allocation, which its ledger begins with.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub(crate) stamp: Stamp,
    pub(crate) place: Option<Place>,
}

/// Why an operation was not entered, or failed.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<E> {
    /// Nothing orders it after a conflicting one, and the policy is to say so.
    Hazard(Hazard),
    /// It would reach memory that a live host guard lends out.
    HostBorrowed,
    /// A call failed: its own, or one that was to order it.
    Call(E),
}

/// An operation that is to be entered, but for its accesses.
struct Step<'s, 'p, P> {
    slot: &'s Slot,
    policy: Policy,
    /// Whether it counts as one of the stream's where it has accesses, being sure to put something on it.
    real: bool,
    port: &'p P,
    at: Place,
}

impl Books {
    /// Puts one operation on a stream: enters its accesses, orders it, and has `call` hand it to CUDA.
    ///
    /// If `real` is set, `accesses` has any bytes and `call` succeeds, `call` must have put at least one operation on the
    /// stream: one that the device does something for. Gives what `call` gave, and the operation's stamp.
    #[inline]
    pub fn enqueue<P: Port, R>(
        &self,
        slot: &Slot,
        accesses: &[Access<'_>],
        real: bool,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        if real && let Some(again) = self.again(slot, accesses, port, at) {
            return again.hand_over(call);
        }
        self.enqueue_anew(slot, accesses, real, port, at, call)
    }

    /// [`enqueue`](Self::enqueue) where the short way was tried.
    pub fn enqueue_anew<P: Port, R>(
        &self,
        slot: &Slot,
        accesses: &[Access<'_>],
        real: bool,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        let mut lane = slot.lane.lock();
        let lane = &mut *lane;
        // Asked for once: it may change at any moment, and what is entered by the one must be published by the same.
        let policy = self.policy();
        self.enter_sorted(&Step { slot, policy, real, port, at }, lane, accesses)?.hand_over(lane, call)
    }

    /// [`enqueue`](Self::enqueue) of an operation whose accesses were put in order before: nothing is paid again for how many there
    /// are, but for each its entry.
    #[inline]
    pub fn enqueue_sorted<P: Port, R>(
        &self,
        slot: &Slot,
        accesses: &Sorted<'_>,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        if let Some(again) = self.again_sorted(slot, accesses, port, at) {
            return again.hand_over(call);
        }
        self.enqueue_sorted_anew(slot, accesses, port, at, call)
    }

    /// [`enqueue_sorted`](Self::enqueue_sorted) where the short way was tried.
    pub fn enqueue_sorted_anew<P: Port, R>(
        &self,
        slot: &Slot,
        accesses: &Sorted<'_>,
        port: &P,
        at: Place,
        call: impl FnOnce() -> Result<R, P::Error>,
    ) -> Result<(R, Stamp), Refusal<P::Error>> {
        let (list, kinds) = (accesses.as_slice(), accesses.kinds());
        let mut lane = slot.lane.lock();
        let lane = &mut *lane;
        let policy = self.policy();
        self.enter(&Step { slot, policy, real: true, port, at }, lane, list, kinds)?.hand_over(lane, call)
    }

    /// Puts an operation on a stream that makes memory which nobody else has yet: there is nothing to order it
    /// after, and it need not be found in a ledger before the memory is there. Gives what its ledger begins
    /// with. The device does nothing for it, so that it puts neither a blocking stream behind the legacy one nor
    /// the other way round. (Where it is given memory that the legacy stream, or another one before it, has yet to come to the end of, as a pool
    /// does on the legacy stream's account, an H200 does put the stream behind that: the stream's end then proves that the memory is there.)
    #[inline]
    pub fn enqueue_first<E>(
        &self,
        slot: &Slot,
        at: Place,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<First, E> {
        let bare = slot.bare();
        let first = self.first(&bare, at);
        call()?;
        Ok(first)
    }

    /// What the ledger of memory begins with that an operation makes.
    #[inline]
    pub fn first(&self, operation: &Again<'_>, at: Place) -> First {
        let tells = !operation.is_under_order() && self.policy() == Policy::Error;
        First { stamp: operation.stamp(), place: tells.then_some(at) }
    }

    /// Enters accesses that are in any order, some of them perhaps empty.
    #[cold]
    #[inline(never)]
    fn enter_sorted<'a, P: Port>(
        &self,
        step: &Step<'a, '_, P>,
        lane: &mut Lane,
        accesses: &[Access<'_>],
    ) -> Result<Entered<'a>, Refusal<P::Error>> {
        let enter =
            |lane: &mut Lane, sorted: &[Access<'_>]| self.enter(step, lane, sorted, Kinds::of(sorted));
        match accesses {
            // None at all, too.
            _ if in_order(accesses) => enter(lane, accesses),
            // The short copy for the usual launch: filling the long one would cost more than all the rest.
            [first, ..] if accesses.len() <= FEW => {
                let mut copy = [*first; FEW];
                enter(lane, sort(&mut copy[..accesses.len()], accesses))
            }
            [first, ..] if accesses.len() <= INLINE => {
                let mut copy = [*first; INLINE];
                enter(lane, sort(&mut copy[..accesses.len()], accesses))
            }
            // Many: in the order of their bytes too, which a list of accesses takes faster.
            _ => enter(lane, &sorted(accesses.to_vec())),
        }
    }

    /// Enters accesses sorted by allocation, none of them empty, and orders the stream after what they conflict with. `kinds` is of
    /// these accesses, or of more.
    #[inline(never)]
    fn enter<'a, P: Port>(
        &self,
        step: &Step<'a, '_, P>,
        lane: &mut Lane,
        accesses: &[Access<'_>],
        kinds: Kinds,
    ) -> Result<Entered<'a>, Refusal<P::Error>> {
        let Step { slot, policy, real, at, .. } = *step;
        let real = real && !accesses.is_empty();
        let pending = real && self.catch_up(slot, lane);
        if policy == Policy::Error {
            self.refuse(slot, lane, pending, accesses, at)?;
        }
        if kinds.unborrowed && lent_against(accesses) {
            return Err(Refusal::HostBorrowed);
        }
        let entered = Entered::new(slot, real, pending);
        if policy == Policy::Off {
            return Ok(entered);
        }
        let (me, mut rest, mut behind) = (entered.me(), accesses, None);
        if policy == Policy::Order {
            let view = Known::new(self, slot, lane, pending, me);
            (rest, behind) = stamp_next(accesses, &view);
        }
        if !rest.is_empty() {
            self.enter_late(step, lane, &Whole { accesses, kinds, pending, me }, rest, behind)?;
        }
        // Again, now that whoever takes a guard from here on sees the stamps. One fence for all of them.
        if kinds.unborrowed {
            fence(SeqCst);
            if lent_against(accesses) {
                return Err(Refusal::HostBorrowed);
            }
        }
        Ok(entered)
    }

    /// Enters those of an operation's accesses that the short forms of their allocations do not put behind all others, `rest`. The first of
    /// them is not known to be behind `behind`, if that is all that its short form tells of.
    ///
    /// Where one operation which is with CUDA already is all that the short forms tell of and the stream is not ordered after, the
    /// stream is, before anything is entered: what a program finds that uses its streams in turn. Entering then meets nothing that is not
    /// ordered, so that the short forms stay. A wait that comes too early is still a wait: whoever enters in between is found as ever.
    /// Where more stands against the operation, one wait may save another.
    #[inline(never)]
    fn enter_late<P: Port>(
        &self,
        step: &Step<'_, '_, P>,
        lane: &mut Lane,
        whole: &Whole<'_, '_>,
        mut rest: &[Access<'_>],
        mut behind: Option<Stamp>,
    ) -> Result<(), Refusal<P::Error>> {
        let slot = step.slot;
        if step.policy == Policy::Order {
            if rest.len() > 1 {
                behind = only_behind(rest, &Known::new(self, slot, lane, whole.pending, whole.me));
            }
            if let Some(stamp) = behind
                && let Some(other) = self.slot(stamp.slot)
                && other.submitted() >= stamp.tick
            {
                let conflict = Conflict { stamp, place: None };
                self.order_after(slot, lane, other, conflict, step.port, step.at).map_err(Refusal::Call)?;
                (rest, _) = stamp_next(rest, &Known::new(self, slot, lane, whole.pending, whole.me));
            }
        }
        if rest.is_empty() { Ok(()) } else { self.enter_rest(step, lane, whole, rest) }
    }

    /// Enters the accesses that are left by steps of any kind, and orders the stream after what they conflict with.
    #[cold]
    #[inline(never)]
    fn enter_rest<P: Port>(
        &self,
        step: &Step<'_, '_, P>,
        lane: &mut Lane,
        whole: &Whole<'_, '_>,
        rest: &[Access<'_>],
    ) -> Result<(), Refusal<P::Error>> {
        let Step { slot, policy, port, at, .. } = *step;
        let Whole { accesses, kinds, pending, me } = *whole;
        let place = (policy == Policy::Error).then_some(at);
        let mut conflicts = Vec::new();
        let view = Known::new(self, slot, lane, pending, me);
        self.stamp_all(&view, rest, kinds, place, &mut conflicts);
        if conflicts.is_empty() {
            return Ok(());
        }
        if policy == Policy::Error {
            return Err(Refusal::Hazard(hazard(&conflicts, at)));
        }
        let rule = (!kinds.at_call).then_some(pending);
        self.order_all(slot, lane, rule, conflicts, port, at).map_err(Refusal::Call)?;
        let view = Known::new(self, slot, lane, pending, me);
        for group in by_allocation(accesses) {
            if let Some(first) = group.first() {
                first.ledger.settle(group, &view);
            }
        }
        Ok(())
    }

    /// Enters all accesses, and waits for conflicting stamps that are not published yet.
    ///
    /// Why nobody waits in a circle here: each thread enters the allocations in the order of their addresses,
    /// one atomic step for each, and waits only for stamps that were in an allocation before its own, before
    /// it goes on to the next one. So whoever is waited for stands at the same allocation, where it came
    /// earlier, or at a later one. Along a chain of waits the address never falls, and where it stays the
    /// order of arrival falls: no chain closes. No other wait happens in between: the lane is locked before
    /// the first stamp and no second lane ever is.
    #[inline]
    fn stamp_all(
        &self,
        view: &Known<'_>,
        accesses: &[Access<'_>],
        kinds: Kinds,
        place: Option<Place>,
        conflicts: &mut Vec<Conflict>,
    ) {
        for group in by_allocation(accesses) {
            let Some(first) = group.first() else { continue };
            let found = conflicts.len();
            let at_call = kinds.at_call && Kinds::of(group).at_call;
            let view = if at_call { &view.at_call() } else { view };
            first.ledger.stamp(group, view, place, conflicts);
            for conflict in &conflicts[found..] {
                self.await_published(conflict.stamp);
            }
        }
    }

    /// Waits until an operation that is being entered has been handed to CUDA, or given up.
    #[inline]
    pub(crate) fn await_published(&self, stamp: Stamp) {
        let mut turn = 0;
        while !self.published(stamp) {
            pause(turn);
            turn = turn.saturating_add(1);
        }
    }

    /// Under `Policy::Error`: refuses before anything is entered.
    fn refuse<E>(
        &self,
        slot: &Slot,
        lane: &Lane,
        pending: bool,
        accesses: &[Access<'_>],
        at: Place,
    ) -> Result<(), Refusal<E>> {
        let me = slot.next_by_owner();
        let view = Known::new(self, slot, lane, pending, me);
        let mut conflicts = Vec::new();
        for group in by_allocation(accesses) {
            // As entering them asks.
            let view = if Kinds::of(group).at_call { view.at_call() } else { view };
            for access in group {
                access.ledger.conflicts(access.want(), |stamp| view.knows(stamp), &mut conflicts);
            }
        }
        if conflicts.is_empty() { Ok(()) } else { Err(Refusal::Hazard(hazard(&conflicts, at))) }
    }
}

/// An operation of which a part is entered.
#[derive(Clone, Copy)]
struct Whole<'b, 'a> {
    accesses: &'b [Access<'a>],
    kinds: Kinds,
    /// Whether the legacy rule has anything for it.
    pending: bool,
    me: Stamp,
}

/// Enters accesses from the first on as long as each is alone in a whole allocation of which the short form tells that all is ordered
/// before it; gives those that are left, and what the first of these is not ordered after, if that is all that its short form tells
/// of. As above.
#[inline]
fn stamp_next<'a, 'b>(accesses: &'b [Access<'a>], view: &Known<'_>) -> (&'b [Access<'a>], Option<Stamp>) {
    let mut rest = accesses;
    while let [first, others @ ..] = rest {
        let alone = others.first().is_none_or(|next| next.address() != first.address());
        if !alone {
            return (rest, None);
        }
        match first.ledger.stamp_next(first, view) {
            Next::Entered => rest = others,
            Next::Behind(stamp) => return (rest, Some(stamp)),
            Next::Unclear => return (rest, None),
        }
    }
    (rest, None)
}

/// The one operation that accesses would conflict with, if the short forms of their allocations tell of one only.
#[cold]
#[inline(never)]
fn only_behind(accesses: &[Access<'_>], view: &Known<'_>) -> Option<Stamp> {
    let mut only: Option<Stamp> = None;
    for access in accesses {
        let stamp = match access.ledger.before(access.mode) {
            Before::Nothing => continue,
            Before::Only(stamp) => stamp,
            Before::Listed => return None,
        };
        if view.puts_behind(access, stamp) {
            continue;
        }
        match &mut only {
            Some(only) if only.slot != stamp.slot => return None,
            Some(only) => only.tick = only.tick.max(stamp.tick),
            None => only = Some(stamp),
        }
    }
    only
}

/// Whether the host has memory that one of the accesses would reach without a borrow.
fn lent_against(accesses: &[Access<'_>]) -> bool {
    accesses.iter().any(|access| access.unborrowed && access.ledger.lent_against(access.mode))
}

/// Sorts the accesses into `copy` by allocation and leaves the empty ones out.
fn sort<'a, 'b>(copy: &'b mut [Access<'a>], accesses: &[Access<'a>]) -> &'b [Access<'a>] {
    copy.copy_from_slice(accesses);
    // Empty ones first.
    copy.sort_unstable_by_key(|access| if access.is_empty() { 0 } else { access.address() });
    let empty = copy.partition_point(Access::is_empty);
    &copy[empty..]
}

/// The conflict to report: one whose place is known, if there is one.
fn hazard(conflicts: &[Conflict], second: Place) -> Hazard {
    Hazard { first: conflicts.iter().find_map(|conflict| conflict.place), second }
}
