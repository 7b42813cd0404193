//! Added waits: ordering a stream after an operation that it conflicts with and that nothing orders it after.
#![expect(unsafe_code, reason = "declares what a backend vouches for")]

use crate::clock::{ClockSummary, Epoch, VectorClock};
use crate::device::Kind;
use crate::entry::{Conflict, FullView, View};
use crate::operation_view::OperationView;
use crate::primitives::Arc;
use crate::timeline::{SubmitState, Timeline};
use crate::tracker::Tracker;
use crate::wait_log::{CallSite, Wait};

/// The CUDA side of the tracker: records events and makes streams wait for them.
///
/// # Safety
/// The functions have done what they report: nothing else checks that the streams wait for each other.
pub unsafe trait EventBackend {
    /// The error of a failed call.
    type Error;

    /// Makes `waiter`'s stream wait for everything that `other`'s stream has been given so far, or waits for
    /// that itself. `backend_data` is a number that the backend may store with the waiting stream, 0 at
    /// first.
    ///
    /// If both are the same timeline, the backend makes the stream wait for what the legacy rule gives its
    /// next operation: by an event of the legacy stream.
    ///
    /// Called with the submit states of `waiter` and of the operation's other streams locked, and no other
    /// lock of the tracker held. It must not wait for a submit state.
    ///
    /// # Errors
    /// The failure of a call.
    fn order(
        &self,
        waiter: &Timeline,
        other: &Timeline,
        backend_data: &mut usize,
    ) -> Result<WaitMethod, Self::Error>;
}

/// The method by which an [`EventBackend`] has ordered one stream after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMethod {
    /// An event recorded on the other stream just now.
    Stream,
    /// An event recorded just now on the legacy stream of the other stream's device.
    Legacy,
    /// The last event of a stream that is gone.
    Event,
    /// The host has waited until it was complete, and the completed sequence numbers are raised accordingly.
    Host,
}

impl Tracker {
    /// Orders the stream after every conflict that it is not yet ordered after. `rule` is `Some` if the
    /// legacy rule may order the stream after a conflict; it then tells whether the rule has anything for the
    /// operation.
    #[cold]
    pub(crate) fn order_all<P: EventBackend>(
        &self,
        timeline: &Timeline,
        state: &mut SubmitState,
        rule: Option<bool>,
        mut conflicts: Vec<Conflict>,
        backend: &P,
        at: CallSite,
    ) -> Result<(), P::Error> {
        // One wait covers all of a stream, so only the stream's last operation counts.
        conflicts.sort_unstable_by_key(|conflict| {
            (conflict.epoch.timeline, std::cmp::Reverse(conflict.epoch.sequence))
        });
        conflicts.dedup_by_key(|conflict| conflict.epoch.timeline);
        loop {
            let me = timeline.next_by_owner();
            let view = match rule {
                Some(pending) => OperationView::new(self, timeline, state, pending, me),
                None => OperationView::new(self, timeline, state, false, me).at_call(),
            };
            conflicts.retain(|conflict| !view.is_after(conflict.epoch));
            // If a stream is itself ordered after another conflict, a wait for it saves the wait for that
            // one: it goes first.
            let covered = |one: &Conflict| {
                let mut others = conflicts.iter().filter(|other| other.epoch.timeline != one.epoch.timeline);
                others.any(|other| {
                    self.timeline(other.epoch.timeline).is_some_and(|other| other.is_ordered_after(one.epoch))
                })
            };
            let Some(next) = conflicts.iter().find(|one| !covered(one)).or(conflicts.first()) else {
                return Ok(());
            };
            let next = *next;
            let Some(other) = self.timeline(next.epoch.timeline) else { return Ok(()) };
            self.order_after(timeline, state, other, next, backend, at)?;
            conflicts.retain(|conflict| conflict.epoch.timeline != other.id);
        }
    }

    /// Orders the stream after everything that another stream has been given, because of `conflict`, and
    /// notes the wait.
    ///
    /// The worth of the wait is read *before* the call: more may be given to the other stream meanwhile, and
    /// the wait need not cover that.
    #[inline(never)]
    pub(crate) fn order_after<P: EventBackend>(
        &self,
        timeline: &Timeline,
        state: &mut SubmitState,
        other: &Timeline,
        conflict: Conflict,
        backend: &P,
        at: CallSite,
    ) -> Result<(), P::Error> {
        let summary = other.summary();
        let epoch = Epoch { timeline: other.id, sequence: other.submitted() };
        let route = if summary == ClockSummary::Many
            || other.id == timeline.id
            || !gives_no_more(timeline, state, other)
        {
            self.order_after_more(timeline, state, other, backend)?
        } else {
            let route = backend.order(timeline, other, &mut state.backend_data)?;
            // No backend uses the legacy stream here, and if one did, the wait would be worth nothing.
            if matches!(route, WaitMethod::Stream | WaitMethod::Event) {
                self.join_summary(timeline, state, epoch, summary);
            }
            route
        };
        self.note(timeline, conflict, route, at);
        Ok(())
    }

    /// Notes a wait.
    #[inline]
    fn note(&self, timeline: &Timeline, conflict: Conflict, route: WaitMethod, at: CallSite) {
        let Conflict { epoch, call_site: after } = conflict;
        timeline.waits().note(&self.waits, &Wait { at, after, epoch, by_host: route == WaitMethod::Host });
    }

    /// Has the backend order the stream after another one of any kind, whose clock may hold anything.
    #[cold]
    #[inline(never)]
    fn order_after_more<P: EventBackend>(
        &self,
        timeline: &Timeline,
        state: &mut SubmitState,
        other: &Timeline,
        backend: &P,
    ) -> Result<WaitMethod, P::Error> {
        let mut gained = other.published_clock();
        gained.add(Epoch { timeline: other.id, sequence: other.submitted() });
        // The legacy rule's addition to that, and the worth of a wait for the legacy stream instead.
        let (mut by_rule, mut by_legacy) = (VectorClock::new(), VectorClock::new());
        match other.kind {
            Kind::NonBlocking => {}
            Kind::Legacy => self.join_before_legacy(other, &mut by_rule),
            Kind::Blocking | Kind::PerThread => {
                other.device.join_legacy_clock_into(&mut by_rule);
                if other.kind == Kind::PerThread || other.id == timeline.id {
                    let legacy = other.device.legacy().and_then(|id| self.timeline(id));
                    self.join_before_legacy(legacy.unwrap_or(other), &mut by_legacy);
                }
            }
        }
        let route = backend.order(timeline, other, &mut state.backend_data)?;
        match route {
            WaitMethod::Host => gained.clear(),
            WaitMethod::Event => {}
            WaitMethod::Stream => {
                gained.join(&by_rule);
                if other.kind == Kind::Legacy {
                    // The record was an action of the legacy stream, whichever stream asked for it.
                    other.device.join_action(Epoch { timeline: other.id, sequence: 0 }, &gained);
                }
            }
            WaitMethod::Legacy => {
                other.device.join_action(Epoch { timeline: other.id, sequence: 0 }, &by_legacy);
                gained = by_legacy;
            }
        }
        if other.id == timeline.id {
            timeline.mark_sync_covered();
        }
        if state.clock.join_for(&gained, timeline.id) {
            self.prune_and_share(timeline, state);
        }
        Ok(route)
    }
}

/// Returns whether `timeline`'s stream, by waiting for `other`'s, gains by the legacy rule nothing that it
/// does not already have, and the legacy stream gains nothing either.
fn gives_no_more(timeline: &Timeline, state: &SubmitState, other: &Timeline) -> bool {
    match other.kind {
        Kind::NonBlocking => true,
        Kind::Blocking => {
            let actions = other.device.actions();
            // The clock already has all that the legacy stream had done until then.
            actions == 0
                || timeline.kind == Kind::Blocking
                    && actions == state.legacy_seen
                    && Arc::ptr_eq(&timeline.device, &other.device)
        }
        Kind::Legacy | Kind::PerThread => false,
    }
}
