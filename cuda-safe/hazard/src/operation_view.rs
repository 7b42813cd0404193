//! Joins of clocks: what a stream is ordered after, how that grows, and what of it an operation may rely on.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for their calls")]

use crate::clock::{ClockSummary, Epoch, VectorClock};
use crate::device::Kind;
use crate::entry::{Conflict, FullView, View};
use crate::history::Access;
use crate::snapshot::EventClock;
use crate::timeline::{SubmitState, Timeline};
use crate::tracker::Tracker;

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

    /// Joins `clock` with what a stream is ordered after, but for what has completed. Takes no lock and
    /// allocates nothing if all of it was found complete before.
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
        if state.clock.is_long() {
            state.clock.prune(|epoch| self.completed(epoch));
        }
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

    /// Drops what has completed from a clock that has become long, and publishes the clock.
    #[inline]
    pub(crate) fn prune_and_share(&self, timeline: &Timeline, state: &mut SubmitState) {
        if state.clock.is_long() {
            state.clock.prune(|epoch| self.completed(epoch));
        }
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
        if timeline.kind == Kind::Legacy || !timeline.is_caught_up(state) || state.clock.is_long() {
            return self.record_slow(timeline, state, event_clock, call);
        }
        let epoch = Epoch { timeline: timeline.id, sequence: timeline.submitted() };
        call()?;
        timeline.mark_sync_covered();
        event_clock.epoch = epoch;
        event_clock.clock.clone_from(&state.clock);
        Ok(())
    }

    /// [`record_into`](Self::record_into) if the legacy rule matters, or the clock has become long.
    #[cold]
    #[inline(never)]
    fn record_slow<E>(
        &self,
        timeline: &Timeline,
        state: &mut SubmitState,
        event_clock: &mut EventClock,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let pending = self.catch_up(timeline, state);
        let epoch = Epoch { timeline: timeline.id, sequence: timeline.submitted() };
        call()?;
        if pending {
            if timeline.kind != Kind::Legacy {
                *event_clock = self.event_clock_after_legacy(state, epoch);
                return Ok(());
            }
            Self::commit_pending(timeline, state);
        }
        timeline.mark_sync_covered();
        if timeline.kind == Kind::Legacy {
            timeline.device.record_action(epoch.sequence, state.unshared.then_some(&state.clock));
            state.unshared = false;
        }
        if state.clock.is_long() {
            state.clock.prune(|epoch| self.completed(epoch));
        }
        event_clock.epoch = epoch;
        event_clock.clock.clone_from(&state.clock);
        Ok(())
    }

    /// Returns the clock of an event that was recorded on a stream for which the legacy rule had something.
    ///
    /// The event comes after the legacy stream's work. The stream itself does not until it has something to
    /// do: its end, which can be now, proves nothing about that work.
    #[cold]
    #[inline(never)]
    fn event_clock_after_legacy(&self, state: &SubmitState, epoch: Epoch) -> EventClock {
        let mut clock = state.clock.clone();
        clock.join(&state.pending);
        clock.prune(|epoch| self.completed(epoch));
        EventClock { epoch, clock }
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
        let state = &mut *state;
        call()?;
        // Most waits are for an event of the one stream in the clock, which itself waits for at most this
        // stream.
        if timeline.kind == Kind::Legacy
            || !event_clock.clock.adds_nothing_to(timeline.id)
            || !Self::join_only(timeline, state, event_clock.epoch)
        {
            self.join_for(timeline, state, event_clock);
        }
        Ok(())
    }

    /// Joins the clock with this operation of the only other stream in it. Returns false, with nothing
    /// joined, if the clock has entries of others.
    #[inline]
    fn join_only(timeline: &Timeline, state: &mut SubmitState, epoch: Epoch) -> bool {
        match state.clock.add_to_only(epoch) {
            Some(true) => timeline.share_summary(state, ClockSummary::One(epoch)),
            Some(false) => {}
            None => return false,
        }
        true
    }

    /// Joins the clock with all of another stream up to this operation, and with what that stream was ordered
    /// after.
    #[inline]
    pub(crate) fn join_summary(
        &self,
        timeline: &Timeline,
        state: &mut SubmitState,
        epoch: Epoch,
        known: ClockSummary,
    ) {
        let more = matches!(known, ClockSummary::One(known) if known.timeline != timeline.id);
        if more || !Self::join_only(timeline, state, epoch) {
            let nothing = Epoch { sequence: 0, ..epoch };
            let known = match known {
                ClockSummary::One(known) if more => known,
                // The caller handles a clock that takes more than one number.
                _ => nothing,
            };
            self.join_two(timeline, state, epoch, known);
        }
    }

    #[cold]
    #[inline(never)]
    fn join_two(&self, timeline: &Timeline, state: &mut SubmitState, epoch: Epoch, known: Epoch) {
        if state.clock.add(epoch) | state.clock.add(known) {
            self.prune_and_share(timeline, state);
        }
    }

    /// Joins the clock with an event's.
    #[cold]
    #[inline(never)]
    fn join_for(&self, timeline: &Timeline, state: &mut SubmitState, event_clock: &EventClock) {
        if event_clock.epoch.timeline == timeline.id {
            // A stream's own event adds nothing, and the end of the stream does not prove what the event
            // comes after by the legacy rule.
            return;
        }
        let changed =
            state.clock.join_for(&event_clock.clock, timeline.id) | state.clock.add(event_clock.epoch);
        // Only the event's clock, not the stream's whole clock: a wait for what has completed need not be an
        // action of the legacy stream.
        if timeline.kind == Kind::Legacy {
            timeline.device.join_action(event_clock.epoch, &event_clock.clock);
        }
        if changed {
            self.prune_and_share(timeline, state);
        }
    }

    /// Returns the operations that the host has to wait for before it makes this access. All of them are
    /// submitted.
    pub fn host_conflicts(&self, access: Access<'_>) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        if !access.is_empty() {
            access.history.conflicts(access.interval(), |epoch| self.completed(epoch), &mut conflicts);
        }
        for conflict in &conflicts {
            self.await_published(conflict.epoch);
        }
        conflicts
    }

    /// Returns whether the host may make this access now, by what is known to have completed.
    pub fn is_quiet(&self, access: Access<'_>) -> bool {
        let mut conflicts = Vec::new();
        if !access.is_empty() {
            access.history.conflicts(access.interval(), |epoch| self.completed(epoch), &mut conflicts);
        }
        conflicts.is_empty()
    }

    /// Returns whether an operation of the stream with this access would conflict with one that nothing
    /// orders before it. For messages: others may submit work at the same time.
    pub fn is_unordered(&self, timeline: &Timeline, access: Access<'_>) -> bool {
        let mut state = timeline.state.lock();
        let pending = self.catch_up(timeline, &mut state);
        let view = OperationView::new(self, timeline, &state, pending, timeline.next_by_owner());
        let mut conflicts = Vec::new();
        access.history.conflicts(access.interval(), |epoch| view.is_after(epoch), &mut conflicts);
        !conflicts.is_empty()
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
    /// Returns the view of the operation `me`; `pending` tells whether the legacy rule has anything for it.
    #[inline]
    pub(crate) fn new(
        tracker: &'a Tracker,
        timeline: &'a Timeline,
        state: &'a SubmitState,
        pending: bool,
        me: Epoch,
    ) -> Self {
        let pending = pending.then_some(&state.pending);
        Self { tracker, timeline, clock: &state.clock, pending, by_rule: true, me }
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
}

impl FullView for OperationView<'_> {
    #[inline]
    fn at_call(&self) -> Self {
        Self { pending: None, by_rule: false, ..*self }
    }
}
