//! The model as the tracker's backend: it makes the waits, and complains about those for nothing.

use std::cell::{Cell, RefCell};

use super::program::Sabotage;
use crate::common::Tracker;
use crate::common::machine::{Machine, Set, Touch};
use cuda_hazard::{EventBackend, Kind, Timeline, WaitMethod, WaitTarget};

/// The model as the tracker's backend.
pub(crate) struct Model<'a> {
    pub(crate) tracker: &'a Tracker,
    pub(crate) machine: RefCell<Machine>,
    /// The events of retired streams.
    pub(crate) last_events: RefCell<Vec<Set>>,
    /// The accesses of the operation that is being entered.
    pub(crate) touches: RefCell<Vec<Touch>>,
    /// Whether calls of this program have failed: the entries that they left may cost a wait.
    pub(crate) imprecise: Cell<bool>,
    pub(crate) sabotage: Sabotage,
    pub(crate) complaint: RefCell<Option<String>>,
    /// Whether a per-thread stream belongs to another thread, this time.
    pub(crate) elsewhere: Cell<bool>,
    /// Whether an event was recorded on the legacy stream for another stream's sake.
    pub(crate) by_legacy: Cell<bool>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(tracker: &'a Tracker, sabotage: Sabotage) -> Self {
        Self {
            tracker,
            machine: RefCell::default(),
            last_events: RefCell::default(),
            touches: RefCell::default(),
            imprecise: Cell::new(false),
            sabotage,
            complaint: RefCell::new(None),
            elsewhere: Cell::new(false),
            by_legacy: Cell::new(false),
        }
    }

    pub(crate) fn track(&self, timeline: &Timeline) -> usize {
        self.machine.borrow().tracks.iter().rposition(|track| track.timeline == timeline.id).unwrap()
    }

    /// Returns whether a wait for nothing is no fault.
    pub(crate) fn is_imprecise(&self, machine: &Machine) -> bool {
        // The tracker does not know that the legacy stream waits for a stream that goes, and does not note
        // with the legacy stream that others record events on it. So it does not know that these order what
        // the legacy stream reads during the call.
        let at_call = self.touches.borrow().iter().any(|touch| touch.at_call);
        let unshared = || self.by_legacy.get() || machine.tracks.iter().any(|track| track.gone);
        self.imprecise.get() || at_call && unshared()
    }

    /// Returns the legacy stream of a device. Legacy streams are the first tracks, by device.
    pub(crate) fn legacy_of(&self, device: usize) -> usize {
        device
    }

    fn complain(&self, message: String) {
        self.complaint.borrow_mut().get_or_insert(message);
    }

    pub(crate) fn device_synchronize(&self, device: usize) {
        let snapshot = self.tracker.snapshot_of_device(i32::try_from(device).unwrap());
        let mut machine = self.machine.borrow_mut();
        let end = machine.end_of_device(device);
        machine.waited(end);
        self.tracker.completed_all(&snapshot);
    }
}

// SAFETY: no memory depends on it.
unsafe impl EventBackend for Model<'_> {
    type Error = ();

    fn order(&self, waiter: &Timeline, other: &Timeline, _: &mut usize) -> Result<WaitMethod, ()> {
        let (me, them) = (self.track(waiter), self.track(other));
        {
            let machine = self.machine.borrow();
            let ordered = machine.orders(me);
            let needed = machine
                .unordered(&self.touches.borrow(), ordered)
                .any(|node| machine.nodes[node].timeline == other.id || other.id == waiter.id);
            if !needed && !self.is_imprecise(&machine) {
                self.complain(format!("{:?} was made to wait for {:?} for nothing", waiter.id, other.id));
            }
        }
        if self.sabotage == Sabotage::NoWait {
            return Ok(WaitMethod::Stream);
        }
        let reach = *other.wait_target();
        let device = self.machine.borrow().tracks[them].device;
        let (event, route) = match reach {
            // No graph is captured from a stream here.
            WaitTarget::Nothing => return Ok(WaitMethod::Host),
            WaitTarget::Device => {
                self.device_synchronize(device);
                return Ok(WaitMethod::Host);
            }
            WaitTarget::Event(number) => (self.last_events.borrow()[number], WaitMethod::Event),
            WaitTarget::Stream(_)
                if other.kind == Kind::PerThread && self.elsewhere.get()
                    || other.kind != Kind::Legacy && other.id == waiter.id =>
            {
                self.by_legacy.set(true);
                (self.machine.borrow_mut().record(self.legacy_of(device)), WaitMethod::Legacy)
            }
            WaitTarget::Stream(_) => {
                self.by_legacy.set(self.by_legacy.get() || other.kind == Kind::Legacy);
                (self.machine.borrow_mut().record(them), WaitMethod::Stream)
            }
        };
        self.machine.borrow_mut().wait(me, event);
        Ok(route)
    }
}
