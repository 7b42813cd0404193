//! Random programs: the same steps done with the tracker and in the model, compared after each.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use crate::books::{
    Access, Books, Kind, Ledger, Mode, Policy, Port, Reach, Refusal, Route, Slot, Snapshot, Sorted,
};
use crate::machine::{Machine, Orders, Set, Touch, Track};
use crate::step::{BUFFERS, BYTES, DEVICES, Dice, EVENTS, Step};

/// What is broken on purpose, to see that the model notices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// The tracker's waits are not carried out.
    NoWait,
    /// The tracker is made to forget what it knows, so that it waits for nothing.
    WaitTwice,
    /// The host goes ahead without waiting.
    NoHostWait,
    /// What a synchronisation covers is read after it instead of before.
    LateCoverage,
    /// The legacy stream does not wait for the last event of a stream that goes.
    NoFarewell,
    /// The tracker is not told what is read during the call.
    NotAtCall,
}

/// What a program, or all of them, came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) operations: u64,
    pub(crate) added_waits: u64,
    /// Conflicting pairs that the program itself had ordered.
    pub(crate) ordered_pairs: u64,
    pub(crate) refusals: u64,
    pub(crate) host_waits: u64,
    pub(crate) by_legacy_rule: u64,
    pub(crate) reused_slots: u64,
    pub(crate) failed_calls: u64,
}

impl Run {
    pub(crate) fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.added_waits += other.added_waits;
        self.ordered_pairs += other.ordered_pairs;
        self.refusals += other.refusals;
        self.host_waits += other.host_waits;
        self.by_legacy_rule += other.by_legacy_rule;
        self.reused_slots += other.reused_slots;
        self.failed_calls += other.failed_calls;
    }
}

/// A program: any list of numbers is one. Each step takes what it needs off its number.
#[derive(Clone)]
pub(crate) struct Program {
    policy: Policy,
    /// Whether the policy becomes the other one every few operations.
    changes: bool,
    failures: bool,
    steps: Vec<u64>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = if self.changes { " and the other one in turn" } else { "" };
        let fail = if self.failures { "may" } else { "never" };
        writeln!(f, "policy {:?}{changes}, calls {fail} fail", self.policy)?;
        for step in &self.steps {
            writeln!(f, "  {:?}", Step::of(*step))?;
        }
        Ok(())
    }
}

impl Program {
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let length = 8 + dice.roll() % 40;
        let policy = if dice.roll().is_multiple_of(4) { Policy::Error } else { Policy::Order };
        let [failures, changes] = [(); 2].map(|()| dice.roll().is_multiple_of(4));
        Self { policy, changes, failures, steps: (0..length).map(|_| dice.roll()).collect() }
    }

    /// Runs the program with the tracker and in the model.
    pub(crate) fn run(&self, sabotage: Sabotage) -> Result<Run, String> {
        let books = Books::new(Policy::default);
        books.set_policy(self.policy);
        let ledgers: Vec<Ledger> = (0..BUFFERS).map(|_| Ledger::new(BYTES)).collect();
        let mut bench = Bench::new(&books, &ledgers, self, sabotage);
        for step in &self.steps {
            if bench.port.machine.borrow().nodes.len() + 1 >= Set::LIMIT {
                break;
            }
            bench.step(Step::of(*step)).map_err(|message| format!("{message}, in {:?}", Step::of(*step)))?;
        }
        let mut run = bench.run;
        run.added_waits = books.added_waits();
        Ok(run)
    }

    /// Leaves out steps for as long as the program still fails.
    pub(crate) fn shrink(&self, message: String, sabotage: Sabotage) -> (Self, String) {
        let (mut small, mut message) = (self.clone(), message);
        let mut at = 0;
        while at < small.steps.len() {
            let mut shorter = small.clone();
            shorter.steps.remove(at);
            match shorter.run(sabotage) {
                Err(found) => (small, message, at) = (shorter, found, 0),
                Ok(_) => at += 1,
            }
        }
        (small, message)
    }
}

/// The model as the tracker's way to the streams.
struct Model<'a> {
    books: &'a Books,
    machine: RefCell<Machine>,
    /// The events of dismissed streams.
    last_events: RefCell<Vec<Set>>,
    /// The accesses of the operation that is being entered.
    touches: RefCell<Vec<Touch>>,
    /// Whether calls of this program have failed: what they left in the books may cost a wait.
    imprecise: Cell<bool>,
    sabotage: Sabotage,
    complaint: RefCell<Option<String>>,
    /// Whether a per-thread stream is another thread's, this time.
    elsewhere: Cell<bool>,
    /// Whether an event was recorded on the legacy stream for another one's sake.
    by_legacy: Cell<bool>,
}

impl Model<'_> {
    fn track(&self, slot: &Slot) -> usize {
        self.machine.borrow().tracks.iter().rposition(|track| track.slot == slot.id).unwrap()
    }

    /// Whether a wait for nothing is no fault.
    fn is_imprecise(&self, machine: &Machine) -> bool {
        // The books are not told that the legacy stream waits for a stream that goes, and do not note with the legacy stream that others
        // record events on it: what it reads during the call, they do not know to be ordered.
        let at_call = self.touches.borrow().iter().any(|touch| touch.at_call);
        let untold = || self.by_legacy.get() || machine.tracks.iter().any(|track| track.gone);
        self.imprecise.get() || at_call && untold()
    }

    fn complain(&self, message: String) {
        self.complaint.borrow_mut().get_or_insert(message);
    }

    fn device_synchronize(&self, device: usize) {
        let coverage = self.books.coverage_of_device(i32::try_from(device).unwrap());
        let mut machine = self.machine.borrow_mut();
        let end = machine.end_of_device(device);
        machine.waited(end);
        self.books.completed_all(&coverage);
    }
}

impl Port for Model<'_> {
    type Error = ();

    fn order(&self, waiter: &Slot, other: &Slot, _: &mut usize) -> Result<Route, ()> {
        let (me, them) = (self.track(waiter), self.track(other));
        {
            let machine = self.machine.borrow();
            let ordered = machine.orders(me);
            let needed = machine
                .unordered(&self.touches.borrow(), ordered)
                .any(|node| machine.nodes[node].slot == other.id || other.id == waiter.id);
            if !needed && !self.is_imprecise(&machine) {
                self.complain(format!("{:?} was made to wait for {:?} for nothing", waiter.id, other.id));
            }
        }
        if self.sabotage == Sabotage::NoWait {
            return Ok(Route::Stream);
        }
        let reach = *other.reach();
        let device = self.machine.borrow().tracks[them].device;
        let (event, route) = match reach {
            // Of no stream here is a graph being made.
            Reach::Over => return Ok(Route::Host),
            Reach::Device => {
                self.device_synchronize(device);
                return Ok(Route::Host);
            }
            Reach::Event(number) => (self.last_events.borrow()[number], Route::Event),
            Reach::Stream(_)
                if other.kind == Kind::PerThread && self.elsewhere.get()
                    || other.kind != Kind::Legacy && other.id == waiter.id =>
            {
                self.by_legacy.set(true);
                (self.machine.borrow_mut().record(self.legacy_of(device)), Route::Legacy)
            }
            Reach::Stream(_) => {
                self.by_legacy.set(self.by_legacy.get() || other.kind == Kind::Legacy);
                (self.machine.borrow_mut().record(them), Route::Stream)
            }
        };
        self.machine.borrow_mut().wait(me, event);
        Ok(route)
    }
}

impl Model<'_> {
    /// Legacy streams are the first tracks, by device.
    fn legacy_of(&self, device: usize) -> usize {
        device
    }
}

/// A program under way.
struct Bench<'a> {
    books: &'a Books,
    ledgers: &'a [Ledger],
    port: Model<'a>,
    /// Streams that the program has, as tracks of the model.
    streams: Vec<(usize, &'a Slot)>,
    pool: Vec<(usize, &'a Slot)>,
    events: Vec<Option<(Snapshot, Set, crate::books::SlotId)>>,
    policy: Policy,
    changes: bool,
    failures: bool,
    /// Accesses that were put in order for an operation, the number of its stream, and what they touch.
    kept: Option<Kept<'a>>,
    run: Run,
}

type Kept<'a> = (Rc<Sorted<'a>>, usize, Vec<Touch>);

impl<'a> Bench<'a> {
    fn new(books: &'a Books, ledgers: &'a [Ledger], program: &Program, sabotage: Sabotage) -> Self {
        let port = Model {
            books,
            machine: RefCell::default(),
            last_events: RefCell::default(),
            touches: RefCell::default(),
            imprecise: Cell::new(false),
            sabotage,
            complaint: RefCell::new(None),
            elsewhere: Cell::new(false),
            by_legacy: Cell::new(false),
        };
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
            if slot.kind == kind && slot.device.ordinal == ordinal && self.drained(track, slot) {
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

    fn stream(&self, number: usize) -> (usize, &'a Slot) {
        self.streams[number % self.streams.len()]
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
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
                    self.books.wait(slot, slot.kind, snapshot, wait).unwrap();
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
                // Not told to the books, which go by the rule: so it is no action of the legacy stream's to others.
                machine.tracks[self.port.legacy_of(device)]
                    .tail
                    .merge(self.port.last_events.borrow()[number]);
            }
        }
    }

    fn operate(&mut self, stream: usize, touches: Vec<Touch>, fails: bool) -> Result<(), String> {
        if self.changes && self.run.operations % 5 == 4 {
            self.policy = if self.policy == Policy::Order { Policy::Error } else { Policy::Order };
            self.books.set_policy(self.policy);
        }
        // Two of eight do again what one before them did on its stream, as a batch does, and one on whatever stream.
        let turn = self.run.operations % 8;
        let (again, stream, touches) = match self.kept.clone() {
            Some((again, _, touches)) if turn == 7 => (Some(again), stream, touches),
            Some((again, stream, touches)) if turn > 4 => (Some(again), stream, touches),
            _ => (None, stream, touches),
        };
        let (track, slot) = self.stream(stream);
        let accesses: Vec<Access<'_>> = touches
            .iter()
            .map(|touch| {
                let access = Access::new(&self.ledgers[touch.buffer], touch.start..touch.end, touch.mode);
                let at_call = touch.at_call && self.port.sabotage != Sabotage::NotAtCall;
                let access = if at_call { access.at_call() } else { access };
                // One thread enters everything here, so whatever writes could have borrowed exclusively.
                if touch.mode == Mode::Write && touch.buffer % 2 == 0 { access.exclusive() } else { access }
            })
            .collect();
        let rolled = touches.clone();
        let touches: Vec<Touch> = touches.into_iter().filter(|touch| touch.start < touch.end).collect();
        // The tracker may ask once for each buffer, whichever of its bytes are read during the call.
        let mut asked = touches.clone();
        for buffer in 0..BUFFERS {
            let mut of_it: Vec<_> = asked.iter_mut().filter(|touch| touch.buffer == buffer).collect();
            let at_call = of_it.iter().any(|touch| touch.at_call);
            of_it.iter_mut().for_each(|touch| touch.at_call = at_call);
        }
        if fails {
            self.port.imprecise.set(true);
            self.run.failed_calls += 1;
        }
        *self.port.touches.borrow_mut() = asked.clone();
        if self.port.sabotage == Sabotage::WaitTwice
            && let Some((_, other)) = self.streams.iter().find(|(_, other)| other.id != slot.id)
        {
            // A tracker that waits for a stream whether it needs to or not.
            let _ = self.port.order(slot, other, &mut 0);
        }
        let (unordered, at_most, pairs, by_rule) = {
            let machine = self.port.machine.borrow();
            let ordered = machine.orders(track);
            let own = machine.tracks[track].tail;
            let conflicting =
                |node: &usize| machine.nodes[*node].slot != slot.id && machine.conflicts(*node, &touches);
            let pairs =
                (0..machine.nodes.len()).filter(conflicting).filter(|node| ordered.all.contains(*node));
            let by_rule = pairs.clone().filter(|node| !own.contains(*node)).count();
            let count = |touches| machine.unordered(touches, ordered).count();
            (count(&touches), count(&asked), pairs.count(), by_rule)
        };
        let before = self.books.added_waits();
        let mut node = None;
        let call = || {
            if fails {
                return Err(());
            }
            if !touches.is_empty() {
                node = Some(self.port.machine.borrow_mut().operate(track, touches.clone()));
            }
            Ok(())
        };
        // About every second one with its accesses put in order before.
        let answer = if self.run.operations.is_multiple_of(2) && again.is_none() {
            self.books.enqueue(slot, &accesses, true, &self.port, Location::caller(), call)
        } else {
            let sorted = again.unwrap_or_else(|| Rc::new(Sorted::of(accesses)));
            self.kept = Some((Rc::clone(&sorted), stream, rolled));
            self.books.enqueue_sorted(slot, &sorted, &self.port, Location::caller(), call)
        };
        let waited = self.books.added_waits() - before;
        self.run.operations += 1;
        self.run.ordered_pairs += u64::try_from(pairs).unwrap();
        self.run.by_legacy_rule += u64::try_from(by_rule).unwrap();
        match answer {
            Err(Refusal::Hazard(hazard)) => {
                self.run.refusals += 1;
                if self.policy != Policy::Error {
                    return Err("refused although the policy is to order".into());
                }
                if at_most == 0 && !self.port.is_imprecise(&self.port.machine.borrow()) {
                    return Err("refused although everything was ordered".into());
                }
                // Before the policy was this one nobody kept that.
                if hazard.first.is_none() && !self.changes {
                    return Err("the refusal does not say where the earlier operation was".into());
                }
            }
            Err(Refusal::HostBorrowed) => return Err("refused for a guard that there is not".into()),
            Err(Refusal::Call(())) if fails => {}
            Err(Refusal::Call(())) => return Err("a call failed that could not".into()),
            Ok(_) => {
                if self.policy == Policy::Error && unordered > 0 {
                    return Err(format!("{unordered} unordered conflicts were not reported"));
                }
                if at_most == 0 && waited > 0 && !self.port.is_imprecise(&self.port.machine.borrow()) {
                    return Err(format!("{waited} waits added where everything was ordered"));
                }
                if let Some(node) = node {
                    let machine = self.port.machine.borrow();
                    let before = machine.nodes[node].before;
                    if let Some(race) = machine.unordered(&touches, before).find(|other| *other != node) {
                        return Err(format!("operation {node} races with operation {race}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The host reads or writes a buffer, waiting as `wait_host` does.
    fn host(&mut self, touch: Touch) -> Result<(), String> {
        let access = Access::new(&self.ledgers[touch.buffer], touch.start..touch.end, touch.mode);
        if touch.start >= touch.end {
            return Ok(());
        }
        let conflicts = self.books.host_conflicts(access);
        let none = Orders::of(Set::default());
        let unproven = self.port.machine.borrow().unordered(&[touch], none).count();
        if !conflicts.is_empty() && unproven == 0 && !self.port.imprecise.get() {
            return Err("the host is made to wait for nothing".into());
        }
        self.run.host_waits += u64::from(!conflicts.is_empty());
        if self.port.sabotage != Sabotage::NoHostWait {
            for conflict in conflicts {
                let slot = self.books.slot(conflict.stamp.slot).unwrap();
                let track = self.port.track(slot);
                let reach = *slot.reach();
                if let Reach::Stream(_) = reach {
                    let coverage = self.books.coverage_by_event(slot);
                    let event = self.port.machine.borrow_mut().record(track);
                    self.port.machine.borrow_mut().waited(event);
                    self.books.completed_all(&coverage);
                } else {
                    self.port.device_synchronize(self.device(track));
                }
            }
            while let Some(conflict) = self.books.host_conflicts(access).first() {
                let slot = self.books.slot(conflict.stamp.slot).unwrap();
                self.port.device_synchronize(self.device(self.port.track(slot)));
            }
            self.books.prune(access);
        }
        let machine = self.port.machine.borrow();
        match machine.unordered(&[touch], none).next() {
            Some(node) => Err(format!("the host races with operation {node}")),
            None => Ok(()),
        }
    }

    fn device(&self, track: usize) -> usize {
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
