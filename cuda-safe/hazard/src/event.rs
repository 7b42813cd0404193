//! Events that threads share: one records an event while others wait for it or query it.
#![expect(unsafe_code, reason = "declares functions whose callers vouch for events")]

use crate::clock::SequenceNumber;
#[cfg(not(loom))]
use crate::lock::Lock;
#[cfg(loom)]
use crate::primitives::Mutex as Lock;
use crate::primitives::constructor;
use crate::snapshot::EventClock;
use crate::timeline::Timeline;
use crate::tracker::Tracker;

/// The tracker's side of an event that any number of threads use at once: the clock of its last record.
///
/// # Why a clock is never taken for that of another record
/// A wait joins the event's clock, so it must not be made for one record and join the clock of another. A
/// record and a wait therefore hold the event's lock over their call *and* over the clock. The driver
/// sees the calls in the order of the lock.
///
/// A thread that blocks for an event or queries it holds no lock during its call, or it would hold up the
/// others. It takes the number of the last record before the call. After the call it locks the event and
/// looks at the number again. If both are the same, no record came in between, because a record changes
/// the number while it holds the lock: the call was for the record whose clock is there. Otherwise the
/// call proves nothing about it.
///
/// # Why nothing waits for ever
/// A thread locks at most one event, and never while it holds the lock of a stream. With the event locked
/// it takes the lock of one stream. No thread that holds a stream's lock wants an event's lock. So a circle
/// of threads that wait for each other would consist of streams alone, and streams form none.
#[derive(Debug)]
pub struct SharedEvent {
    last: Lock<Last>,
}

/// The last record.
#[derive(Debug)]
struct Last {
    /// The clock of the last record, if it is known.
    clock: EventClock,
    is_known: bool,
    /// The number of the last record, or 0 if the event was never recorded.
    number: SequenceNumber,
    /// Whether others may record the event at any time, so that no clock is ever known.
    is_opaque: bool,
}

impl SharedEvent {
    constructor! {
        /// Creates the state of an event that was never recorded.
        pub fn new() -> Self {
            let clock = EventClock::new();
            Self { last: Lock::new(Last { clock, is_known: false, number: 0, is_opaque: false }) }
        }
    }

    constructor! {
        /// Creates the state of an event that other code has recorded, and records no more.
        pub fn recorded_elsewhere() -> Self {
            let clock = EventClock::new();
            Self { last: Lock::new(Last { clock, is_known: false, number: 1, is_opaque: false }) }
        }
    }

    /// Notes that others may record the event at any time: it proves nothing from now on.
    pub fn set_opaque(&self) {
        let mut last = self.last.lock();
        last.number += 1;
        last.is_known = false;
        last.is_opaque = true;
    }

    /// Makes a call that records the event for work that the tracker does not know.
    ///
    /// # Errors
    /// The failure of the call.
    pub fn record_unknown<E>(&self, call: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut last = self.last.lock();
        last.number += 1;
        last.is_known = false;
        call()
    }

    /// Returns the number of the last record, or `None` if the event was never recorded. Read it *before* a
    /// call that waits for the event or queries it.
    #[inline]
    pub fn last_record(&self) -> Option<SequenceNumber> {
        let number = self.last.lock().number;
        (number != 0).then_some(number)
    }
}

impl Default for SharedEvent {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracker {
    /// [`record`](Self::record) of an event that threads share. If the call fails, it is unknown what the
    /// event stands for.
    ///
    /// # Errors
    /// The failure of the call.
    ///
    /// # Safety
    /// - The call records the event on the stream of the timeline, which belongs to this tracker, if it
    ///   succeeds.
    /// - Whatever else records the event does so in [`SharedEvent::record_unknown`], which holds the event's
    ///   lock over the call as this does, or after [`SharedEvent::set_opaque`], which holds for ever. A note
    ///   without the lock would not do: this record could come between the note and the other one.
    #[inline]
    pub unsafe fn record_shared<E>(
        &self,
        timeline: &Timeline,
        event: &SharedEvent,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut last = event.last.lock();
        let last = &mut *last;
        last.number += 1;
        last.is_known = false;
        // SAFETY: the caller vouches for the call. The clock is only that of this event.
        unsafe { self.record_into(timeline, &mut last.clock, call) }?;
        last.is_known = !last.is_opaque;
        Ok(())
    }

    /// [`wait`](Self::wait) for an event that threads share. Does nothing if the event was never recorded. If
    /// it is unknown what the event stands for, only makes the call.
    ///
    /// # Errors
    /// The failure of the call.
    ///
    /// # Safety
    /// If the call succeeds, it makes the stream of the timeline, which belongs to this tracker, wait for the
    /// event.
    #[inline]
    pub unsafe fn wait_shared<E>(
        &self,
        timeline: &Timeline,
        event: &SharedEvent,
        call: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let last = event.last.lock();
        if last.is_known {
            // SAFETY: the caller vouches for the call. No record has come since that of the clock.
            unsafe { self.wait(timeline, &last.clock, call) }
        } else if last.number == 0 {
            Ok(())
        } else {
            call()
        }
    }

    /// Notes that the event had completed after record number `record`, if that is still the last one.
    ///
    /// # Safety
    /// A call that was made after [`SharedEvent::last_record`] returned this number has found the event
    /// complete.
    pub unsafe fn completed_shared(&self, event: &SharedEvent, record: SequenceNumber) {
        let last = event.last.lock();
        if last.is_known && last.number == record {
            // SAFETY: no record came between the number and now, so the call was for that of the clock.
            unsafe { self.completed_event(&last.clock) };
        }
    }
}
