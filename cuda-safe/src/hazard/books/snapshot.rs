//! Snapshots and coverage: what an event stands for, and what a synchronisation proves.

use super::clock::{Clock, Stamp};
use super::slot::{Kind, Slot};
use super::sync::Arc;
use super::table::Books;

/// What an event stands for: all that its stream was ordered after when it was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// The stream's last operation before the record.
    pub(super) stamp: Stamp,
    /// What the stream was ordered after besides.
    pub(super) clock: Arc<Clock>,
}

/// What will be known to be complete when a call that is about to be made has returned.
///
/// To be taken *before* the call: what is given to the streams while it waits, it need not wait for.
#[derive(Debug)]
#[must_use]
pub(crate) struct Coverage(Clock);

impl Coverage {
    /// Adds one operation, which the call will have completed too.
    pub(crate) fn and(mut self, stamp: Stamp) -> Self {
        self.0.add(stamp);
        self
    }
}

impl Books {
    /// What the end of all that a stream has now proves.
    pub(crate) fn coverage_of(&self, slot: &Slot) -> Coverage {
        let mut clock = slot.known();
        clock.add(Stamp { slot: slot.id, tick: slot.provable() });
        if slot.kind == Kind::Legacy {
            self.scan(slot, &mut clock);
        }
        Coverage(clock)
    }

    /// What an event that is recorded on a stream now will prove when it is complete.
    pub(crate) fn coverage_by_event(&self, slot: &Slot) -> Coverage {
        let Coverage(mut clock) = self.coverage_of(slot);
        // The record is an operation: behind it stands all that the stream was given, and the legacy stream's
        // doing.
        clock.add(Stamp { slot: slot.id, tick: slot.submitted() });
        if slot.kind.blocking() {
            slot.device.seen_into(&mut clock);
        }
        Coverage(clock)
    }

    /// What the last event of a stream that is gone proves when it is complete.
    pub(crate) fn coverage_by_last_event(&self, slot: &Slot) -> Coverage {
        let mut clock = slot.known();
        clock.add(Stamp { slot: slot.id, tick: slot.submitted() });
        Coverage(clock)
    }

    /// What the end of all that a device has now proves.
    pub(crate) fn coverage_of_device(&self, device: i32) -> Coverage {
        let mut clock = Clock::new();
        for slot in self.slots_of(Some(device)) {
            // Knowledge first: it may grow with a wait, and the tick read later then covers the wait too.
            slot.known_into(&mut clock);
            clock.add(Stamp { slot: slot.id, tick: slot.submitted() });
        }
        Coverage(clock)
    }

    /// The call has returned: all that it covered is complete.
    pub(crate) fn completed_all(&self, coverage: &Coverage) {
        for stamp in coverage.0.iter() {
            if let Some(slot) = self.slot(stamp.slot) {
                slot.complete(stamp.tick);
            }
        }
    }

    /// What the event stands for is complete.
    pub(crate) fn completed_snapshot(&self, snapshot: &Snapshot) {
        for stamp in snapshot.clock.iter().chain([snapshot.stamp]) {
            if let Some(slot) = self.slot(stamp.slot) {
                slot.complete(stamp.tick);
            }
        }
    }
}
