//! One operation on its way to CUDA: begin, call, commit.
//!
//! The tracker is asked first ([`Tracker::begin_fast`], and where that gives none, [`Tracker::begin_slow`]): it
//! enters the accesses and adds the waits that are missing. Then the caller makes its call, and commits. The
//! [`Submission`] is all that stands between: it holds the stream's lock and the operation's sequence number.
//! Dropped without a commit, also by a panic, it counts as failed.
//!
//! # The fast path
//! It takes what a program finds that does again what it did before, or that orders its streams itself.
//!
//! There is nothing then to order the operation after, and nothing to wait for. These are the steps, by the
//! names that the literature has for them:
//! - *Biased locking* (Kawachiya and others, 2002): a stream's lock belongs to the thread that uses it, until
//!   another one intervals it ([`lock`](crate::lock)).
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
//! # Why the fast path need not keep the slow path's order of steps
//! The slow path enters allocations in the order of their addresses, because it may wait at one for who has
//! come to it before. Here nobody waits: where no entry is possible, the operation gives its sequence number
//! up, which is then published like that of a failed one, and takes the slow path with the next one. So
//! whoever waits for this operation waits for one that comes to its end.
#![expect(unsafe_code, reason = "declares how operations begin and are committed")]

use std::fmt;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::added_wait::EventBackend;
use crate::clock::{Epoch, SequenceNumber};
use crate::device::Kind;
use crate::entry::{Conflict, FirstWrite, FullView, View};
use crate::history::{Access, Before, Next};
use crate::operation_view::OperationView;
use crate::policy::Policy;
use crate::prepared::{Kinds, RepeatedGroup, SortedAccesses, by_allocation, in_order, sorted};
use crate::primitives::{fence, pause};
use crate::snapshot::SubmittedSnapshot;
use crate::timeline::{SubmitState, SubmitStateGuard, Timeline};
use crate::tracker::Tracker;
use crate::wait_log::{CallSite, Hazard};

/// An operation that is to be submitted: what it reads and writes, and whether the device has anything to do
/// for it.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'b, 'a> {
    pub(crate) accesses: Accesses<'b, 'a>,
    /// Whether it counts as one of the stream's where it has accesses, being sure to put something on it.
    pub(crate) is_action: bool,
}

/// What an operation reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accesses<'b, 'a> {
    /// In any order, some of them perhaps empty.
    Unsorted(&'b [Access<'a>]),
    /// Put in order before.
    Prepared(&'b SortedAccesses<'a>),
}

impl<'b, 'a> Operation<'b, 'a> {
    /// An operation with these accesses. If any of them has a byte, the device has something to do for it.
    #[must_use]
    #[inline]
    pub fn new(accesses: &'b [Access<'a>]) -> Self {
        Self { accesses: Accesses::Unsorted(accesses), is_action: true }
    }

    /// An operation that is ordered like work on the memory but gives the device nothing to do, so that it
    /// puts neither a blocking stream behind the legacy one nor the other way round.
    #[must_use]
    #[inline]
    pub fn mark(accesses: &'b [Access<'a>]) -> Self {
        Self { accesses: Accesses::Unsorted(accesses), is_action: false }
    }

    /// An operation whose accesses were put in order before: nothing is paid again for how many there are,
    /// but for each its entry.
    #[must_use]
    #[inline]
    pub fn prepared(accesses: &'b SortedAccesses<'a>) -> Self {
        Self { accesses: Accesses::Prepared(accesses), is_action: true }
    }

    /// What it reads and writes.
    #[must_use]
    #[inline]
    pub fn accesses(&self) -> &'b [Access<'a>] {
        match self.accesses {
            Accesses::Unsorted(accesses) => accesses,
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
    timeline: &'a Timeline,
    pub(crate) state: SubmitStateGuard<'a>,
    sequence: SequenceNumber,
    /// Whether it counts as one of the stream's, being sure to put something on it.
    is_action: bool,
    /// Whether it brings the stream what the legacy rule holds back for it.
    pending: bool,
    done: bool,
}

impl<'a> Submission<'a> {
    /// The next operation of a stream, whose lock is held.
    #[inline]
    pub(crate) fn new(
        timeline: &'a Timeline,
        state: SubmitStateGuard<'a>,
        is_action: bool,
        pending: bool,
    ) -> Self {
        Self { timeline, state, sequence: timeline.next_by_owner().sequence, is_action, pending, done: false }
    }

    /// The operation.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        Epoch { timeline: self.timeline.id, sequence: self.sequence }
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
        let timeline = self.timeline;
        let action = self.done && self.is_action;
        if action && self.pending {
            Tracker::commit_pending(timeline, &mut self.state);
        }
        // As the legacy rule has nothing for it, the stream's end proves it as far as it proves those before.
        let proven = action || !self.pending && timeline.sync_covered() + 1 == self.sequence;
        timeline.publish(self.sequence, proven);
        if timeline.kind != Kind::NonBlocking {
            timeline.notify_device(&mut self.state, self.sequence, action);
        }
    }
}

impl fmt::Debug for Submission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Submission({:?})", self.epoch())
    }
}

impl Timeline {
    /// Tells the legacy stream, or as the legacy stream all others, of operation `sequence`.
    #[cold]
    #[inline(never)]
    fn notify_device(&self, state: &mut SubmitState, sequence: SequenceNumber, action: bool) {
        if self.kind != Kind::Legacy {
            self.device.note_change(self.kind);
        } else if action {
            self.device.record_action(sequence, state.unshared.then_some(&state.clock));
            state.unshared = false;
        }
    }
}

impl Tracker {
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
    pub fn commit_first(&self, submission: Submission<'_>, at: CallSite) -> FirstWrite {
        // Read while the operation holds its stream: the policy that it went by.
        let keeps_call_site = !submission.timeline.orders.load(Relaxed) && self.policy() == Policy::Error;
        let first = FirstWrite { epoch: submission.epoch(), call_site: keeps_call_site.then_some(at) };
        submission.commit(true);
        first
    }

    /// What the end of all that the stream has proves, the operation included. To be read before the call of
    /// one that blocks.
    pub fn snapshot_of_submission(&self, submission: &Submission<'_>) -> SubmittedSnapshot {
        self.snapshot_of(submission.timeline).and(submission.epoch())
    }

    /// Commits an operation whose call returned only when the stream had done all that it was given.
    ///
    /// # Safety
    /// So it did, this included, and `covered` is what [`snapshot_of_submission`](Self::snapshot_of_submission) gave before the call.
    #[inline]
    pub unsafe fn commit_blocking(&self, submission: Submission<'_>, covered: &SubmittedSnapshot) {
        submission.commit(true);
        // SAFETY: the caller says that all of it is over.
        unsafe { self.completed_all(covered) };
    }
}

/// So many accesses that are not all whole take the slow path, where the parts of an allocation are entered
/// together.
const FEW_PARTS: usize = 4;

impl Tracker {
    /// Begins an operation by the fast path. None, with nothing entered that would count, where it has to
    /// take the slow one.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow).
    #[inline]
    pub unsafe fn begin_fast<'a>(
        &'a self,
        timeline: &'a Timeline,
        operation: Operation<'_, '_>,
    ) -> Option<Submission<'a>> {
        if !operation.is_action {
            return None;
        }
        match operation.accesses {
            Accesses::Unsorted(accesses) => self.begin_unsorted(timeline, accesses),
            Accesses::Prepared(accesses) => self.begin_prepared(timeline, accesses),
        }
    }

    #[inline]
    fn begin_unsorted<'a>(
        &'a self,
        timeline: &'a Timeline,
        accesses: &[Access<'_>],
    ) -> Option<Submission<'a>> {
        if accesses.is_empty() {
            // It uses no memory that others know of: there is nothing to order it after.
            return Some(Submission::new(timeline, timeline.state.lock(), false, false));
        }
        if accesses.len() > FEW_PARTS && !accesses.iter().all(Access::is_whole) {
            return None;
        }
        let state = timeline.lock_caught_up()?;
        let view = OperationView::new(self, timeline, &state, false, timeline.next_by_owner());
        for (index, access) in accesses.iter().enumerate() {
            let entered = !meets_host_guard(access)
                && if access.is_whole() {
                    enter_whole(access, &view)
                } else {
                    timeline.enter_part(&state, access)
                };
            if !entered {
                timeline.give_up(state, index > 0);
                return None;
            }
        }
        if meets_host_guard_now(accesses) {
            timeline.give_up(state, true);
            return None;
        }
        Some(Submission::new(timeline, state, true, false))
    }

    /// The same of an operation whose accesses were put in order before.
    #[inline]
    fn begin_prepared<'a>(
        &'a self,
        timeline: &'a Timeline,
        accesses: &SortedAccesses<'_>,
    ) -> Option<Submission<'a>> {
        // An access that no borrow stands for is to be held against guards; no access at all is no operation
        // that counts.
        if accesses.kinds().unborrowed || accesses.ends().is_empty() {
            return None;
        }
        let state = timeline.lock_caught_up()?;
        let view = OperationView::new(self, timeline, &state, false, timeline.next_by_owner());
        let (mut rest, mut start) = (accesses.as_slice(), 0);
        for end in accesses.ends() {
            let (group, behind) = rest.split_at_checked(end - start).unwrap_or_default();
            let entered = match group {
                [access] if access.is_whole() => enter_whole(access, &view),
                [first, ..] => first.history.enter_group(accesses.number(), group, timeline.next_by_owner()),
                [] => false,
            };
            if !entered {
                timeline.give_up(state, start > 0);
                return None;
            }
            (rest, start) = (behind, *end);
        }
        Some(Submission::new(timeline, state, true, false))
    }

    /// Begins an operation that does again what its stream did last, of which the accesses need not be told.
    /// None, with nothing entered that would count, where the tracker needs more. There is no slow path for
    /// it: that intervals the accesses.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow), the accesses being those of all the repeats. Each repeat
    /// stands, whenever it is used, for accesses to the same bytes of one allocation, of the same kinds, in
    /// the same order, be the allocation another one by then; where they are told, for just these.
    #[inline]
    pub unsafe fn begin_repeated<'a>(
        &'a self,
        timeline: &'a Timeline,
        repeats: &[RepeatedGroup<'_, '_>],
    ) -> Option<Submission<'a>> {
        // As above.
        if repeats.is_empty() || repeats.iter().any(|repeat| repeat.unborrowed) {
            return None;
        }
        let state = timeline.lock_caught_up()?;
        for (index, repeat) in repeats.iter().enumerate() {
            if !repeat.history.enter_group(repeat.number, repeat.accesses, timeline.next_by_owner()) {
                timeline.give_up(state, index > 0);
                return None;
            }
        }
        Some(Submission::new(timeline, state, true, false))
    }
}

impl Timeline {
    /// Locks the stream's end of its queue, if the policy is to order and the legacy rule has nothing for the
    /// next operation.
    #[inline]
    fn lock_caught_up(&self) -> Option<SubmitStateGuard<'_>> {
        let state = self.state.lock();
        (self.orders.load(Relaxed) && self.is_caught_up(&state)).then_some(state)
    }

    /// Enters an access to a part of an allocation where the list of that puts nothing in its way that the
    /// stream is not ordered after. Returns false, with nothing entered, where anything else is the case.
    #[inline(never)]
    fn enter_part(&self, state: &SubmitState, access: &Access<'_>) -> bool {
        access.history.enter_part(access, self.next_by_owner(), &state.clock, self.is_sync_covered())
    }

    /// An operation comes no further on the fast path. If any access was `entered` for it, its sequence
    /// number is published like that of a failed one.
    #[cold]
    #[inline(never)]
    fn give_up(&self, state: SubmitStateGuard<'_>, entered: bool) {
        if entered {
            drop(Submission::new(self, state, true, false));
        }
    }
}

/// Enters an access to a whole allocation. Returns false, with nothing entered, where that takes the slow
/// path.
///
/// So does the first use of an allocation: two threads that use the same new ones in different orders would
/// both give up half-way, and each wait for what the other one has given up.
#[inline]
fn enter_whole(access: &Access<'_>, view: &OperationView<'_>) -> bool {
    !access.history.is_unused() && access.history.enter_next(access, view) == Next::Entered
}

/// Whether the host has memory that the access would reach without a borrow.
#[inline]
fn meets_host_guard(access: &Access<'_>) -> bool {
    access.unborrowed && access.history.has_conflicting_guard(access.mode)
}

/// Whether the host has memory that one of the accesses, which are entered, would reach without a borrow.
/// Asked again, now that whoever takes a guard from here on sees the entries; the slow path then refuses the
/// operation.
#[inline]
fn meets_host_guard_now(accesses: &[Access<'_>]) -> bool {
    if !accesses.iter().any(|access| access.unborrowed) {
        return false;
    }
    fence(SeqCst);
    accesses.iter().any(meets_host_guard)
}

/// Accesses of one operation that are sorted without asking for memory.
const INLINE: usize = 16;

/// The same for the usual launch.
const FEW: usize = 4;

/// An operation that is to be entered, but for its accesses.
struct SlowPath<'s, 'p, P> {
    timeline: &'s Timeline,
    policy: Policy,
    /// Whether it counts as one of the stream's where it has accesses, being sure to put something on it.
    is_action: bool,
    backend: &'p P,
    at: CallSite,
}

impl Tracker {
    /// Begins an operation: enters its accesses, and orders its stream after all that conflicts with them.
    ///
    /// # Errors
    /// A hazard under [`Policy::Error`], memory that the host has, or the failure of a call that was to order
    /// it.
    ///
    /// # Safety
    /// - The timeline is of this tracker, and the access histories of the accesses are known to no other tracker.
    /// - The caller makes its call before it [commits](Submission::commit), and commits as done only what
    ///   CUDA took. Unless the operation is a [mark](Operation::mark), what it took gives the device
    ///   something to do if `accesses` has any bytes.
    /// - An access that is [exclusive](Access::exclusive) or said not to be [made during the
    ///   call](Access::at_call) is so.
    pub unsafe fn begin_slow<'a, P: EventBackend>(
        &'a self,
        timeline: &'a Timeline,
        operation: Operation<'_, '_>,
        backend: &P,
        at: CallSite,
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let state = timeline.state.lock();
        // Asked for once: it may change at any moment, and what is entered by the one must be published by
        // the same.
        let policy = self.policy();
        let path = SlowPath { timeline, policy, is_action: operation.is_action, backend, at };
        match operation.accesses {
            Accesses::Unsorted(accesses) => self.enter_sorted(&path, state, accesses),
            Accesses::Prepared(accesses) => self.enter(&path, state, accesses.as_slice(), accesses.kinds()),
        }
    }

    /// Enters accesses that are in any order, some of them perhaps empty.
    #[cold]
    #[inline(never)]
    fn enter_sorted<'a, P: EventBackend>(
        &self,
        path: &SlowPath<'a, '_, P>,
        state: SubmitStateGuard<'a>,
        accesses: &[Access<'_>],
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let enter = |state, sorted: &[Access<'_>]| self.enter(path, state, sorted, Kinds::of(sorted));
        match accesses {
            // None at all, too.
            _ if in_order(accesses) => enter(state, accesses),
            // The short copy for the usual launch: filling the long one would cost more than all the rest.
            [first, ..] if accesses.len() <= FEW => {
                let mut copy = [*first; FEW];
                enter(state, sort(&mut copy[..accesses.len()], accesses))
            }
            [first, ..] if accesses.len() <= INLINE => {
                let mut copy = [*first; INLINE];
                enter(state, sort(&mut copy[..accesses.len()], accesses))
            }
            // Many: in the order of their bytes too, which a list of accesses takes faster.
            _ => enter(state, &sorted(accesses.to_vec())),
        }
    }

    /// Enters accesses sorted by allocation, none of them empty, and orders the stream after what they
    /// conflict with. `kinds` is of these accesses, or of more.
    #[inline(never)]
    fn enter<'a, P: EventBackend>(
        &self,
        path: &SlowPath<'a, '_, P>,
        mut state: SubmitStateGuard<'a>,
        accesses: &[Access<'_>],
        kinds: Kinds,
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let SlowPath { timeline, policy, is_action, at, .. } = *path;
        let is_action = is_action && !accesses.is_empty();
        let pending = is_action && self.catch_up(timeline, &mut state);
        if policy == Policy::Error {
            self.refuse(timeline, &state, pending, accesses, at)?;
        }
        if kinds.unborrowed && any_meets_host_guard(accesses) {
            return Err(Refusal::HostBorrowed);
        }
        let mut entered = Submission::new(timeline, state, is_action, pending);
        if policy == Policy::Off {
            return Ok(entered);
        }
        let (me, mut rest, mut behind) = (entered.epoch(), accesses, None);
        if policy == Policy::Order {
            let view = OperationView::new(self, timeline, &entered.state, pending, me);
            (rest, behind) = enter_next(accesses, &view);
        }
        if !rest.is_empty() {
            self.enter_late(
                path,
                &mut entered.state,
                &SortedOperation { accesses, kinds, pending, me },
                rest,
                behind,
            )?;
        }
        // Again, now that whoever takes a guard from here on sees the epochs. One fence for all of them.
        if kinds.unborrowed {
            fence(SeqCst);
            if any_meets_host_guard(accesses) {
                return Err(Refusal::HostBorrowed);
            }
        }
        Ok(entered)
    }

    /// Enters those of an operation's accesses that the short forms of their allocations do not put behind
    /// all others, `rest`. The first of them is not known to be behind `behind`, if that is all that its
    /// short form keeps_call_site of.
    ///
    /// Where one operation which is with CUDA already is all that the short forms tell of and the stream is
    /// not ordered after, the stream is, before anything is entered: what a program finds that uses its
    /// streams in attempt. Entering then meets nothing that is not ordered, so that the short forms stay. A wait
    /// that comes too early is still a wait: whoever enters in between is found as ever. Where more stands
    /// against the operation, one wait may save another.
    #[inline(never)]
    fn enter_late<P: EventBackend>(
        &self,
        path: &SlowPath<'_, '_, P>,
        state: &mut SubmitState,
        operation: &SortedOperation<'_, '_>,
        mut rest: &[Access<'_>],
        mut behind: Option<Epoch>,
    ) -> Result<(), Refusal<P::Error>> {
        let timeline = path.timeline;
        if path.policy == Policy::Order {
            if rest.len() > 1 {
                behind = only_behind(
                    rest,
                    &OperationView::new(self, timeline, state, operation.pending, operation.me),
                );
            }
            if let Some(epoch) = behind
                && let Some(other) = self.timeline(epoch.timeline)
                && other.submitted() >= epoch.sequence
            {
                let conflict = Conflict { epoch, call_site: None };
                self.order_after(timeline, state, other, conflict, path.backend, path.at)
                    .map_err(Refusal::Call)?;
                (rest, _) = enter_next(
                    rest,
                    &OperationView::new(self, timeline, state, operation.pending, operation.me),
                );
            }
        }
        if rest.is_empty() { Ok(()) } else { self.enter_rest(path, state, operation, rest) }
    }

    /// Enters the accesses that are left by steps of any kind, and orders the stream after what they conflict
    /// with.
    #[cold]
    #[inline(never)]
    fn enter_rest<P: EventBackend>(
        &self,
        path: &SlowPath<'_, '_, P>,
        state: &mut SubmitState,
        operation: &SortedOperation<'_, '_>,
        rest: &[Access<'_>],
    ) -> Result<(), Refusal<P::Error>> {
        let SlowPath { timeline, policy, backend, at, .. } = *path;
        let SortedOperation { accesses, kinds, pending, me } = *operation;
        let call_site = (policy == Policy::Error).then_some(at);
        let mut conflicts = Vec::new();
        let view = OperationView::new(self, timeline, state, pending, me);
        self.enter_all(&view, rest, kinds, call_site, &mut conflicts);
        if conflicts.is_empty() {
            return Ok(());
        }
        if policy == Policy::Error {
            return Err(Refusal::Hazard(hazard(&conflicts, at)));
        }
        let rule = (!kinds.at_call).then_some(pending);
        self.order_all(timeline, state, rule, conflicts, backend, at).map_err(Refusal::Call)?;
        let view = OperationView::new(self, timeline, state, pending, me);
        for group in by_allocation(accesses) {
            if let Some(first) = group.first() {
                first.history.settle(group, &view);
            }
        }
        Ok(())
    }

    /// Enters all accesses, and waits for conflicting epochs that are not published yet.
    ///
    /// Why nobody waits in a circle here: each thread enters the allocations in the order of their addresses,
    /// one atomic path for each, and waits only for epochs that were in an allocation before its own, before
    /// it goes on to the next one. So whoever is waited for stands at the same allocation, where it came
    /// earlier, or at a later one. Along a chain of waits the address never falls, and where it stays the
    /// order of arrival falls: no chain closes. No other wait happens in between: the submit state is locked before
    /// the first epoch and no second submit state ever is.
    #[inline]
    fn enter_all(
        &self,
        view: &OperationView<'_>,
        accesses: &[Access<'_>],
        kinds: Kinds,
        call_site: Option<CallSite>,
        conflicts: &mut Vec<Conflict>,
    ) {
        for group in by_allocation(accesses) {
            let Some(first) = group.first() else { continue };
            let found = conflicts.len();
            let at_call = kinds.at_call && Kinds::of(group).at_call;
            let view = if at_call { &view.at_call() } else { view };
            first.history.enter(group, view, call_site, conflicts);
            for conflict in &conflicts[found..] {
                self.await_published(conflict.epoch);
            }
        }
    }

    /// Waits until an operation that is being entered has been handed to CUDA, or given up.
    #[inline]
    pub(crate) fn await_published(&self, epoch: Epoch) {
        let mut attempt = 0;
        while !self.published(epoch) {
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }

    /// Under `Policy::Error`: refuses before anything is entered.
    fn refuse<E>(
        &self,
        timeline: &Timeline,
        state: &SubmitState,
        pending: bool,
        accesses: &[Access<'_>],
        at: CallSite,
    ) -> Result<(), Refusal<E>> {
        let me = timeline.next_by_owner();
        let view = OperationView::new(self, timeline, state, pending, me);
        let mut conflicts = Vec::new();
        for group in by_allocation(accesses) {
            // As entering them asks.
            let view = if Kinds::of(group).at_call { view.at_call() } else { view };
            for access in group {
                access.history.conflicts(access.interval(), |epoch| view.is_after(epoch), &mut conflicts);
            }
        }
        if conflicts.is_empty() { Ok(()) } else { Err(Refusal::Hazard(hazard(&conflicts, at))) }
    }
}

/// An operation of which a part is entered.
#[derive(Clone, Copy)]
struct SortedOperation<'b, 'a> {
    accesses: &'b [Access<'a>],
    kinds: Kinds,
    /// Whether the legacy rule has anything for it.
    pending: bool,
    me: Epoch,
}

/// Enters accesses from the first on as long as each is alone in a whole allocation of which the short form
/// keeps_call_site that all is ordered before it; gives those that are left, and what the first of these is not ordered
/// after, if that is all that its short form keeps_call_site of. As above.
#[inline]
fn enter_next<'a, 'b>(
    accesses: &'b [Access<'a>],
    view: &OperationView<'_>,
) -> (&'b [Access<'a>], Option<Epoch>) {
    let mut rest = accesses;
    while let [first, others @ ..] = rest {
        let alone = others.first().is_none_or(|next| next.address() != first.address());
        if !alone {
            return (rest, None);
        }
        match first.history.enter_next(first, view) {
            Next::Entered => rest = others,
            Next::Behind(epoch) => return (rest, Some(epoch)),
            Next::Unclear => return (rest, None),
        }
    }
    (rest, None)
}

/// The one operation that accesses would conflict with, if the short forms of their allocations tell of one
/// only.
#[cold]
#[inline(never)]
fn only_behind(accesses: &[Access<'_>], view: &OperationView<'_>) -> Option<Epoch> {
    let mut only: Option<Epoch> = None;
    for access in accesses {
        let epoch = match access.history.before(access.mode) {
            Before::Nothing => continue,
            Before::Only(epoch) => epoch,
            Before::Listed => return None,
        };
        if view.orders_before(access.at_call, epoch) {
            continue;
        }
        match &mut only {
            Some(only) if only.timeline != epoch.timeline => return None,
            Some(only) => only.sequence = only.sequence.max(epoch.sequence),
            None => only = Some(epoch),
        }
    }
    only
}

/// Whether the host has memory that one of the accesses would reach without a borrow.
fn any_meets_host_guard(accesses: &[Access<'_>]) -> bool {
    accesses.iter().any(|access| access.unborrowed && access.history.has_conflicting_guard(access.mode))
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
fn hazard(conflicts: &[Conflict], second: CallSite) -> Hazard {
    Hazard { first: conflicts.iter().find_map(|conflict| conflict.call_site), second }
}
