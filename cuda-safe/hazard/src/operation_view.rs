//! Joins of clocks: what a stream is ordered after, how that grows, and what of it an operation may rely on.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for their calls")]

use crate::clock::{Epoch, VectorClock};
use crate::device::Kind;
use crate::entry::{Conflict, View};
use crate::history::Access;
use crate::snapshot::EventClock;
use crate::timeline::{SubmitState, Timeline};
use crate::tracker::Tracker;
use crate::wait_log::{CallSite, Hazard};

impl Tracker {
    /// Joins `clock` with everything that an action of the legacy stream would be ordered after now, but for
    /// what has completed. `legacy` is the legacy stream's timeline, or any of its device if it has none.
    pub(crate) fn join_before_legacy(&self, legacy: &Timeline, clock: &mut VectorClock) {
        self.add_pending(Epoch { timeline: legacy.id, sequence: legacy.submitted() }, clock);
        self.join_pending(legacy, clock);
        legacy.device.each_blocking(|id| {
            if let Some(timeline) = self.timeline(id) {
                self.add_pending(Epoch { timeline: id, sequence: timeline.submitted() }, clock);
                self.join_pending(timeline, clock);
            }
        });
    }

    /// Adds an epoch, unless it has completed.
    #[inline]
    pub(crate) fn add_pending(&self, epoch: Epoch, clock: &mut VectorClock) {
        if !self.completed(epoch) {
            clock.add(epoch);
        }
    }

    /// Joins `clock` with what a stream is ordered after, but for what has completed.
    #[inline]
    pub(crate) fn join_pending(&self, timeline: &Timeline, clock: &mut VectorClock) {
        timeline.join_pending_into(clock, |epoch| self.completed(epoch));
    }

    /// Returns whether everything has completed that a stream was given and that it waits for. A stream may
    /// have been given nothing but a wait, and what is ordered after the stream is then ordered after that.
    pub fn is_idle(&self, timeline: &Timeline) -> bool {
        let mut known = VectorClock::new();
        self.join_pending(timeline, &mut known);
        timeline.is_drained() && known.is_empty()
    }

    /// Works out what the legacy rule gives the stream's next operation, and returns whether there is
    /// anything. It stays pending until the operation has really been submitted.
    #[inline]
    pub(crate) fn catch_up(&self, timeline: &Timeline, state: &mut SubmitState) -> bool {
        !timeline.is_caught_up(state) && self.catch_up_now(timeline, state)
    }

    #[cold]
    #[inline(never)]
    fn catch_up_now(&self, timeline: &Timeline, state: &mut SubmitState) -> bool {
        match timeline.kind {
            Kind::NonBlocking => false,
            Kind::Legacy => {
                if timeline.device.take_changes() {
                    self.catch_up_legacy(timeline, state);
                }
                state.legacy_seen != 0
            }
            Kind::Blocking | Kind::PerThread => {
                state.pending.clear();
                state.pending_seen = timeline.device.join_legacy_clock_into(&mut state.pending);
                true
            }
        }
    }

    /// Joins the pending clock with what the blocking streams have done.
    #[cold]
    fn catch_up_legacy(&self, timeline: &Timeline, state: &mut SubmitState) {
        if state.legacy_seen == 0 {
            state.pending.clear();
            state.legacy_seen = 1;
        }
        self.join_before_legacy(timeline, &mut state.pending);
        // It grows by this, and nothing else makes it shorter.
        self.prune_if_long(&mut state.clock);
        timeline.device.prune(|epoch| self.completed(epoch));
    }

    /// Notes that the operation was submitted: the stream's clock joins what the legacy rule gave the
    /// operation.
    #[cold]
    #[inline(never)]
    pub(crate) fn commit_pending(timeline: &Timeline, state: &mut SubmitState) {
        state.legacy_seen = state.pending_seen;
        if state.clock.join(&state.pending) {
            timeline.share(state);
        }
    }

    /// Drops what has completed from a clock that has become long.
    #[inline]
    fn prune_if_long(&self, clock: &mut VectorClock) {
        if clock.is_long() {
            clock.prune(|epoch| self.completed(epoch));
        }
    }

    /// Drops what has completed from a clock that has become long, and publishes the clock.
    #[inline]
    pub(crate) fn prune_and_share(&self, timeline: &Timeline, state: &mut SubmitState) {
        self.prune_if_long(&mut state.clock);
        timeline.share(state);
    }

    /// Records the last event of a stream that goes: from now on only that event stands for the stream, and
    /// the stream is ordered after everything that the event is.
    ///
    /// # Errors
    /// The failure of the call.
    ///
    /// # Safety
    /// - The call records an event on the stream of the timeline, which belongs to this tracker, if it
    ///   succeeds.
    /// - From now on the stream is given nothing more, and only that event is waited for in its place.
    pub unsafe fn record_last<E>(
        &self,
        timeline: &Timeline,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: the call records an event, as the caller says.
        let event_clock = unsafe { self.record(timeline, call) }?;
        let mut state = timeline.state.lock();
        if state.clock.join(&event_clock.clock) {
            timeline.share(&mut state);
        }
        timeline.mark_sync_covered();
        Ok(())
    }

    /// Records an event on a stream, and returns the event's clock.
    ///
    /// # Errors
    /// The failure of the call.
    ///
    /// # Safety
    /// The call records an event on the stream of the timeline, which belongs to this tracker, if it
    /// succeeds.
    pub unsafe fn record<E>(
        &self,
        timeline: &Timeline,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<EventClock, E> {
        let mut event_clock = EventClock::new();
        // SAFETY: the caller vouches for the call; the event clock is new.
        unsafe { self.record_into(timeline, &mut event_clock, call) }?;
        Ok(event_clock)
    }

    /// [`record`](Self::record) that overwrites an event clock. If the call fails, the event clock stays
    /// unchanged.
    ///
    /// # Errors
    /// The failure of the call.
    ///
    /// # Safety
    /// As for [`record`](Self::record). The event clock is of no other event.
    #[inline]
    pub(crate) unsafe fn record_into<E>(
        &self,
        timeline: &Timeline,
        event_clock: &mut EventClock,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = timeline.state.lock();
        let state = &mut *state;
        let pending = self.catch_up(timeline, state);
        let epoch = Epoch { timeline: timeline.id, sequence: timeline.submitted() };
        call()?;
        if pending && timeline.kind != Kind::Legacy {
            // The event comes after the legacy stream's work. The stream itself does not until it has
            // something to do: its end, which can be now, proves nothing about that work.
            let mut clock = state.clock.clone();
            clock.join(&state.pending);
            clock.prune(|epoch| self.completed(epoch));
            *event_clock = EventClock { epoch, clock };
            return Ok(());
        }
        if pending {
            Self::commit_pending(timeline, state);
        }
        timeline.mark_sync_covered();
        if timeline.kind == Kind::Legacy {
            timeline.device.record_action(epoch.sequence, state.unshared.then_some(&state.clock));
            state.unshared = false;
        }
        self.prune_if_long(&mut state.clock);
        event_clock.epoch = epoch;
        event_clock.clock.clone_from(&state.clock);
        Ok(())
    }

    /// Makes a stream wait for an event, and joins its clock with the event's.
    ///
    /// # Errors
    /// The failure of the call.
    ///
    /// # Safety
    /// If the call succeeds, it makes the stream of the timeline, which belongs to this tracker, wait for the
    /// event of the event clock.
    #[inline]
    pub unsafe fn wait<E>(
        &self,
        timeline: &Timeline,
        event_clock: &EventClock,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = timeline.state.lock();
        call()?;
        if event_clock.epoch.timeline == timeline.id {
            // A stream's own event adds nothing, and the end of the stream does not prove what the event
            // comes after by the legacy rule.
            return Ok(());
        }
        let changed =
            state.clock.join_for(&event_clock.clock, timeline.id) | state.clock.add(event_clock.epoch);
        // Only the event's clock, not the stream's whole clock: a wait for what has completed need not be an
        // action of the legacy stream.
        if timeline.kind == Kind::Legacy {
            timeline.device.join_action(event_clock.epoch, &event_clock.clock);
        }
        if changed {
            self.prune_and_share(timeline, &mut state);
        }
        Ok(())
    }

    /// Returns the operations that the host has to wait for before it makes this access. All of them are
    /// submitted.
    pub fn host_conflicts(&self, access: Access<'_>) -> Vec<Conflict> {
        let conflicts = self.pending_conflicts(access);
        conflicts.iter().for_each(|conflict| self.await_published(conflict.epoch));
        conflicts
    }

    /// Returns whether the host may make this access now, by what is known to have completed.
    pub fn is_quiet(&self, access: Access<'_>) -> bool {
        self.pending_conflicts(access).is_empty()
    }

    /// Returns the operations that conflict with an access of the host and are not known to have completed.
    fn pending_conflicts(&self, access: Access<'_>) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        if !access.is_empty() {
            access.history.conflicts(access.interval(), |epoch| self.completed(epoch), &mut conflicts);
        }
        conflicts
    }

    /// Returns the hazard of an operation of the stream that has only this access, or `None` if everything
    /// that conflicts is ordered before it. For messages: others may submit work at the same time.
    pub fn hazard_of(&self, timeline: &Timeline, access: Access<'_>, at: CallSite) -> Option<Hazard> {
        let mut state = timeline.state.lock();
        let pending = self.catch_up(timeline, &mut state);
        let view = OperationView::new(self, timeline, &state, pending);
        let mut conflicts = Vec::new();
        access.history.conflicts(access.interval(), |epoch| view.is_after(epoch), &mut conflicts);
        (!conflicts.is_empty()).then(|| hazard(&conflicts, at))
    }

    /// Drops what has completed from an allocation's access history.
    ///
    /// # Safety
    /// No other tracker uses the access history.
    pub unsafe fn prune(&self, access: Access<'_>) {
        access.history.prune(|epoch| self.completed(epoch));
    }
}

/// The work that an operation being entered is ordered after.
#[derive(Clone, Copy)]
pub(crate) struct OperationView<'a> {
    tracker: &'a Tracker,
    timeline: &'a Timeline,
    clock: &'a VectorClock,
    /// The order that the legacy rule adds, if any.
    pending: Option<&'a VectorClock>,
    /// Whether the legacy rule counts at all.
    by_rule: bool,
    me: Epoch,
}

impl<'a> OperationView<'a> {
    /// Returns the view of the stream's next operation; `pending` tells whether the legacy rule has anything
    /// for it.
    #[inline]
    pub(crate) fn new(
        tracker: &'a Tracker,
        timeline: &'a Timeline,
        state: &'a SubmitState,
        pending: bool,
    ) -> Self {
        let (me, pending) = (timeline.next_by_owner(), pending.then_some(&state.pending));
        Self { tracker, timeline, clock: &state.clock, pending, by_rule: true, me }
    }

    /// Returns the view of the operation between its begin and its commit.
    #[inline]
    pub(crate) fn in_flight(tracker: &'a Tracker, timeline: &'a Timeline, state: &'a SubmitState) -> Self {
        Self::new(tracker, timeline, state, state.in_flight.takes_pending)
    }

    /// Returns the view for what is read during the call: without what the legacy rule gives this very
    /// operation, since such a read does not wait for the stream. The rule's order of earlier operations of
    /// the stream counts: until these have run, the stream has something to do.
    #[inline]
    pub(crate) fn at_call(self) -> Self {
        Self { pending: None, by_rule: false, ..self }
    }

    /// Returns the view for one access of the operation.
    #[inline]
    pub(crate) fn of_access(self, access: &Access<'_>) -> Self {
        if access.at_call { self.at_call() } else { self }
    }

    /// Returns whether another stream's operation is ordered before this one though the stream's own clock
    /// does not cover it.
    #[inline(never)]
    fn is_after_slow(&self, epoch: Epoch) -> bool {
        if self.pending.is_some_and(|clock| clock.covers(epoch)) {
            return true;
        }
        let Some(other) = self.tracker.timeline(epoch.timeline) else { return false };
        if other.completed() >= epoch.sequence {
            return true;
        }
        self.by_rule
            && self.timeline.kind == Kind::Legacy
            && other.kind.blocking()
            && other.device.ordinal == self.timeline.device.ordinal
            && other.submitted() >= epoch.sequence
    }
}

impl View for OperationView<'_> {
    #[inline]
    fn me(&self) -> Epoch {
        self.me
    }

    #[inline]
    fn completed(&self, epoch: Epoch) -> bool {
        self.tracker.completed(epoch)
    }

    #[inline]
    fn is_after(&self, epoch: Epoch) -> bool {
        if epoch.timeline == self.me.timeline {
            // A refused operation is in the access histories, where it may stand for what only the rule would
            // have ordered before it.
            return self.by_rule || epoch.sequence <= self.timeline.sync_covered() || epoch == self.me;
        }
        self.clock.covers(epoch) || self.is_after_slow(epoch)
    }

    #[inline]
    fn is_after_own(&self) -> bool {
        self.by_rule
    }
}

/// Returns the hazard to report: with the call site of an earlier operation if one has it.
pub(crate) fn hazard(conflicts: &[Conflict], second: CallSite) -> Hazard {
    Hazard { first: conflicts.iter().find_map(|conflict| conflict.call_site), second }
}
