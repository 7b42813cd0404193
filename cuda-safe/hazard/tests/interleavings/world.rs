//! A tracker that several threads use, beside the model of the devices.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use crate::common::machine::{Machine, Set, Touch, Track};
use crate::common::{Tracker, exclusive};
use cuda_hazard::{
    Access, AccessHistory, EventBackend, EventClock, Kind, Mode, Policy, Refusal, SharedEvent,
    SortedAccesses, StreamAccesses, Timeline, TimelineId, WaitMethod, WaitTarget,
};

/// Bytes of each allocation.
pub(super) const BYTES: usize = 16;

/// A buffer and bytes of it.
pub(super) type Part = (usize, Range<usize>);

/// The path that the tracker took for an operation that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    FastPath,
    SlowPath,
}

/// A tracker, two allocations, and the devices.
pub(super) struct World {
    pub(super) tracker: Tracker,
    pub(super) histories: [AccessHistory; 2],
    pub(super) machine: cuda_hazard::primitives::Mutex<Machine>,
    /// Whether added waits are left out.
    pub(super) sabotage: bool,
    /// The stream whose accesses are sorted in advance.
    pub(super) sorted: Option<TimelineId>,
    /// Whether parts are written without a borrow, as by a graph.
    pub(super) unborrowed: bool,
}

impl World {
    pub(super) fn new(kinds: &[Kind]) -> (Arc<Self>, Vec<TimelineId>) {
        let world = Self {
            tracker: Tracker::new(Policy::default),
            histories: [AccessHistory::new(BYTES), AccessHistory::new(BYTES)],
            machine: cuda_hazard::primitives::Mutex::new(Machine::default()),
            sabotage: false,
            sorted: None,
            unborrowed: false,
        };
        let ids = kinds.iter().map(|kind| world.stream(*kind)).collect();
        (Arc::new(world), ids)
    }

    pub(super) fn stream(&self, kind: Kind) -> TimelineId {
        let timeline = match kind {
            Kind::Legacy => self.tracker.legacy(0, WaitTarget::Stream(0)).unwrap(),
            _ => self.tracker.add_timeline(0, kind, WaitTarget::Stream(0)).unwrap(),
        };
        self.machine.lock().tracks.push(Track {
            timeline: timeline.id,
            kind,
            device: 0,
            tail: Set::default(),
            gone: false,
        });
        timeline.id
    }

    fn track(machine: &Machine, timeline: TimelineId) -> usize {
        machine.tracks.iter().rposition(|track| track.timeline == timeline).unwrap()
    }

    /// Submits one operation; the call fails if `fails`.
    pub(super) fn operate(
        &self,
        id: TimelineId,
        touches: &[(usize, Mode)],
        fails: bool,
    ) -> Result<(), Refusal<()>> {
        let timeline = self.tracker.timeline(id).unwrap();
        let accesses: Vec<Access<'_>> = touches
            .iter()
            .map(|(buffer, mode)| Access::new(&self.histories[*buffer], 0..BYTES, *mode))
            .collect();
        self.operate_with(timeline, &accesses, touches, fails)
    }

    /// Submits one operation that writes parts of buffers.
    pub(super) fn write_parts(&self, id: TimelineId, parts: &[Part]) {
        let timeline = self.tracker.timeline(id).unwrap();
        let (accesses, touches) = self.writes(parts);
        self.operate_on(timeline, &accesses, &touches, false).unwrap();
    }

    /// Submits the same with its accesses sorted in advance, by the fast path if that takes it. This is how a
    /// program repeats a batch.
    pub(super) fn write_sorted(&self, id: TimelineId, parts: &[Part]) -> Result<Taken, Refusal<()>> {
        let timeline = self.tracker.timeline(id).unwrap();
        let (accesses, touches) = self.writes(parts);
        let sorted = SortedAccesses::new(accesses);
        if let Some(submission) = self.tracker.begin_fast(timeline, &sorted) {
            self.give(timeline, &touches);
            submission.commit(true);
            return Ok(Taken::FastPath);
        }
        let call = || {
            self.give(timeline, &touches);
            Ok(())
        };
        let answer = self.tracker.enqueue_sorted(timeline, &sorted, self, Location::caller(), call);
        answer.map(|_| Taken::SlowPath)
    }

    /// Returns the writes of parts of buffers, for the tracker and for the model.
    fn writes(&self, parts: &[Part]) -> (Vec<Access<'_>>, Vec<Touch>) {
        let access = |(buffer, part): &Part| {
            let access = Access::write(&self.histories[*buffer], part.clone());
            if self.unborrowed { access.unborrowed() } else { exclusive(access) }
        };
        let touch = |(buffer, part): &Part| Touch {
            buffer: *buffer,
            start: part.start,
            end: part.end,
            mode: Mode::Write,
            at_call: false,
        };
        (parts.iter().map(access).collect(), parts.iter().map(touch).collect())
    }

    pub(super) fn operate_with(
        &self,
        timeline: &Timeline,
        accesses: &[Access<'_>],
        touches: &[(usize, Mode)],
        fails: bool,
    ) -> Result<(), Refusal<()>> {
        let touches: Vec<Touch> = touches
            .iter()
            .map(|(buffer, mode)| Touch {
                buffer: *buffer,
                start: 0,
                end: BYTES,
                mode: *mode,
                at_call: false,
            })
            .collect();
        self.operate_on(timeline, accesses, &touches, fails)
    }

    pub(super) fn operate_on(
        &self,
        timeline: &Timeline,
        accesses: &[Access<'_>],
        touches: &[Touch],
        fails: bool,
    ) -> Result<(), Refusal<()>> {
        let call = || {
            if fails {
                return Err(());
            }
            self.give(timeline, touches);
            Ok(())
        };
        let at = Location::caller();
        let answer = if self.sorted == Some(timeline.id) {
            self.tracker.enqueue_sorted(timeline, &SortedAccesses::new(accesses.to_vec()), self, at, call)
        } else {
            self.tracker.enqueue(timeline, accesses, true, self, at, call)
        };
        answer.map(|((), _)| ())
    }

    /// Submits one operation to several streams, each of which writes parts of buffers.
    pub(super) fn write_on_all(&self, streams: &[(TimelineId, &[Part])], fails: bool) {
        let all: Vec<_> = streams
            .iter()
            .map(|(id, parts)| (self.tracker.timeline(*id).unwrap(), self.writes(parts)))
            .collect();
        let operation: Vec<_> = all
            .iter()
            .map(|(timeline, (accesses, _))| StreamAccesses { timeline, accesses, backend: self })
            .collect();
        let call = || {
            if fails {
                return Err(());
            }
            for (timeline, (_, touches)) in &all {
                self.give(timeline, touches);
            }
            Ok(())
        };
        let answer = self.tracker.enqueue_all(&operation, Location::caller(), call);
        assert_eq!(answer.is_err(), fails);
    }

    /// Frees a buffer on the one stream that uses it, if there is one whose handle can be had.
    pub(super) fn free(&self, buffer: usize) {
        let Some((submission, target)) = self.tracker.begin_free(&self.histories[buffer], 0) else { return };
        let is_stream = *target == WaitTarget::Stream(0);
        if is_stream {
            let timeline = submission.timeline();
            let touch = Touch { buffer, start: 0, end: BYTES, mode: Mode::Write, at_call: false };
            self.give(timeline, &[touch]);
            let machine = self.machine.lock();
            assert!(!machine.tracks[Self::track(&machine, timeline.id)].gone, "the handle is gone");
        }
        submission.commit(is_stream);
    }

    /// Gives the devices an operation, and checks that everything that has to be complete before it is.
    fn give(&self, timeline: &Timeline, touches: &[Touch]) {
        let mut machine = self.machine.lock();
        let track = Self::track(&machine, timeline.id);
        let node = machine.operate(track, touches.to_vec());
        let before = machine.nodes[node].before;
        let race = machine.unordered(touches, before).find(|other| *other != node);
        assert_eq!(race, None, "operation {node} races");
    }
}

impl World {
    /// Records an event.
    pub(super) fn mark(&self, id: TimelineId) -> (EventClock, Set) {
        let mut event = Set::default();
        let event_clock = self.tracker.record(self.tracker.timeline(id).unwrap(), || {
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, id);
            event = machine.record(track);
            Ok::<(), ()>(())
        });
        (event_clock.unwrap(), event)
    }

    /// Makes a stream wait for an event.
    pub(super) fn wait(&self, id: TimelineId, (event_clock, event): &(EventClock, Set)) {
        let wait = || {
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, id);
            machine.wait(track, *event);
            Ok::<(), ()>(())
        };
        let timeline = self.tracker.timeline(id).unwrap();
        self.tracker.wait(timeline, event_clock, wait).unwrap();
    }
}

/// An event that threads share, with what it stands for on the devices.
pub(super) struct Shared {
    event: SharedEvent,
    stands_for: cuda_hazard::primitives::Mutex<Set>,
}

impl Shared {
    pub(super) fn new() -> Arc<Self> {
        let stands_for = cuda_hazard::primitives::Mutex::new(Set::default());
        Arc::new(Self { event: SharedEvent::new(), stands_for })
    }
}

impl World {
    /// Records an event on the devices.
    fn record_on_device(&self, id: TimelineId, shared: &Shared) {
        let mut machine = self.machine.lock();
        let track = Self::track(&machine, id);
        *shared.stands_for.lock() = machine.record(track);
    }

    /// Makes a stream of the devices wait for an event.
    fn wait_on_device(&self, id: TimelineId, shared: &Shared) {
        let mut machine = self.machine.lock();
        let track = Self::track(&machine, id);
        machine.wait(track, *shared.stands_for.lock());
    }

    /// Records an event that threads share.
    pub(super) fn record_shared(&self, id: TimelineId, shared: &Shared) {
        let record = || {
            self.record_on_device(id, shared);
            Ok::<(), ()>(())
        };
        self.tracker.record_shared(self.tracker.timeline(id).unwrap(), &shared.event, record).unwrap();
    }

    /// Records an event that threads share for a stream as an execution context does: the tracker does not
    /// learn what for.
    pub(super) fn record_unknown(&self, id: TimelineId, shared: &Shared) {
        let record = || {
            self.record_on_device(id, shared);
            Ok::<(), ()>(())
        };
        shared.event.record_unknown(record).unwrap();
    }

    /// [`record_unknown`](Self::record_unknown) that notes the record and makes it in two steps.
    pub(super) fn record_unknown_apart(&self, id: TimelineId, shared: &Shared) {
        shared.event.record_unknown(|| Ok::<(), ()>(())).unwrap();
        self.record_on_device(id, shared);
    }

    /// Makes a stream wait for an event that threads share.
    pub(super) fn wait_shared(&self, id: TimelineId, shared: &Shared) {
        let wait = || {
            self.wait_on_device(id, shared);
            Ok::<(), ()>(())
        };
        self.tracker.wait_shared(self.tracker.timeline(id).unwrap(), &shared.event, wait).unwrap();
    }

    /// Has the host wait for an event that threads share. A synchronisation waits for what the event stands
    /// for when it begins.
    pub(super) fn synchronize_shared(&self, shared: &Shared) {
        let Some(record) = shared.event.last_record() else { return };
        let mut machine = self.machine.lock();
        let stands_for = *shared.stands_for.lock();
        machine.waited(stands_for);
        drop(machine);
        self.tracker.completed_shared(&shared.event, record);
    }

    /// [`wait_shared`](Self::wait_shared) that joins the clock of one record and may wait for another.
    pub(super) fn wait_apart(&self, id: TimelineId, shared: &Shared, clock: &EventClock) {
        self.wait_on_device(id, shared);
        self.tracker.wait(self.tracker.timeline(id).unwrap(), clock, || Ok::<(), ()>(())).unwrap();
    }

    /// [`record_shared`](Self::record_shared) that returns the clock, for nobody to find.
    pub(super) fn record_apart(&self, id: TimelineId, shared: &Shared) -> EventClock {
        let record = || {
            self.record_on_device(id, shared);
            Ok::<(), ()>(())
        };
        self.tracker.record(self.tracker.timeline(id).unwrap(), record).unwrap()
    }
}

// SAFETY: no memory depends on it.
unsafe impl EventBackend for &World {
    type Error = ();

    fn order(&self, waiter: &Timeline, other: &Timeline, data: &mut usize) -> Result<WaitMethod, ()> {
        (**self).order(waiter, other, data)
    }
}

// SAFETY: no memory depends on it.
unsafe impl EventBackend for World {
    type Error = ();

    fn order(&self, waiter: &Timeline, other: &Timeline, _: &mut usize) -> Result<WaitMethod, ()> {
        if self.sabotage {
            return Ok(WaitMethod::Stream);
        }
        let target = other.wait_target();
        if *target == WaitTarget::Device {
            drop(target);
            let snapshot = self.tracker.snapshot_of_device(0);
            let mut machine = self.machine.lock();
            let end = machine.end_of_device(0);
            machine.waited(end);
            drop(machine);
            self.tracker.completed_all(&snapshot);
            return Ok(WaitMethod::Host);
        }
        let event = {
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, other.id);
            machine.record(track)
        };
        let mut machine = self.machine.lock();
        let track = Self::track(&machine, waiter.id);
        machine.wait(track, event);
        Ok(WaitMethod::Stream)
    }
}
