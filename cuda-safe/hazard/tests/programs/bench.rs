//! A running program: the same steps with the tracker and in the model, compared after each.

use std::rc::Rc;

use super::model::Model;
use super::operate::Repeatable;
use super::program::{Program, Sabotage, Totals};
use super::step::{BYTES, DEVICES, EVENTS, Step};
use crate::common::Tracker;
use crate::common::machine::{Orders, Set, Touch, Track};
use cuda_hazard::{AccessHistory, Kind, Mode, Policy, SequenceNumber, SharedEvent, Timeline, WaitTarget};

/// A running program.
pub(crate) struct Bench<'a> {
    pub(crate) tracker: &'a Tracker,
    pub(crate) histories: &'a [AccessHistory],
    pub(crate) backend: Model<'a>,
    /// Streams that the program has, as tracks of the model.
    pub(crate) streams: Vec<(usize, &'a Timeline)>,
    pub(crate) pool: Vec<(usize, &'a Timeline)>,
    pub(crate) events: Vec<(SharedEvent, Option<(Set, cuda_hazard::TimelineId)>)>,
    pub(crate) policy: Policy,
    pub(crate) changes: bool,
    pub(crate) failures: bool,
    /// What one operation did, for others to repeat.
    pub(crate) earlier: Option<Rc<Repeatable<'a>>>,
    pub(crate) run: Totals,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        tracker: &'a Tracker,
        histories: &'a [AccessHistory],
        program: &Program,
        sabotage: Sabotage,
    ) -> Self {
        let backend = Model::new(tracker, sabotage);
        let mut bench = Self {
            tracker,
            histories,
            backend,
            streams: Vec::new(),
            pool: Vec::new(),
            events: (0..EVENTS).map(|_| (SharedEvent::new(), None)).collect(),
            policy: program.policy,
            changes: program.changes,
            failures: program.failures,
            earlier: None,
            run: Totals::default(),
        };
        for device in 0..DEVICES {
            let timeline = tracker.legacy(i32::try_from(device).unwrap(), WaitTarget::Stream(0)).unwrap();
            bench.track(timeline, device);
        }
        bench.create(0, Kind::Blocking);
        bench.create(0, Kind::Blocking);
        bench.create(0, Kind::NonBlocking);
        bench.create(1, Kind::NonBlocking);
        bench
    }

    /// A stream of the model for a timeline.
    fn track(&mut self, timeline: &'a Timeline, device: usize) {
        let mut machine = self.backend.machine.borrow_mut();
        self.streams.push((machine.tracks.len(), timeline));
        machine.tracks.push(Track {
            timeline: timeline.id,
            kind: timeline.kind,
            device,
            tail: Set::default(),
            gone: false,
        });
    }

    fn create(&mut self, device: usize, kind: Kind) {
        let ordinal = i32::try_from(device).unwrap();
        for at in 0..self.pool.len() {
            let (track, timeline) = self.pool[at];
            if timeline.kind == kind && timeline.device() == ordinal && self.drained(track, timeline) {
                self.run.reused_timelines += 1;
                self.streams.push(self.pool.swap_remove(at));
                return;
            }
        }
        let timeline = self.tracker.add_timeline(ordinal, kind, WaitTarget::Stream(0)).unwrap();
        if self.backend.machine.borrow().tracks.iter().any(|track| track.timeline == timeline.id) {
            self.run.reused_timelines += 1;
        }
        self.track(timeline, device);
    }

    fn drained(&self, track: usize, timeline: &Timeline) -> bool {
        if timeline.is_drained() {
            return true;
        }
        let snapshot = self.tracker.snapshot_of(timeline);
        let mut machine = self.backend.machine.borrow_mut();
        let end = machine.end_of(track);
        if machine.ask(end) {
            self.tracker.completed_all(&snapshot);
        }
        timeline.is_drained()
    }

    pub(crate) fn stream(&self, number: usize) -> (usize, &'a Timeline) {
        self.streams[number % self.streams.len()]
    }

    pub(crate) fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Operate { stream, touches, fails } => {
                self.operate(stream, touches, fails && self.failures)?;
            }
            Step::OperateAll { parts, fails } => self.operate_all(parts, fails && self.failures)?,
            Step::Record { event, stream } => self.record(event, stream),
            Step::Wait { stream, event } => {
                let (track, timeline) = self.stream(stream);
                let (shared, recorded) = &self.events[event];
                let wait = || {
                    // A stream's own event adds nothing: that wait may be left out altogether.
                    if let Some((set, _)) = recorded.filter(|(_, from)| *from != timeline.id) {
                        self.backend.machine.borrow_mut().wait(track, set);
                    }
                    Ok::<(), ()>(())
                };
                self.tracker.wait_shared(timeline, shared, wait).unwrap();
            }
            Step::StreamSynchronize(stream) => {
                let (track, timeline) = self.stream(stream);
                let snapshot = self.tracker.snapshot_of(timeline);
                let end = self.backend.machine.borrow().end_of(track);
                let snapshot = if self.backend.sabotage == Sabotage::LateSnapshot {
                    // As if another thread had given the stream more while this one waited.
                    let touch = Touch { buffer: 0, start: 0, end: BYTES, mode: Mode::Write, at_call: false };
                    self.operate(stream, vec![touch], false)?;
                    self.tracker.snapshot_of(timeline)
                } else {
                    snapshot
                };
                self.backend.machine.borrow_mut().waited(end);
                self.tracker.completed_all(&snapshot);
            }
            Step::StreamQuery(stream) => {
                let (track, timeline) = self.stream(stream);
                let snapshot = self.tracker.snapshot_of(timeline);
                let end = self.backend.machine.borrow().end_of(track);
                if self.backend.machine.borrow_mut().ask(end) {
                    self.tracker.completed_all(&snapshot);
                }
            }
            Step::EventSynchronize(event) => {
                let record = self.events[event].0.last_record();
                self.event_synchronize(event, record);
            }
            Step::EventSynchronizeAndRecord { event, stream } => {
                let record = self.events[event].0.last_record();
                if self.backend.sabotage == Sabotage::AnyRecord
                    && let Some(record) = record
                {
                    // As if the end of the later record proved that of this one.
                    self.tracker.completed_shared(&self.events[event].0, record);
                }
                // As if another thread had recorded it before the call.
                self.record(event, stream);
                self.event_synchronize(event, record);
            }
            Step::EventQuery(event) => {
                let (shared, recorded) = &self.events[event];
                if let Some((record, (set, _))) = shared.last_record().zip(*recorded)
                    && self.backend.machine.borrow_mut().ask(set)
                {
                    self.tracker.completed_shared(shared, record);
                }
            }
            Step::DeviceSynchronize(device) => self.backend.device_synchronize(device),
            Step::Host(touch) => self.host(touch)?,
            Step::Progress(choice) => {
                self.backend.machine.borrow_mut().progress(choice);
                if choice.is_multiple_of(3) {
                    self.check_frees()?;
                }
            }
            Step::Drop(stream) => self.leave(stream, |bench, gone| bench.pool.push(gone)),
            Step::Retire { stream, event } => self.leave(stream, |bench, gone| bench.retire(gone, event)),
            Step::Create { device, blocking } => {
                self.create(device, if blocking { Kind::Blocking } else { Kind::NonBlocking });
            }
            Step::PerThread(device) => {
                self.backend.elsewhere.set(!self.backend.elsewhere.get());
                self.create(device, Kind::PerThread);
            }
        }
        self.check_completed()?;
        match self.backend.complaint.borrow_mut().take() {
            Some(complaint) => Err(complaint),
            None => Ok(()),
        }
    }

    fn record(&mut self, event: usize, stream: usize) {
        let (track, timeline) = self.stream(stream);
        let (shared, recorded) = &mut self.events[event];
        let record = || {
            let set = self.backend.machine.borrow_mut().record(track);
            *recorded = Some((set, timeline.id));
            Ok::<(), ()>(())
        };
        self.tracker.record_shared(timeline, shared, record).unwrap();
    }

    /// Has the host wait for the last record of an event. It read the number `record` before: if that is of
    /// another record, the wait proves nothing.
    fn event_synchronize(&self, event: usize, record: Option<SequenceNumber>) {
        let (shared, recorded) = &self.events[event];
        if let Some((record, (set, _))) = record.zip(*recorded) {
            if shared.last_record() == Some(record) {
                self.backend.machine.borrow_mut().waited(set);
            }
            self.tracker.completed_shared(shared, record);
        }
    }

    /// Removes a stream, unless it is one of those that the program always has.
    fn leave(&mut self, stream: usize, how: impl FnOnce(&mut Self, (usize, &'a Timeline))) {
        let at = stream % self.streams.len();
        if self.streams[at].1.kind != Kind::Legacy && self.streams.len() > DEVICES + 1 {
            let gone = self.streams.swap_remove(at);
            how(self, gone);
        }
    }

    fn retire(&mut self, (track, timeline): (usize, &'a Timeline), event: bool) {
        let reach = if event && !self.tracker.is_idle(timeline) {
            let mut set = Set::default();
            let record = || {
                set = self.backend.machine.borrow_mut().record(track);
                Ok::<(), ()>(())
            };
            self.tracker.record_last(timeline, record).unwrap();
            let mut events = self.backend.last_events.borrow_mut();
            events.push(set);
            WaitTarget::Event(events.len() - 1)
        } else {
            WaitTarget::Device
        };
        self.tracker.retire(timeline, reach);
        let mut machine = self.backend.machine.borrow_mut();
        // A stream without a last event is not destroyed.
        machine.tracks[track].gone = event;
        // With one, the legacy stream waits for it.
        if let WaitTarget::Event(number) = reach {
            let device = machine.tracks[track].device;
            if timeline.kind.blocking() && self.backend.sabotage != Sabotage::NoLastEvent {
                // The tracker does not see this and goes by the rule: to others it is no action of the legacy
                // stream.
                machine.tracks[self.backend.legacy_of(device)]
                    .tail
                    .join(self.backend.last_events.borrow()[number]);
            }
        }
    }

    pub(crate) fn device(&self, track: usize) -> usize {
        self.backend.machine.borrow().tracks[track].device
    }

    /// Checks for each buffer that the stream on which a drop would free it is itself ordered after all
    /// work on the buffer.
    pub(crate) fn check_frees(&mut self) -> Result<(), String> {
        for (buffer, history) in self.histories.iter().enumerate() {
            for device in 0..DEVICES {
                let Some((submission, target)) =
                    self.tracker.begin_free(history, i32::try_from(device).unwrap())
                else {
                    continue;
                };
                let timeline = submission.timeline();
                let is_stream = matches!(*target, WaitTarget::Stream(_));
                drop(target);
                submission.commit(is_stream);
                if !is_stream {
                    continue;
                }
                let machine = self.backend.machine.borrow();
                let track = &machine.tracks[self.backend.track(timeline)];
                let touch = Touch { buffer, start: 0, end: BYTES, mode: Mode::Write, at_call: false };
                if let Some(node) = machine.unordered(&[touch], Orders::of(track.tail)).next() {
                    return Err(format!("buffer {buffer} would be freed beside operation {node}"));
                }
                self.run.frees += 1;
            }
        }
        Ok(())
    }

    /// Checks that nothing counts as complete that was not submitted.
    fn check_completed(&self) -> Result<(), String> {
        for timeline in self.tracker.timelines(None) {
            if timeline.completed() > timeline.submitted() {
                return Err(format!("{:?} has completed more than it was given", timeline.id));
            }
        }
        Ok(())
    }
}
