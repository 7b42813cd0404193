//! Added waits: ordering a stream after an operation that it conflicts with and that nothing orders it after.
#![expect(unsafe_code, reason = "declares what a backend vouches for")]

use crate::clock::{Epoch, VectorClock};
use crate::device::Kind;
use crate::entry::{Conflict, View};
use crate::operation_view::OperationView;
use crate::timeline::{SubmitState, Timeline};
use crate::tracker::Tracker;
use crate::wait_log::{AddedWait, CallSite};

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
    /// Orders the stream after every conflict that it is not yet ordered after. `at_call` tells whether an
    /// access may be made during the call: the legacy rule does not count then.
    #[cold]
    pub(crate) fn order_all<P: EventBackend>(
        &self,
        timeline: &Timeline,
        state: &mut SubmitState,
        at_call: bool,
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
            let view = OperationView::in_flight(self, timeline, state);
            let view = if at_call { view.at_call() } else { view };
            conflicts.retain(|conflict| !view.is_after(conflict.epoch));
            // If a stream is itself ordered after another conflict, a wait for it saves the wait for that
            // one: it goes first.
            let covered = |one: &Conflict| {
                let mut others = conflicts.iter().filter(|other| other.epoch.timeline != one.epoch.timeline);
                others.any(|other| {
                    self.timeline(other.epoch.timeline)
                        .is_some_and(|other| other.published_clock().covers(one.epoch))
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
        let known = other.published_clock();
        let given = Epoch { timeline: other.id, sequence: other.submitted() };
        // The legacy rule's addition to that, and the worth of a wait for the legacy stream instead.
        let (mut by_rule, mut by_legacy) = (VectorClock::new(), VectorClock::new());
        match other.kind {
            Kind::NonBlocking => {}
            Kind::Legacy => self.join_before_legacy(other, &mut by_rule),
            Kind::Blocking | Kind::PerThread => {
                if other.device.actions() > 0 {
                    other.device.join_legacy_clock_into(&mut by_rule);
                }
                if other.kind == Kind::PerThread || other.id == timeline.id {
                    let legacy = other.device.legacy().and_then(|id| self.timeline(id));
                    self.join_before_legacy(legacy.unwrap_or(other), &mut by_legacy);
                }
            }
        }
        let route = backend.order(timeline, other, &mut state.backend_data)?;
        let changed = match route {
            WaitMethod::Host => false,
            WaitMethod::Stream | WaitMethod::Event => {
                let mut changed = state.clock.join_for(&known, timeline.id);
                changed |= other.id != timeline.id && state.clock.add(given);
                if route == WaitMethod::Stream {
                    changed |= state.clock.join_for(&by_rule, timeline.id);
                }
                if route == WaitMethod::Stream && other.kind == Kind::Legacy {
                    // The record was an action of the legacy stream, whichever stream asked for it.
                    other.device.join_action(given, &by_rule);
                }
                changed
            }
            WaitMethod::Legacy => {
                other.device.join_action(Epoch { sequence: 0, ..given }, &by_legacy);
                state.clock.join_for(&by_legacy, timeline.id)
            }
        };
        if other.id == timeline.id {
            timeline.mark_sync_covered();
        }
        if changed {
            self.prune_and_share(timeline, state);
        }
        let Conflict { epoch, call_site: after } = conflict;
        self.waits.note(AddedWait {
            at,
            after,
            device: timeline.device(),
            other_device: other.device(),
            stream: timeline.id.0,
            other_stream: epoch.timeline.0,
            other_operation: epoch.sequence,
            by_host: route == WaitMethod::Host,
        });
        Ok(())
    }
}
