//! Snapshots and coverage: what an event stands for, and what a synchronisation proves.
#![expect(unsafe_code, reason = "declares functions that are told what is complete")]

use crate::clock::{Epoch, TimelineId, VectorClock};
use crate::device::Kind;
use crate::timeline::Timeline;
use crate::tracker::Tracker;

/// What an event stands for: all that its stream was ordered after when it was recorded.
#[derive(Clone, Debug)]
pub struct EventClock {
    /// The stream's last operation before the record.
    pub(crate) epoch: Epoch,
    /// What the stream was ordered after besides.
    pub(crate) clock: VectorClock,
}

impl EventClock {
    /// What no event stands for: nothing.
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

/// What will be known to be complete when a call that is about to be made has returned.
///
/// To be taken *before* the call: what is given to the streams while it waits, it need not wait for.
///
/// What is known to be complete already is left out. So is what the stream itself does not need a clock for:
/// as a rule nothing is left, and no memory is asked for.
#[derive(Debug)]
#[must_use]
pub struct SubmittedSnapshot {
    /// The stream's own operations; of a device, nobody's.
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
    /// What the end of all that a stream has now proves.
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

    /// What an event that is recorded on a stream now will prove when it is complete.
    pub fn snapshot_by_event(&self, timeline: &Timeline) -> SubmittedSnapshot {
        // The record is an operation: behind it stands all that the stream was given, and the legacy stream's
        // doing.
        let mut snapshot =
            self.snapshot_of(timeline).and(Epoch { timeline: timeline.id, sequence: timeline.submitted() });
        if timeline.kind.blocking() {
            timeline.device.join_legacy_clock_into(&mut snapshot.others);
        }
        snapshot
    }

    /// What the last event of a stream that is gone proves when it is complete.
    pub fn snapshot_by_last_event(&self, timeline: &Timeline) -> SubmittedSnapshot {
        SubmittedSnapshot {
            others: timeline.published_clock(),
            own: Some(Epoch { timeline: timeline.id, sequence: timeline.submitted() }),
        }
    }

    /// What the end of all that a device has now proves.
    pub fn snapshot_of_device(&self, device: i32) -> SubmittedSnapshot {
        let mut others = VectorClock::new();
        for timeline in self.timelines(Some(device)) {
            // Knowledge first: it may grow with a wait, and the sequence number read later then covers the wait too.
            self.join_pending(timeline, &mut others);
            self.add_pending(Epoch { timeline: timeline.id, sequence: timeline.submitted() }, &mut others);
        }
        SubmittedSnapshot { own: None, others }
    }

    /// The call has returned: all that it covered is complete.
    ///
    /// # Safety
    /// The coverage was read before a call that has returned since, with success, and which waits for what
    /// the coverage is of.
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
            // SAFETY: as the callers of the two functions above vouch.
            unsafe { timeline.complete(epoch.sequence) };
        }
    }

    /// What the event stands for is complete.
    ///
    /// # Safety
    /// The event that the snapshot is of is complete.
    pub unsafe fn completed_event(&self, event_clock: &EventClock) {
        for epoch in event_clock.clock.iter().chain([event_clock.epoch]) {
            self.complete(epoch);
        }
    }
}
