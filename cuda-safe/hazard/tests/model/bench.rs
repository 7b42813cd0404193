//! A program under way: the same steps done with the tracker and in the model, compared after each.

use std::rc::Rc;

use crate::common::Tracker;
use crate::common::machine::{Set, Touch, Track};
use crate::model::Model;
use crate::operate::Kept;
use crate::program::{Program, Run, Sabotage};
use crate::step::{BYTES, DEVICES, EVENTS, Step};
use cuda_hazard::{Kind, Ledger, Mode, Policy, Reach, Slot, Snapshot};

/// A program under way.
pub(crate) struct Bench<'a> {
    pub(crate) books: &'a Tracker,
    pub(crate) ledgers: &'a [Ledger],
    pub(crate) port: Model<'a>,
    /// Streams that the program has, as tracks of the model.
    pub(crate) streams: Vec<(usize, &'a Slot)>,
    pub(crate) pool: Vec<(usize, &'a Slot)>,
    pub(crate) events: Vec<Option<(Snapshot, Set, cuda_hazard::SlotId)>>,
    pub(crate) policy: Policy,
    pub(crate) changes: bool,
    pub(crate) failures: bool,
    /// What one operation did, for others to do again.
    pub(crate) kept: Option<Rc<Kept<'a>>>,
    pub(crate) run: Run,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        books: &'a Tracker,
        ledgers: &'a [Ledger],
        program: &Program,
        sabotage: Sabotage,
    ) -> Self {
        let port = Model::new(books, sabotage);
        let mut bench = Self {
            books,
            ledgers,
            port,
            streams: Vec::new(),
            pool: Vec::new(),
            events: vec![None; EVENTS],
            policy: program.policy,
            changes: program.changes,
            failures: program.failures,
            kept: None,
            run: Run::default(),
        };
        for device in 0..DEVICES {
            let slot = books.legacy(i32::try_from(device).unwrap(), Reach::Stream(0)).unwrap();
            bench.track(slot, device);
        }
        bench.create(0, Kind::Blocking);
        bench.create(0, Kind::Blocking);
        bench.create(0, Kind::NonBlocking);
        bench.create(1, Kind::NonBlocking);
        bench
    }

    /// A stream of the model for a slot.
    fn track(&mut self, slot: &'a Slot, device: usize) {
        let mut machine = self.port.machine.borrow_mut();
        self.streams.push((machine.tracks.len(), slot));
        machine.tracks.push(Track {
            slot: slot.id,
            kind: slot.kind,
            device,
            tail: Set::default(),
            gone: false,
        });
    }

    fn create(&mut self, device: usize, kind: Kind) {
        let ordinal = i32::try_from(device).unwrap();
        for at in 0..self.pool.len() {
            let (track, slot) = self.pool[at];
            if slot.kind == kind && slot.device() == ordinal && self.drained(track, slot) {
                self.run.reused_slots += 1;
                self.streams.push(self.pool.swap_remove(at));
                return;
            }
        }
        let slot = self.books.enrol(ordinal, kind, Reach::Stream(0)).unwrap();
        if self.port.machine.borrow().tracks.iter().any(|track| track.slot == slot.id) {
            self.run.reused_slots += 1;
        }
        self.track(slot, device);
    }

    fn drained(&self, track: usize, slot: &Slot) -> bool {
        if slot.is_drained() {
            return true;
        }
        let coverage = self.books.coverage_of(slot);
        let mut machine = self.port.machine.borrow_mut();
        let end = machine.end_of(track);
        if machine.ask(end) {
            self.books.completed_all(&coverage);
        }
        slot.is_drained()
    }

    pub(crate) fn stream(&self, number: usize) -> (usize, &'a Slot) {
        self.streams[number % self.streams.len()]
    }

    pub(crate) fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Operate { stream, touches, fails } => {
                self.operate(stream, touches, fails && self.failures)?;
            }
            Step::Record { event, stream } => {
                let (track, slot) = self.stream(stream);
                let mut set = Set::default();
                let recorded = self.books.record(slot, || {
                    set = self.port.machine.borrow_mut().record(track);
                    Ok::<(), ()>(())
                });
                self.events[event] = Some((recorded.unwrap(), set, slot.id));
            }
            Step::Wait { stream, event } => {
                let (track, slot) = self.stream(stream);
                if let Some((snapshot, set, from)) = &self.events[event] {
                    let wait = || {
                        // A stream's own event tells it nothing: that wait may be left out altogether.
                        if *from != slot.id {
                            self.port.machine.borrow_mut().wait(track, *set);
                        }
                        Ok::<(), ()>(())
                    };
                    self.books.wait(slot, snapshot, wait).unwrap();
                }
            }
            Step::StreamSynchronize(stream) => {
                let (track, slot) = self.stream(stream);
                let coverage = self.books.coverage_of(slot);
                let end = self.port.machine.borrow().end_of(track);
                let coverage = if self.port.sabotage == Sabotage::LateCoverage {
                    // As if another thread had given the stream more while this one waited.
                    let touch = Touch { buffer: 0, start: 0, end: BYTES, mode: Mode::Write, at_call: false };
                    self.operate(stream, vec![touch], false)?;
                    self.books.coverage_of(slot)
                } else {
                    coverage
                };
                self.port.machine.borrow_mut().waited(end);
                self.books.completed_all(&coverage);
            }
            Step::StreamQuery(stream) => {
                let (track, slot) = self.stream(stream);
                let coverage = self.books.coverage_of(slot);
                let end = self.port.machine.borrow().end_of(track);
                if self.port.machine.borrow_mut().ask(end) {
                    self.books.completed_all(&coverage);
                }
            }
            Step::EventSynchronize(event) => {
                if let Some((snapshot, set, _)) = &self.events[event] {
                    self.port.machine.borrow_mut().waited(*set);
                    self.books.completed_snapshot(snapshot);
                }
            }
            Step::EventQuery(event) => {
                if let Some((snapshot, set, _)) = &self.events[event]
                    && self.port.machine.borrow_mut().ask(*set)
                {
                    self.books.completed_snapshot(snapshot);
                }
            }
            Step::DeviceSynchronize(device) => self.port.device_synchronize(device),
            Step::Host(touch) => self.host(touch)?,
            Step::Progress(choice) => self.port.machine.borrow_mut().progress(choice),
            Step::Drop(stream) => self.leave(stream, |bench, gone| bench.pool.push(gone)),
            Step::Dismiss { stream, event } => self.leave(stream, |bench, gone| bench.dismiss(gone, event)),
            Step::Create { device, blocking } => {
                self.create(device, if blocking { Kind::Blocking } else { Kind::NonBlocking });
            }
            Step::PerThread(device) => {
                self.port.elsewhere.set(!self.port.elsewhere.get());
                self.create(device, Kind::PerThread);
            }
        }
        self.check_watermarks()?;
        match self.port.complaint.borrow_mut().take() {
            Some(complaint) => Err(complaint),
            None => Ok(()),
        }
    }

    /// A stream goes, unless it is one of those that the program keeps.
    fn leave(&mut self, stream: usize, how: impl FnOnce(&mut Self, (usize, &'a Slot))) {
        let at = stream % self.streams.len();
        if self.streams[at].1.kind != Kind::Legacy && self.streams.len() > DEVICES + 1 {
            let gone = self.streams.swap_remove(at);
            how(self, gone);
        }
    }

    fn dismiss(&mut self, (track, slot): (usize, &'a Slot), event: bool) {
        let reach = if event && !self.books.is_over(slot) {
            let mut set = Set::default();
            let record = || {
                set = self.port.machine.borrow_mut().record(track);
                Ok::<(), ()>(())
            };
            self.books.record_last(slot, record).unwrap();
            let mut events = self.port.last_events.borrow_mut();
            events.push(set);
            Reach::Event(events.len() - 1)
        } else {
            Reach::Device
        };
        self.books.dismiss(slot, reach);
        let mut machine = self.port.machine.borrow_mut();
        // Who cannot leave an event lets nobody destroy the stream.
        machine.tracks[track].gone = event;
        // With one, the legacy stream waits for it.
        if let Reach::Event(number) = reach {
            let device = machine.tracks[track].device;
            if slot.kind.blocking() && self.port.sabotage != Sabotage::NoFarewell {
                // Not told to the books, which go by the rule: so it is no action of the legacy stream's to
                // others.
                machine.tracks[self.port.legacy_of(device)]
                    .tail
                    .merge(self.port.last_events.borrow()[number]);
            }
        }
    }

    pub(crate) fn device(&self, track: usize) -> usize {
        self.port.machine.borrow().tracks[track].device
    }

    /// Nothing is taken for complete that the host has not been told.
    fn check_watermarks(&self) -> Result<(), String> {
        for slot in self.books.slots_of(None) {
            if slot.completed() > slot.submitted() {
                return Err(format!("{:?} has completed more than it was given", slot.id));
            }
        }
        Ok(())
    }
}
