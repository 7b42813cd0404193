//! Books that several threads use, beside the model of the devices.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use super::common::machine::{Machine, Set, Touch, Track};
use super::common::{Tracker, exclusive};
use cuda_hazard::{
    Access, Kind, Ledger, Mode, Policy, Port, Reach, Refusal, Repeat, Route, Series, Slot, SlotId, Snapshot,
    Sorted,
};

/// Bytes of each allocation.
pub(super) const BYTES: usize = 16;

/// Bytes of a buffer.
pub(super) type Part = (usize, Range<usize>);

/// The way on which the tracker took an operation that is made again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// By the numbers of its series alone.
    Untold,
    /// By these, once it was told of the accesses.
    Told,
    /// As any other one.
    Usual,
}

/// Books, two allocations, and the devices.
pub(super) struct World {
    pub(super) books: Tracker,
    pub(super) ledgers: [Ledger; 2],
    pub(super) machine: cuda_hazard::primitives::Mutex<Machine>,
    /// Waits are not made then.
    pub(super) sabotage: bool,
    /// The stream whose accesses are put in order before.
    pub(super) sorted: Option<SlotId>,
    /// Whether parts are written without a borrow, as by a graph.
    pub(super) unborrowed: bool,
}

impl World {
    pub(super) fn new(kinds: &[Kind]) -> (Arc<Self>, Vec<SlotId>) {
        let world = Self {
            books: Tracker::new(Policy::default),
            ledgers: [Ledger::new(BYTES), Ledger::new(BYTES)],
            machine: cuda_hazard::primitives::Mutex::new(Machine::default()),
            sabotage: false,
            sorted: None,
            unborrowed: false,
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
    pub(super) fn write_parts(&self, id: SlotId, parts: &[Part]) {
        let slot = self.books.slot(id).unwrap();
        let (accesses, touches) = self.writes(parts);
        self.operate_on(slot, &accesses, &touches, false).unwrap();
    }

    /// The same by series, one for each buffer: without telling the tracker of the parts, where it does not
    /// know them with that, and where even that is not enough as any other operation. What a program does
    /// that makes it again and again.
    pub(super) fn write_again(
        &self,
        id: SlotId,
        series: &[(&Series, &[Part])],
    ) -> Result<Taken, Refusal<()>> {
        let slot = self.books.slot(id).unwrap();
        let all: Vec<_> = series.iter().map(|(_, parts)| self.writes(parts)).collect();
        let touches: Vec<Touch> = all.iter().flat_map(|(_, touches)| touches).copied().collect();
        let numbered = || series.iter().zip(&all).map(|((series, _), (accesses, _))| (series, accesses));
        let untold: Vec<Repeat<'_, '_>> = numbered().map(|(series, all)| series.again(&all[0])).collect();
        let told: Vec<Repeat<'_, '_>> = numbered().filter_map(|(series, all)| series.told(all)).collect();
        for (repeats, taken) in [(untold, Taken::Untold), (told, Taken::Told)] {
            if let Some(entered) = self.books.begin_repeated(slot, &repeats) {
                self.give(slot, &touches);
                entered.commit(true);
                return Ok(taken);
            }
        }
        let accesses: Vec<Access<'_>> = all.iter().flat_map(|(accesses, _)| accesses).copied().collect();
        self.operate_on(slot, &accesses, &touches, false).map(|()| Taken::Usual)
    }

    /// Writes of parts of buffers, for the books and for the model.
    fn writes(&self, parts: &[Part]) -> (Vec<Access<'_>>, Vec<Touch>) {
        let access = |(buffer, part): &Part| {
            let access = Access::write(&self.ledgers[*buffer], part.clone());
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
            self.give(slot, touches);
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

    /// Gives the devices an operation, and looks whether all is over before that has to be.
    fn give(&self, slot: &Slot, touches: &[Touch]) {
        let mut machine = self.machine.lock();
        let track = Self::track(&machine, slot.id);
        let node = machine.operate(track, touches.to_vec());
        let before = machine.nodes[node].before;
        let race = machine.unordered(touches, before).find(|other| *other != node);
        assert_eq!(race, None, "operation {node} races");
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
        self.books.wait(slot, snapshot, wait).unwrap();
    }
}

// SAFETY: no memory depends on it.
unsafe impl Port for World {
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
