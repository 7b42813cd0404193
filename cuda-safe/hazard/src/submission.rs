//! One operation on its way to CUDA: begin, call, commit.
//!
//! The caller first asks [`Tracker::begin_fast`], and [`Tracker::begin_slow`] if that returns `None`. Either
//! enters the operation's accesses; the slow path also adds the missing waits. Then the caller makes its CUDA
//! call and commits. The [`Submission`] is the guard in between: it holds the stream's lock and the
//! operation's sequence number. If it is dropped without a commit, also by a panic, the operation counts as
//! failed.
//!
//! The fast path takes what a program finds that repeats what it did before, or that orders its streams
//! itself: there is nothing to order the operation after, and nothing to wait for. The crate's page lists its
//! steps by their names in the literature ("Steps that the fast path leaves out").
//!
//! # Why the fast path need not keep the slow path's order of steps
//! The slow path enters allocations in the order of their addresses, because it may wait at one of them for
//! an operation that came to it before. The fast path waits for no operation: if an access cannot be entered,
//! the operation gives its sequence number up, which is then published like that of a failed operation, and
//! takes the slow path with the next one. So whatever waits for this operation waits for one that comes to
//! its end.
#![expect(unsafe_code, reason = "declares how operations begin and are committed")]

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::added_wait::EventBackend;
use crate::clock::{Epoch, SequenceNumber};
use crate::device::Kind;
use crate::entry::{Conflict, FirstWrite, View as _};
use crate::history::{Access, AccessHistory, Next};
use crate::operation_view::{OperationView, hazard};
use crate::policy::Policy;
use crate::primitives::{fence, pause};
use crate::snapshot::SubmittedSnapshot;
use crate::sorted::{AccessFlags, InlineAccesses, SortedAccesses, by_allocation, in_order, sorted};
use crate::timeline::{InFlight, SubmitState, SubmitStateGuard, Timeline, WaitTarget};
use crate::tracker::Tracker;
use crate::wait_log::{CallSite, Hazard};

/// An operation that is to be submitted: its accesses, and whether it gives the device anything to do.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'b, 'a> {
    pub(crate) accesses: OperationAccesses<'b, 'a>,
    /// Whether it is an action if it has accesses: it then surely puts something on the stream.
    pub(crate) is_action: bool,
    /// Whether it also uses memory of the caller that no access names.
    has_untracked: bool,
}

/// The accesses of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperationAccesses<'b, 'a> {
    /// In any order; some may be empty.
    Unsorted(&'b [Access<'a>]),
    /// Sorted in advance.
    Prepared(&'b SortedAccesses<'a>),
}

impl<'b, 'a> Operation<'b, 'a> {
    /// Returns an operation with these accesses. If any of them has a byte, the operation gives the device
    /// something to do.
    #[must_use]
    #[inline]
    pub fn new(accesses: &'b [Access<'a>]) -> Self {
        Self { accesses: OperationAccesses::Unsorted(accesses), is_action: true, has_untracked: false }
    }

    /// Returns an operation that is ordered like work on the memory but gives the device nothing to do. So it
    /// orders neither a blocking stream after the legacy stream nor the legacy stream after a blocking one.
    #[must_use]
    #[inline]
    pub fn mark(accesses: &'b [Access<'a>]) -> Self {
        Self { accesses: OperationAccesses::Unsorted(accesses), is_action: false, has_untracked: false }
    }

    /// Returns an operation whose accesses were sorted in advance: only their entries cost anything again.
    #[must_use]
    #[inline]
    pub fn prepared(accesses: &'b SortedAccesses<'a>) -> Self {
        Self { accesses: OperationAccesses::Prepared(accesses), is_action: true, has_untracked: false }
    }

    /// Returns the operation with the note whether it also uses memory that no access names and that is only
    /// borrowed: until the operation is complete, not for as long as a graph. The tracker has no use for the
    /// note; who makes the operation a part of a graph asks for it.
    #[must_use]
    #[inline]
    pub fn with_untracked(self, has_untracked: bool) -> Self {
        Self { has_untracked, ..self }
    }

    /// Returns whether the operation uses borrowed memory that no access names.
    #[must_use]
    pub fn has_untracked(&self) -> bool {
        self.has_untracked
    }

    /// Returns its accesses.
    #[must_use]
    #[inline]
    pub fn accesses(&self) -> &'b [Access<'a>] {
        match self.accesses {
            OperationAccesses::Unsorted(accesses) => accesses,
            OperationAccesses::Prepared(accesses) => accesses.as_slice(),
        }
    }
}

/// Why an operation was not begun.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<E> {
    /// Nothing orders it after a conflicting operation, and the policy is [`Policy::Error`].
    Hazard(Hazard),
    /// It would reach memory that a live host guard lends.
    HostBorrowed,
    /// Two of its streams access the same bytes of an allocation, and one of them writes.
    Overlap {
        /// The first byte of one access.
        first: usize,
        /// The first byte of the other access, which is not before that.
        second: usize,
        /// The bytes that they have in common.
        bytes: usize,
    },
    /// A call that was to order it failed.
    Call(E),
}

/// An operation that is entered and not yet submitted.
///
/// Its sequence number is published when this is dropped, whatever happens: others might wait for it for ever
/// otherwise.
#[must_use = "dropped, the operation counts as failed"]
pub struct Submission<'a> {
    timeline: &'a Timeline,
    /// Locked until the commit. It holds what is known of the operation, so that a submission is two words.
    pub(crate) state: SubmitStateGuard<'a>,
}

impl<'a> Submission<'a> {
    /// Begins the next operation of a stream, whose lock is held.
    #[inline]
    pub(crate) fn new(
        timeline: &'a Timeline,
        mut state: SubmitStateGuard<'a>,
        is_action: bool,
        takes_pending: bool,
    ) -> Self {
        state.in_flight = InFlight { is_action, takes_pending, done: false };
        Self { timeline, state }
    }

    /// Returns the operation's epoch.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        self.timeline.next_by_owner()
    }

    /// Returns the stream's timeline.
    #[must_use]
    pub fn timeline(&self) -> &'a Timeline {
        self.timeline
    }

    /// Ends the submission: CUDA took the operation if `done`, or refused it.
    #[expect(clippy::inline_always, reason = "measured: the submission then stays in registers")]
    #[inline(always)]
    pub fn commit(mut self, done: bool) {
        self.state.in_flight.done = done;
    }
}

impl Drop for Submission<'_> {
    #[inline]
    fn drop(&mut self) {
        let timeline = self.timeline;
        let InFlight { is_action, takes_pending, done } = self.state.in_flight;
        let (sequence, action) = (self.epoch().sequence, done && is_action);
        if action && takes_pending {
            Tracker::commit_pending(timeline, &mut self.state);
        }
        // If the legacy rule has nothing for it, the stream's end proves it complete if it proves those
        // before.
        let proven = action || !takes_pending && timeline.sync_covered() + 1 == sequence;
        timeline.publish(sequence, proven);
        if timeline.kind == Kind::Legacy {
            timeline.act_on_legacy(&mut self.state, sequence, action);
        } else if timeline.kind != Kind::NonBlocking {
            timeline.device.note_change();
        }
    }
}

impl fmt::Debug for Submission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Submission({:?})", self.epoch())
    }
}

impl Timeline {
    /// Tells the blocking streams of the device that the legacy stream has submitted operation `sequence`.
    #[cold]
    #[inline(never)]
    fn act_on_legacy(&self, state: &mut SubmitState, sequence: SequenceNumber, action: bool) {
        if action {
            self.device.record_action(sequence, state.unshared.then_some(&state.clock));
            state.unshared = false;
        }
    }
}

impl Tracker {
    /// Commits an operation that made memory which nobody else has yet, and returns the first entry of the
    /// memory's access history.
    ///
    /// Such an operation has no accesses: there is nothing to order it after, and no operation can look for
    /// it in a history before the memory exists. The device does nothing for it, so it orders neither a
    /// blocking stream after the legacy stream nor the other way round. (A pool may hand out memory that the
    /// legacy stream, or another stream before it, has yet to finish with, as it does on the legacy stream's
    /// account. An H200 then does order the stream after that: the stream's end proves that the memory is
    /// there.)
    #[inline]
    pub fn commit_first(&self, submission: Submission<'_>, at: CallSite) -> FirstWrite {
        // Read while the operation holds its stream's lock: the policy that it was begun under.
        let keeps_call_site = !submission.timeline.orders.load(Relaxed) && self.policy() == Policy::Error;
        let first = FirstWrite { epoch: submission.epoch(), call_site: keeps_call_site.then_some(at) };
        submission.commit(true);
        first
    }

    /// Returns what the end of the stream's queue proves complete, this operation included. Read it before
    /// the call of an operation that blocks.
    pub fn snapshot_of_submission(&self, submission: &Submission<'_>) -> SubmittedSnapshot {
        self.snapshot_of(submission.timeline).and(submission.epoch())
    }

    /// Commits an operation whose call returned only after the stream had completed everything it was given.
    ///
    /// # Safety
    /// - The call has done so, and everything includes this operation.
    /// - [`snapshot_of_submission`](Self::snapshot_of_submission) returned `covered` before the call.
    #[inline]
    pub unsafe fn commit_blocking(&self, submission: Submission<'_>, covered: &SubmittedSnapshot) {
        submission.commit(true);
        // SAFETY: the caller vouches that all of it is complete.
        unsafe { self.completed_all(covered) };
    }
}

impl Tracker {
    /// Begins an operation by the fast path. Returns `None` if the operation has to take the slow path;
    /// nothing that was entered counts then.
    ///
    /// # Safety
    /// As for [`begin_slow`](Self::begin_slow).
    #[expect(
        clippy::inline_always,
        reason = "measured: code behind the driver's is fetched again, line by line"
    )]
    #[inline(always)]
    pub unsafe fn begin_fast<'a>(
        &'a self,
        timeline: &'a Timeline,
        operation: Operation<'_, '_>,
    ) -> Option<Submission<'a>> {
        let accesses = operation.accesses();
        // The slow path knows what is no action, and leaves out accesses without a byte.
        if !operation.is_action {
            return None;
        }
        let state = timeline.state.lock();
        // It uses no tracked memory: there is nothing to order it after.
        if accesses.is_empty() {
            return Some(Submission::new(timeline, state, false, false));
        }
        // The policy is not to order, or the legacy rule has something for the operation.
        if !timeline.orders.load(Relaxed) || !timeline.is_caught_up(&state) {
            return None;
        }
        let me = timeline.next_by_owner();
        let is_repeated = |access: &&Access<'_>| {
            !access.unborrowed && access.is_whole() && access.history.enter_repeated(access, me)
        };
        let repeated = accesses.iter().take_while(is_repeated).count();
        if repeated < accesses.len()
            && let Err(entered) = self.enter_ordered(timeline, &state, accesses, repeated)
        {
            timeline.give_up(state, entered);
            return None;
        }
        Some(Submission::new(timeline, state, true, false))
    }
}

impl Tracker {
    /// Begins the operation that frees an allocation, on the one stream of `device` that still uses it.
    /// The second value holds the stream's handle during the call. Returns `None` if several streams use
    /// the allocation, if the stream's own order is not enough, or if another thread uses the stream or its
    /// handle: this waits for no thread.
    ///
    /// Nothing is entered, because nobody looks at the history of an allocation without an owner.
    ///
    /// # Safety
    /// - As for [`begin_slow`](Self::begin_slow), with a write of the whole allocation.
    /// - No other operation accesses the allocation from now on, and none is between begin and commit.
    #[inline]
    pub unsafe fn begin_free<'a>(
        &'a self,
        history: &AccessHistory,
        device: i32,
    ) -> Option<(Submission<'a>, impl Deref<Target = WaitTarget> + 'a)> {
        let timeline = self.timeline(history.only_user(|epoch| self.completed(epoch))?)?;
        let of_this_device = timeline.device.ordinal == device;
        if !of_this_device || !matches!(timeline.kind, Kind::Blocking | Kind::NonBlocking) {
            return None;
        }
        let state = timeline.state.try_lock()?;
        // Without the policy, the history may lack accesses. A refused operation may stand for one that only
        // the legacy rule would have ordered before it.
        if !timeline.orders.load(Relaxed) || !timeline.is_sync_covered() {
            return None;
        }
        let target = timeline.try_wait_target()?;
        Some((Submission::new(timeline, state, false, false), target))
    }

    /// Enters accesses from number `first` on, each of which is ordered after all that it conflicts with.
    /// Otherwise leaves the operation to the slow path, and returns as the error whether any may be entered.
    #[inline(never)]
    fn enter_ordered(
        &self,
        timeline: &Timeline,
        state: &SubmitState,
        accesses: &[Access<'_>],
        first: usize,
    ) -> Result<(), bool> {
        let usual = OperationView::new(self, timeline, state, false);
        let (mut entered, mut unborrowed) = (first > 0, false);
        let (mut rest, at_call) = (accesses.get(first..).unwrap_or_default(), usual.at_call());
        while let [access, ..] = rest {
            let (group, others, flags) = together(rest);
            let view = if flags.at_call { &at_call } else { &usual };
            let next = match group {
                _ if flags.unborrowed && group.iter().any(meets_host_guard) => Next::Unclear,
                [access] if access.is_whole() => Self::enter_whole(access, view),
                _ => access.history.enter_parts(group, view),
            };
            if next != Next::Entered {
                return Err(entered || next == Next::Overtaken);
            }
            (rest, entered) = (others, true);
            unborrowed |= flags.unborrowed;
        }
        if unborrowed && meet_host_guard_now(accesses) { Err(true) } else { Ok(()) }
    }

    /// Enters an access to a whole allocation that is ordered after all that it conflicts with, or leaves it
    /// to the slow path.
    ///
    /// The first use of an allocation takes the slow path: two threads that use the same new allocations in
    /// different orders would both give up half-way, and each would wait for what the other has given up.
    fn enter_whole(access: &Access<'_>, view: &OperationView<'_>) -> Next {
        if access.history.enter_repeated(access, view.me()) {
            return Next::Entered;
        }
        if access.history.is_unused() {
            return Next::Unclear;
        }
        match access.history.enter_next(access, view) {
            Next::Unclear => match access.history.enter_beside_readers(access, view) {
                Next::Unclear if access.history.enter_whole_listed(access, view) => Next::Entered,
                next => next,
            },
            next => next,
        }
    }
}

/// Splits off the first accesses that are entered in one step: one to a whole allocation, or those to parts
/// of one that come one after the other. Also returns what matters about them together.
#[inline]
fn together<'b, 'a>(accesses: &'b [Access<'a>]) -> (&'b [Access<'a>], &'b [Access<'a>], AccessFlags) {
    let (mut count, mut flags) = (0, AccessFlags::default());
    let first = accesses.first();
    for access in accesses {
        if count > 0 && first.is_none_or(|first| !first.is_part_beside(access)) {
            break;
        }
        flags.unborrowed |= access.unborrowed;
        flags.at_call |= access.at_call;
        count += 1;
    }
    let (group, others) = accesses.split_at(count);
    (group, others, flags)
}

impl Timeline {
    /// Ends an operation that the fast path cannot finish. If any access was `entered` for it, its sequence
    /// number is published like that of a failed operation.
    #[cold]
    #[inline(never)]
    fn give_up(&self, state: SubmitStateGuard<'_>, entered: bool) {
        if entered {
            drop(Submission::new(self, state, true, false));
        }
    }
}

/// Returns whether a host guard lends memory that the access would reach without a borrow.
pub(crate) fn meets_host_guard(access: &Access<'_>) -> bool {
    access.unborrowed && access.history.has_conflicting_guard(access.mode)
}

/// Returns whether a host guard lends memory that one of the accesses, which are entered, would reach without
/// a borrow. Asked again because a guard that is taken from now on sees the entries.
fn meet_host_guard_now(accesses: &[Access<'_>]) -> bool {
    fence(SeqCst);
    accesses.iter().any(meets_host_guard)
}

/// An operation on the slow path, without its accesses.
struct SlowPath<'s, 'p, P> {
    timeline: &'s Timeline,
    policy: Policy,
    /// Whether it is an action if it has accesses.
    is_action: bool,
    backend: &'p P,
    at: CallSite,
}

impl Tracker {
    /// Begins an operation: enters its accesses, and orders its stream after everything that conflicts with
    /// them.
    ///
    /// # Errors
    /// - [`Refusal::Hazard`] under [`Policy::Error`].
    /// - [`Refusal::HostBorrowed`] for memory that a host guard lends.
    /// - [`Refusal::Call`] if a call that was to order it fails.
    ///
    /// # Safety
    /// - The timeline belongs to this tracker, and no other tracker uses the access histories of the
    ///   accesses.
    /// - The caller makes its call before it [commits](Submission::commit), and commits as done only what
    ///   CUDA took. Unless the operation is a [mark](Operation::mark), it then gives the device something to
    ///   do if its accesses have any bytes.
    /// - An access that is marked [exclusive](Access::exclusive) is exclusive, and one that is not marked as
    ///   [made during the call](Access::at_call) is not made during the call.
    pub unsafe fn begin_slow<'a, P: EventBackend>(
        &'a self,
        timeline: &'a Timeline,
        operation: Operation<'_, '_>,
        backend: &P,
        at: CallSite,
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let state = timeline.state.lock();
        // Read once: it may change at any moment, and what is entered under one policy must be published
        // under the same.
        let policy = self.policy();
        let path = SlowPath { timeline, policy, is_action: operation.is_action, backend, at };
        match operation.accesses {
            // Also if there are none.
            OperationAccesses::Unsorted(accesses) if in_order(accesses) => {
                self.enter(&path, state, accesses, AccessFlags::of(accesses))
            }
            OperationAccesses::Unsorted(accesses) => {
                let accesses = sorted(InlineAccesses::from_slice(accesses));
                self.enter(&path, state, &accesses, AccessFlags::of(&accesses))
            }
            OperationAccesses::Prepared(accesses) => {
                self.enter(&path, state, accesses.as_slice(), accesses.flags())
            }
        }
    }

    /// Enters accesses that are sorted by allocation, none of them empty, and orders the stream after what
    /// they conflict with. `flags` covers these accesses, or more.
    #[inline(never)]
    fn enter<'a, P: EventBackend>(
        &self,
        path: &SlowPath<'a, '_, P>,
        mut state: SubmitStateGuard<'a>,
        accesses: &[Access<'_>],
        flags: AccessFlags,
    ) -> Result<Submission<'a>, Refusal<P::Error>> {
        let SlowPath { timeline, policy, is_action, at, .. } = *path;
        let is_action = is_action && !accesses.is_empty();
        let pending = is_action && self.catch_up(timeline, &mut state);
        if policy == Policy::Error {
            self.refuse(timeline, &state, pending, accesses, at)?;
        }
        if flags.unborrowed && accesses.iter().any(meets_host_guard) {
            return Err(Refusal::HostBorrowed);
        }
        let mut entered = Submission::new(timeline, state, is_action, pending);
        if policy == Policy::Off {
            return Ok(entered);
        }
        let (mut rest, mut behind) = (accesses, None);
        if policy == Policy::Order {
            let view = OperationView::in_flight(self, timeline, &entered.state);
            (rest, behind) = enter_next(accesses, &view);
        }
        if !rest.is_empty() {
            self.enter_late(path, &mut entered.state, (accesses, flags), rest, behind)?;
        }
        // Again, because a guard that is taken from now on sees the epochs. One fence serves all accesses.
        if flags.unborrowed && meet_host_guard_now(accesses) {
            return Err(Refusal::HostBorrowed);
        }
        Ok(entered)
    }

    /// Enters `rest`: those of an operation's accesses that their allocations' last-access words do not show
    /// to be ordered after everything. If `behind` is given, it is the one epoch in the first one's word that
    /// the operation is not ordered after.
    ///
    /// If the last-access words show only one epoch that the stream is not ordered after, and it is
    /// submitted, then the stream is ordered after it before anything is entered. This is what a program
    /// finds that alternates between its streams. Entering then meets nothing that is not ordered, so the
    /// words stay in use instead of lists. A wait that comes too early is still a wait: an operation that
    /// enters in between is found as ever. If there are more such epochs, one wait may save another.
    ///
    /// The remaining accesses are entered whatever their histories hold, and the stream is ordered after the
    /// operations that they conflict with.
    #[inline(never)]
    fn enter_late<P: EventBackend>(
        &self,
        path: &SlowPath<'_, '_, P>,
        state: &mut SubmitState,
        (accesses, flags): (&[Access<'_>], AccessFlags),
        mut rest: &[Access<'_>],
        mut behind: Option<Epoch>,
    ) -> Result<(), Refusal<P::Error>> {
        let SlowPath { timeline, policy, backend, at, .. } = *path;
        if policy == Policy::Order {
            if rest.len() > 1 {
                behind = only_behind(rest, &OperationView::in_flight(self, timeline, state));
            }
            if let Some(epoch) = behind
                && let Some(other) = self.timeline(epoch.timeline)
                && other.submitted() >= epoch.sequence
            {
                let conflict = Conflict { epoch, call_site: None };
                self.order_after(timeline, state, other, conflict, backend, at).map_err(Refusal::Call)?;
                (rest, _) = enter_next(rest, &OperationView::in_flight(self, timeline, state));
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        let call_site = (policy == Policy::Error).then_some(at);
        let mut conflicts = Vec::new();
        let view = OperationView::in_flight(self, timeline, state);
        self.enter_all(&view, rest, flags, call_site, &mut conflicts);
        if conflicts.is_empty() {
            return Ok(());
        }
        if policy == Policy::Error {
            return Err(Refusal::Hazard(hazard(&conflicts, at)));
        }
        self.order_all(timeline, state, flags.at_call, conflicts, backend, at).map_err(Refusal::Call)?;
        let view = OperationView::in_flight(self, timeline, state);
        for group in by_allocation(accesses) {
            if let Some(first) = group.first() {
                first.history.settle(group, &view);
            }
        }
        Ok(())
    }

    /// Enters all accesses, and waits for conflicting epochs that are not published yet.
    ///
    /// Why threads do not wait in a circle here: each thread enters the allocations in the order of their
    /// addresses, one atomic step for each. Before it goes on to the next one, it waits only for epochs that
    /// were in the allocation before its own. So the thread that is waited for stands at the same allocation,
    /// where it came earlier, or at a later one. Along a chain of waits the address never falls, and where it
    /// stays equal, the order of arrival falls: no chain closes. No other wait happens in between: the submit
    /// state is locked before the first epoch is entered, and no second one ever is.
    #[inline]
    fn enter_all(
        &self,
        view: &OperationView<'_>,
        accesses: &[Access<'_>],
        flags: AccessFlags,
        call_site: Option<CallSite>,
        conflicts: &mut Vec<Conflict>,
    ) {
        for group in by_allocation(accesses) {
            let Some(first) = group.first() else { continue };
            let found = conflicts.len();
            let at_call = flags.at_call && AccessFlags::of(group).at_call;
            let view = if at_call { &view.at_call() } else { view };
            first.history.enter(group, view, call_site, conflicts);
            for conflict in &conflicts[found..] {
                self.await_published(conflict.epoch);
            }
        }
    }

    /// Waits until an operation that is being entered has been submitted or given up.
    #[inline]
    pub(crate) fn await_published(&self, epoch: Epoch) {
        let Some(timeline) = self.timeline(epoch.timeline) else { return };
        let mut attempt = 0;
        while timeline.submitted() < epoch.sequence {
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }

    /// Refuses a hazard under `Policy::Error`, before anything is entered.
    pub(crate) fn refuse<E>(
        &self,
        timeline: &Timeline,
        state: &SubmitState,
        pending: bool,
        accesses: &[Access<'_>],
        at: CallSite,
    ) -> Result<(), Refusal<E>> {
        let view = OperationView::new(self, timeline, state, pending);
        let mut conflicts = Vec::new();
        for group in by_allocation(accesses) {
            // The same view as for entering them.
            let view = if AccessFlags::of(group).at_call { view.at_call() } else { view };
            for access in group {
                access.history.conflicts(access.interval(), |epoch| view.is_after(epoch), &mut conflicts);
            }
        }
        if conflicts.is_empty() { Ok(()) } else { Err(Refusal::Hazard(hazard(&conflicts, at))) }
    }
}

/// Enters accesses from the first on, as long as each is the only one of its allocation, covers the whole of
/// it, and is ordered after everything in its last-access word. Returns the accesses that remain. If the word
/// of the first of these shows only one epoch that the operation is not ordered after, returns that too.
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
        match first.history.enter_next(first, &view.of_access(first)) {
            Next::Entered => rest = others,
            Next::Behind(epoch) => return (rest, Some(epoch)),
            Next::Unclear | Next::Overtaken => return (rest, None),
        }
    }
    (rest, None)
}

/// Returns the one epoch that the operation is not ordered after, if the last-access words of all its
/// allocations show only one.
#[cold]
#[inline(never)]
fn only_behind(accesses: &[Access<'_>], view: &OperationView<'_>) -> Option<Epoch> {
    let mut only: Option<Epoch> = None;
    for access in accesses {
        let Some(epoch) = access.history.before(access.mode)? else { continue };
        if view.of_access(access).is_after(epoch) {
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
