//! Snapshots and coverage: what an event stands for, and what a synchronisation proves.
#![expect(unsafe_code, reason = "declares functions that are told what is complete")]

use crate::clock::{Clock, SlotId, Stamp};
use crate::device::Kind;
use crate::slot::Slot;
use crate::table::Books;

/// What an event stands for: all that its stream was ordered after when it was recorded.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The stream's last operation before the record.
    pub(crate) stamp: Stamp,
    /// What the stream was ordered after besides.
    pub(crate) clock: Clock,
}

impl Snapshot {
    /// What no event stands for: nothing.
    #[inline]
    pub const fn new() -> Self {
        Self { stamp: Stamp { slot: SlotId(u32::MAX), tick: 0 }, clock: Clock::new() }
    }
}

impl Default for Snapshot {
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
pub struct Coverage {
    /// The stream's own operations; of a device, nobody's.
    own: Option<Stamp>,
    others: Clock,
}

impl Coverage {
    /// Adds one operation of the stream, which the call will have completed too.
    #[inline]
    pub fn and(mut self, stamp: Stamp) -> Self {
        match &mut self.own {
            Some(own) if own.slot == stamp.slot => own.tick = own.tick.max(stamp.tick),
            _ => {
                self.others.add(stamp);
            }
        }
        self
    }
}

impl Books {
    /// What the end of all that a stream has now proves.
    #[inline]
    pub fn coverage_of(&self, slot: &Slot) -> Coverage {
        let mut others = Clock::new();
        let own = Stamp { slot: slot.id, tick: slot.provable() };
        if slot.kind == Kind::Legacy {
            self.scan(slot, &mut others);
        } else {
            self.pending_known(slot, &mut others);
        }
        Coverage { own: Some(own), others }
    }

    /// What an event that is recorded on a stream now will prove when it is complete.
    pub fn coverage_by_event(&self, slot: &Slot) -> Coverage {
        // The record is an operation: behind it stands all that the stream was given, and the legacy stream's
        // doing.
        let mut coverage = self.coverage_of(slot).and(Stamp { slot: slot.id, tick: slot.submitted() });
        if slot.kind.blocking() {
            slot.device.seen_into(&mut coverage.others);
        }
        coverage
    }

    /// What the last event of a stream that is gone proves when it is complete.
    pub fn coverage_by_last_event(&self, slot: &Slot) -> Coverage {
        Coverage { others: slot.known(), own: Some(Stamp { slot: slot.id, tick: slot.submitted() }) }
    }

    /// What the end of all that a device has now proves.
    pub fn coverage_of_device(&self, device: i32) -> Coverage {
        let mut others = Clock::new();
        for slot in self.slots_of(Some(device)) {
            // Knowledge first: it may grow with a wait, and the tick read later then covers the wait too.
            self.pending_known(slot, &mut others);
            self.add_pending(Stamp { slot: slot.id, tick: slot.submitted() }, &mut others);
        }
        Coverage { own: None, others }
    }

    /// The call has returned: all that it covered is complete.
    ///
    /// # Safety
    /// The coverage was read before a call that has returned since, with success, and which waits for what
    /// the coverage is of.
    #[inline]
    pub unsafe fn completed_all(&self, coverage: &Coverage) {
        if let Some(own) = coverage.own {
            self.complete(own);
        }
        for stamp in coverage.others.iter() {
            self.complete(stamp);
        }
    }

    #[inline]
    fn complete(&self, stamp: Stamp) {
        if let Some(slot) = self.slot(stamp.slot) {
            // SAFETY: as the callers of the two functions above vouch.
            unsafe { slot.complete(stamp.tick) };
        }
    }

    /// What the event stands for is complete.
    ///
    /// # Safety
    /// The event that the snapshot is of is complete.
    pub unsafe fn completed_snapshot(&self, snapshot: &Snapshot) {
        for stamp in snapshot.clock.iter().chain([snapshot.stamp]) {
            self.complete(stamp);
        }
    }
}
