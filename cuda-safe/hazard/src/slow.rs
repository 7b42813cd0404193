//! The slow path of an operation: what happens, in which order, before CUDA has it.
#![expect(unsafe_code, reason = "declares how operations begin")]

use std::sync::atomic::Ordering::SeqCst;

use crate::clock::Stamp;
use crate::entry::{Conflict, FullView, View};
use crate::knowledge::Known;
use crate::ledger::{Access, Before, Next};
use crate::order::Port;
use crate::policy::Policy;
use crate::prepared::{Kinds, by_allocation, in_order, sorted};
use crate::primitives::{fence, pause};
use crate::slot::{Lane, LaneGuard, Slot};
use crate::submission::{Accesses, Operation, Refusal, Submission};
use crate::table::Books;
use crate::waits::{Hazard, Place};

/// Accesses of one operation that are sorted without asking for memory.
const INLINE: usize = 16;

/// The same for the usual launch.
const FEW: usize = 4;

/// An operation that is to be entered, but for its accesses.
struct Step<'s, 'p, P> {
    slot: &'s Slot,
    policy: Policy,
    /// Whether it counts as one of the stream's where it has accesses, being sure to put something on it.
    acts: bool,
    port: &'p P,
    at: Place,
}

impl Books {
    /// Begins an operation: enters its accesses, and orders its stream after all that conflicts with them.
    ///
    /// # Errors
    /// A hazard under [`Policy::Error`], memory that the host has, or the failure of a call that was to order
    /// it.
    ///
    /// # Safety
    /// - The slot is of this tracker, and the access histories of the accesses are known to no other tracker.
    /// - The caller makes its call before it [commits](Submission::commit), and commits as done only what
    ///   CUDA took. Unless the operation is a [mark](Operation::mark), what it took gives the device
    ///   something to do if `accesses` has any bytes.
    /// - An access that is [exclusive](Access::exclusive) or said not to be [made during the
    ///   call](Access::at_call) is so.
    pub unsafe fn begin_slow<'a, P: Port>(
        &'a self,
        slot: &'a Slot,
        operation: Operation<'_, '_>,
        port: &P,
        at: Place,
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let lane = slot.lane.lock();
        // Asked for once: it may change at any moment, and what is entered by the one must be published by
        // the same.
        let policy = self.policy();
        let step = Step { slot, policy, acts: operation.acts, port, at };
        match operation.accesses {
            Accesses::Listed(accesses) => self.enter_sorted(&step, lane, accesses),
            Accesses::Prepared(accesses) => self.enter(&step, lane, accesses.as_slice(), accesses.kinds()),
        }
    }

    /// Enters accesses that are in any order, some of them perhaps empty.
    #[cold]
    #[inline(never)]
    fn enter_sorted<'a, P: Port>(
        &self,
        step: &Step<'a, '_, P>,
        lane: LaneGuard<'a>,
        accesses: &[Access<'_>],
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let enter = |lane, sorted: &[Access<'_>]| self.enter(step, lane, sorted, Kinds::of(sorted));
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

    /// Enters accesses sorted by allocation, none of them empty, and orders the stream after what they
    /// conflict with. `kinds` is of these accesses, or of more.
    #[inline(never)]
    fn enter<'a, P: Port>(
        &self,
        step: &Step<'a, '_, P>,
        mut lane: LaneGuard<'a>,
        accesses: &[Access<'_>],
        kinds: Kinds,
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let Step { slot, policy, acts, at, .. } = *step;
        let acts = acts && !accesses.is_empty();
        let pending = acts && self.catch_up(slot, &mut lane);
        if policy == Policy::Error {
            self.refuse(slot, &lane, pending, accesses, at)?;
        }
        if kinds.unborrowed && lent_against(accesses) {
            return Err(Refusal::HostBorrowed);
        }
        let mut entered = Submission::new(slot, lane, acts, pending);
        if policy == Policy::Off {
            return Ok(entered);
        }
        let (me, mut rest, mut behind) = (entered.stamp(), accesses, None);
        if policy == Policy::Order {
            let view = Known::new(self, slot, &entered.lane, pending, me);
            (rest, behind) = stamp_next(accesses, &view);
        }
        if !rest.is_empty() {
            self.enter_late(step, &mut entered.lane, &Whole { accesses, kinds, pending, me }, rest, behind)?;
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

    /// Enters those of an operation's accesses that the short forms of their allocations do not put behind
    /// all others, `rest`. The first of them is not known to be behind `behind`, if that is all that its
    /// short form tells of.
    ///
    /// Where one operation which is with CUDA already is all that the short forms tell of and the stream is
    /// not ordered after, the stream is, before anything is entered: what a program finds that uses its
    /// streams in turn. Entering then meets nothing that is not ordered, so that the short forms stay. A wait
    /// that comes too early is still a wait: whoever enters in between is found as ever. Where more stands
    /// against the operation, one wait may save another.
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

    /// Enters the accesses that are left by steps of any kind, and orders the stream after what they conflict
    /// with.
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

/// Enters accesses from the first on as long as each is alone in a whole allocation of which the short form
/// tells that all is ordered before it; gives those that are left, and what the first of these is not ordered
/// after, if that is all that its short form tells of. As above.
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

/// The one operation that accesses would conflict with, if the short forms of their allocations tell of one
/// only.
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
        if view.puts_behind(access.at_call, stamp) {
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
