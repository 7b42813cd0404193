//! Event clocks, and snapshots of submitted epochs: what an event happens after, and what a synchronisation
//! proves.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for what is complete")]

use crate::clock::{Epoch, TimelineId, VectorClock};
use crate::device::Kind;
use crate::timeline::Timeline;
use crate::tracker::Tracker;

/// The clock of an event: everything that its stream was ordered after when the event was recorded.
#[derive(Clone, Debug)]
pub struct EventClock {
    /// The stream's last operation before the record.
    pub(crate) epoch: Epoch,
    /// The other work that the stream was ordered after.
    pub(crate) clock: VectorClock,
}

impl EventClock {
    /// Returns the clock of an event that was never recorded.
    #[inline]
    pub const fn new() -> Self {
        Self { epoch: Epoch { timeline: TimelineId(u32::MAX), sequence: 0 }, clock: VectorClock::new() }
    }
}

impl Default for EventClock {
    fn default() -> Self {
        Self::new()
    }
}

/// The work that is known to have completed once a call that waits has returned.
///
/// Take it *before* the call: the call need not wait for what is given to the streams meanwhile.
///
/// It leaves out what has completed already, and the stream's own operations need no clock. So as a rule the
/// clock is empty, and nothing is allocated.
#[derive(Debug)]
#[must_use]
pub struct SubmittedSnapshot {
    /// The stream's own operations; `None` for a device.
    own: Option<Epoch>,
    others: VectorClock,
}

impl SubmittedSnapshot {
    /// Adds one operation of the stream, which the call will have completed too.
    #[inline]
    pub fn and(mut self, epoch: Epoch) -> Self {
        match &mut self.own {
            Some(own) if own.timeline == epoch.timeline => own.sequence = own.sequence.max(epoch.sequence),
            _ => {
                self.others.add(epoch);
            }
        }
        self
    }
}

impl Tracker {
    /// Returns what the end of everything on a stream now proves complete.
    #[inline]
    pub fn snapshot_of(&self, timeline: &Timeline) -> SubmittedSnapshot {
        let mut others = VectorClock::new();
        let own = Epoch { timeline: timeline.id, sequence: timeline.sync_covered() };
        if timeline.kind == Kind::Legacy {
            self.join_before_legacy(timeline, &mut others);
        } else {
            self.join_pending(timeline, &mut others);
        }
        SubmittedSnapshot { own: Some(own), others }
    }

    /// Returns what an event that is recorded on a stream now will prove when it has completed.
    pub fn snapshot_by_event(&self, timeline: &Timeline) -> SubmittedSnapshot {
        // The record is an operation: it comes after everything that the stream was given, and after the
        // legacy stream's actions.
        let mut snapshot =
            self.snapshot_of(timeline).and(Epoch { timeline: timeline.id, sequence: timeline.submitted() });
        if timeline.kind.blocking() {
            timeline.device.join_legacy_clock_into(&mut snapshot.others);
        }
        snapshot
    }

    /// Returns what the last event of a stream that is gone proves when it has completed.
    pub fn snapshot_by_last_event(&self, timeline: &Timeline) -> SubmittedSnapshot {
        SubmittedSnapshot {
            others: timeline.published_clock(),
            own: Some(Epoch { timeline: timeline.id, sequence: timeline.submitted() }),
        }
    }

    /// Returns what the end of everything on a device now proves complete.
    pub fn snapshot_of_device(&self, device: i32) -> SubmittedSnapshot {
        let mut others = VectorClock::new();
        for timeline in self.timelines(Some(device)) {
            // The clock first: it may grow by a wait, and the sequence number that is read later then covers
            // the wait too.
            self.join_pending(timeline, &mut others);
            self.add_pending(Epoch { timeline: timeline.id, sequence: timeline.submitted() }, &mut others);
        }
        SubmittedSnapshot { own: None, others }
    }

    /// Notes that everything in a snapshot has completed, after the call has returned.
    ///
    /// # Safety
    /// The snapshot was read before a call that has returned since, with success, and that waits for
    /// everything that the snapshot is of.
    #[inline]
    pub unsafe fn completed_all(&self, snapshot: &SubmittedSnapshot) {
        if let Some(own) = snapshot.own {
            self.complete(own);
        }
        for epoch in snapshot.others.iter() {
            self.complete(epoch);
        }
    }

    #[inline]
    fn complete(&self, epoch: Epoch) {
        if let Some(timeline) = self.timeline(epoch.timeline) {
            // SAFETY: as the callers of the two public functions vouch.
            unsafe { timeline.complete(epoch.sequence) };
        }
    }

    /// Notes that everything that an event happens after has completed.
    ///
    /// # Safety
    /// The event of the event clock has completed.
    pub unsafe fn completed_event(&self, event_clock: &EventClock) {
        for epoch in event_clock.clock.iter().chain([event_clock.epoch]) {
            self.complete(epoch);
        }
    }
}
