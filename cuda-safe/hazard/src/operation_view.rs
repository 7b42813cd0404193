//! Knowledge: what a stream is ordered after, how it learns that, and what of it an operation may rely on.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for their calls")]

use crate::clock::{ClockSummary, Epoch, VectorClock};
use crate::device::Kind;
use crate::entry::{Conflict, FullView, View};
use crate::history::Access;
use crate::snapshot::EventClock;
use crate::timeline::{SubmitState, Timeline};
use crate::tracker::Tracker;

impl Tracker {
    /// All that an action of the legacy stream would be ordered after now, but for what is over. `legacy` is
    /// its timeline, or any of its device if it has none.
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

    /// Adds an epoch, unless everybody knows that it is over.
    #[inline]
    pub(crate) fn add_pending(&self, epoch: Epoch, clock: &mut VectorClock) {
        if !self.completed(epoch) {
            clock.add(epoch);
        }
    }

    /// Adds what a stream is ordered after, but for what is over. Takes no lock and no memory where all of it
    /// was found to be over before.
    #[inline]
    pub(crate) fn join_pending(&self, timeline: &Timeline, clock: &mut VectorClock) {
        timeline.join_pending_into(clock, |epoch| self.completed(epoch));
    }

    /// Whether all is known to be over that a stream was given, and all that it waits for: it may have been
    /// given nothing but a wait, and who comes after the stream then comes after that.
    pub fn is_idle(&self, timeline: &Timeline) -> bool {
        let mut known = VectorClock::new();
        self.join_pending(timeline, &mut known);
        timeline.is_drained() && known.is_empty()
    }

    /// Works out what the legacy rule gives the stream's next operation, which is held back until the
    /// operation is really issued: says whether there is any.
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

    /// Works out what the blocking streams have done.
    #[cold]
    fn catch_up_legacy(&self, timeline: &Timeline, state: &mut SubmitState) {
        if state.legacy_seen == 0 {
            state.pending.clear();
            state.legacy_seen = 1;
        }
        self.join_before_legacy(timeline, &mut state.pending);
        // It grows by what this brings, and nobody else makes it shorter.
        if state.clock.is_long() {
            state.clock.prune(|epoch| self.completed(epoch));
        }
        timeline.device.prune(|epoch| self.completed(epoch));
    }

    /// The operation was issued: what the legacy rule gave it, the stream now has.
    #[cold]
    #[inline(never)]
    pub(crate) fn commit_pending(timeline: &Timeline, state: &mut SubmitState) {
        state.legacy_seen = state.pending_seen;
        if state.clock.join(&state.pending) {
            timeline.share(state);
        }
    }

    /// Drops what has completed from a clock that has become long, and lets others see it.
    #[inline]
    pub(crate) fn prune_and_share(&self, timeline: &Timeline, state: &mut SubmitState) {
        if state.clock.is_long() {
            state.clock.prune(|epoch| self.completed(epoch));
        }
        timeline.share(state);
    }

    /// Puts the last event on a stream that goes: from now on it is reached by that event only, and what the
    /// event comes after, the stream does.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// The call records an event on the stream of the timeline, which is this tracker's, if it succeeds. From now
    /// on the stream is given nothing more, and is reached by that event only.
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

    /// Puts an event record on a stream, and gives what the event will stand for.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// The call records an event on the stream of the timeline, which is this tracker's, if it succeeds.
    pub unsafe fn record<E>(
        &self,
        timeline: &Timeline,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<EventClock, E> {
        let mut event_clock = EventClock::new();
        // SAFETY: the caller vouches for the call; the snapshot is new.
        unsafe { self.record_into(timeline, &mut event_clock, call) }?;
        Ok(event_clock)
    }

    /// [`record`](Self::record) that says in the place of what an event stood for what it will stand for.
    /// Where the call fails, that stays as it is.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// As for [`record`](Self::record). The snapshot is of no other event.
    #[inline]
    pub unsafe fn record_into<E>(
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

    /// [`record_into`](Self::record_into) where the legacy rule counts, or the clock has become long.
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

    /// What an event stands for that was recorded on a stream for which the legacy rule had something.
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

    /// Puts a wait for an event on a stream.
    ///
    /// # Errors
    /// What the call fails with.
    ///
    /// # Safety
    /// The call makes the stream of the timeline, which is this tracker's, wait for the event that the snapshot
    /// is of, if it succeeds.
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
        // What most waits are: for an event of the one stream that the clock tells of, which itself waits for
        // this one at most.
        if timeline.kind == Kind::Legacy
            || !event_clock.clock.adds_nothing_to(timeline.id)
            || !Self::join_only(timeline, state, event_clock.epoch)
        {
            self.join_for(timeline, state, event_clock);
        }
        Ok(())
    }

    /// The stream waits for this operation of the only other one that its clock tells of. Says no, with
    /// nothing learned, if it tells of others.
    #[inline]
    fn join_only(timeline: &Timeline, state: &mut SubmitState, epoch: Epoch) -> bool {
        match state.clock.add_to_only(epoch) {
            Some(true) => timeline.share_summary(state, ClockSummary::One(epoch)),
            Some(false) => {}
            None => return false,
        }
        true
    }

    /// The stream waits for all of another one up to this operation, and for what that one knew.
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
                // What more than one number tells is not told here.
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

    /// The stream waits for an event.
    #[cold]
    #[inline(never)]
    fn join_for(&self, timeline: &Timeline, state: &mut SubmitState, event_clock: &EventClock) {
        if event_clock.epoch.timeline == timeline.id {
            // Of its own events a stream learns nothing, and what these come after by the legacy rule is not
            // what the end of the stream proves.
            return;
        }
        let changed =
            state.clock.join_for(&event_clock.clock, timeline.id) | state.clock.add(event_clock.epoch);
        // Not all that the clock says: a wait for what is over need not be an action of the legacy stream.
        if timeline.kind == Kind::Legacy {
            timeline.device.join_action(event_clock.epoch, &event_clock.clock);
        }
        if changed {
            self.prune_and_share(timeline, state);
        }
    }

    /// The accesses that the host has to wait for before it does this one. All of them are with CUDA.
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

    /// Whether nothing stands against the host's doing this now, as far as is known.
    pub fn is_quiet(&self, access: Access<'_>) -> bool {
        let mut conflicts = Vec::new();
        if !access.is_empty() {
            access.history.conflicts(access.interval(), |epoch| self.completed(epoch), &mut conflicts);
        }
        conflicts.is_empty()
    }

    /// Drops what has completed from an allocation's access history.
    ///
    /// # Safety
    /// No other tracker knows the access history.
    pub unsafe fn prune(&self, access: Access<'_>) {
        access.history.prune(|epoch| self.completed(epoch));
    }
}

/// What the operation that is being entered knows.
#[derive(Clone, Copy)]
pub(crate) struct OperationView<'a> {
    tracker: &'a Tracker,
    timeline: &'a Timeline,
    clock: &'a VectorClock,
    /// What the legacy rule adds, if there is any.
    pending: Option<&'a VectorClock>,
    /// Whether that rule counts at all.
    by_rule: bool,
    me: Epoch,
}

impl<'a> OperationView<'a> {
    /// `pending` says whether the legacy rule has anything for the operation.
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

    /// Whether another stream's operation is ordered before this one though the stream's own clock does not
    /// say so.
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
            // What CUDA refused is in the access histories, where it may stand for what the rule alone would have
            // ordered before it.
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
