//! Books that several threads use, beside the model of the devices.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use super::books::{
    Access, Books, Kind, Ledger, Mode, Policy, Port, Reach, Refusal, Route, Slot, SlotId, Snapshot, Sorted,
};
use super::machine::{Machine, Set, Touch, Track};
use super::sync;

/// Bytes of each allocation.
pub(super) const BYTES: usize = 16;

/// Books, two allocations, and the devices.
pub(super) struct World {
    pub(super) books: Books,
    pub(super) ledgers: [Ledger; 2],
    pub(super) machine: sync::Mutex<Machine>,
    /// Waits are not made then.
    pub(super) sabotage: bool,
    /// The stream whose accesses are put in order before.
    pub(super) sorted: Option<SlotId>,
}

impl World {
    pub(super) fn new(kinds: &[Kind]) -> (Arc<Self>, Vec<SlotId>) {
        let world = Self {
            books: Books::new(Policy::default),
            ledgers: [Ledger::new(BYTES), Ledger::new(BYTES)],
            machine: sync::Mutex::new(Machine::default()),
            sabotage: false,
            sorted: None,
        };
        let ids = kinds.iter().map(|kind| world.stream(*kind)).collect();
        (Arc::new(world), ids)
    }

    pub(super) fn stream(&self, kind: Kind) -> SlotId {
        let slot = match kind {
            Kind::Legacy => self.books.legacy(0, Reach::Stream(0)).unwrap(),
            _ => self.books.enrol(0, kind, Reach::Stream(0)).unwrap(),
        };
        self.machine.lock().tracks.push(Track {
            slot: slot.id,
            kind,
            device: 0,
            tail: Set::default(),
            gone: false,
        });
        slot.id
    }

    fn track(machine: &Machine, slot: SlotId) -> usize {
        machine.tracks.iter().rposition(|track| track.slot == slot).unwrap()
    }

    /// One operation; the closure fails if `fails`.
    pub(super) fn operate(
        &self,
        id: SlotId,
        touches: &[(usize, Mode)],
        fails: bool,
    ) -> Result<(), Refusal<()>> {
        let slot = self.books.slot(id).unwrap();
        let accesses: Vec<Access<'_>> = touches
            .iter()
            .map(|(buffer, mode)| Access::new(&self.ledgers[*buffer], 0..BYTES, *mode))
            .collect();
        self.operate_with(slot, &accesses, touches, fails)
    }

    /// One operation that writes parts of buffers.
    pub(super) fn write_parts(&self, id: SlotId, parts: &[(usize, Range<usize>)]) {
        let slot = self.books.slot(id).unwrap();
        let access = |(buffer, part): &(usize, Range<usize>)| {
            Access::write(&self.ledgers[*buffer], part.clone()).exclusive()
        };
        let touch = |(buffer, part): &(usize, Range<usize>)| Touch {
            buffer: *buffer,
            start: part.start,
            end: part.end,
            mode: Mode::Write,
            at_call: false,
        };
        let accesses: Vec<_> = parts.iter().map(access).collect();
        self.operate_on(slot, &accesses, &parts.iter().map(touch).collect::<Vec<_>>(), false).unwrap();
    }

    pub(super) fn operate_with(
        &self,
        slot: &Slot,
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
        self.operate_on(slot, accesses, &touches, fails)
    }

    pub(super) fn operate_on(
        &self,
        slot: &Slot,
        accesses: &[Access<'_>],
        touches: &[Touch],
        fails: bool,
    ) -> Result<(), Refusal<()>> {
        let call = || {
            if fails {
                return Err(());
            }
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, slot.id);
            let node = machine.operate(track, touches.to_vec());
            let before = machine.nodes[node].before;
            let race = machine.unordered(touches, before).find(|other| *other != node);
            assert_eq!(race, None, "operation {node} races");
            Ok(())
        };
        let at = Location::caller();
        let answer = if self.sorted == Some(slot.id) {
            self.books.enqueue_sorted(slot, &Sorted::of(accesses.to_vec()), self, at, call)
        } else {
            self.books.enqueue(slot, accesses, true, self, at, call)
        };
        answer.map(|((), _)| ())
    }
}

impl World {
    /// Records an event.
    pub(super) fn mark(&self, id: SlotId) -> (Snapshot, Set) {
        let mut event = Set::default();
        let snapshot = self.books.record(self.books.slot(id).unwrap(), || {
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, id);
            event = machine.record(track);
            Ok::<(), ()>(())
        });
        (snapshot.unwrap(), event)
    }

    /// Has a stream wait for one.
    pub(super) fn wait(&self, id: SlotId, (snapshot, event): &(Snapshot, Set)) {
        let wait = || {
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, id);
            machine.wait(track, *event);
            Ok::<(), ()>(())
        };
        let slot = self.books.slot(id).unwrap();
        self.books.wait(slot, slot.kind, snapshot, wait).unwrap();
    }
}

impl Port for World {
    type Error = ();

    fn order(&self, waiter: &Slot, other: &Slot, _: &mut usize) -> Result<Route, ()> {
        if self.sabotage {
            return Ok(Route::Stream);
        }
        let reach = other.reach();
        if *reach == Reach::Device {
            drop(reach);
            let coverage = self.books.coverage_of_device(0);
            let mut machine = self.machine.lock();
            let end = machine.end_of_device(0);
            machine.waited(end);
            drop(machine);
            self.books.completed_all(&coverage);
            return Ok(Route::Host);
        }
        let event = {
            let mut machine = self.machine.lock();
            let track = Self::track(&machine, other.id);
            machine.record(track)
        };
        let mut machine = self.machine.lock();
        let track = Self::track(&machine, waiter.id);
        machine.wait(track, event);
        Ok(Route::Stream)
    }
}
