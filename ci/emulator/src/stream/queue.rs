//! The queue of asynchronous work: which operation waits for which, and which one may run next.
//!
//! Every operation has an id. Ids only grow and are never used again, so that an operation is done
//! if its id is gone from the queue. An operation runs when all its dependencies are done *and* it is
//! wanted: because a thread waits for it or queried it, because it has been pending for long enough, or
//! because the schedule wants everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use cuda_hazard::happens_before::VectorClock;

use super::copy::Copy;
use super::fill::Fill;
use super::grid::Grid;
use super::names::{OperationId, StreamId};
use super::work::Work;
use crate::config::Schedule;
use crate::exec::Program;
use crate::host_line::HostLine;
use crate::race::{Origin, Races};
use crate::thread;

/// The time that an operation stays pending if nothing asks for it.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// One operation that is not done.
#[derive(Debug)]
struct Operation {
    device: usize,
    call: &'static str,
    /// Where the program asked for it.
    line: HostLine,
    /// Taken out while a step of it runs.
    work: Option<Work>,
    submitted: Instant,
    /// The processor time of the process at that moment.
    used: Duration,
    wanted: bool,
    /// How many steps of it have run.
    turns: u64,
    before: Vec<OperationId>,
    /// How many of `before` are not done.
    unmet: usize,
    after: Vec<OperationId>,
}

/// An operation that was picked to run.
#[derive(Debug)]
pub(crate) struct Picked {
    pub(crate) id: OperationId,
    pub(crate) device: usize,
    pub(crate) call: &'static str,
    pub(crate) line: HostLine,
    pub(crate) work: Work,
}

/// All operations that are not done.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    schedule: Schedule,
    random: Random,
    last: OperationId,
    entries: BTreeMap<OperationId, Operation>,
    /// The operations that may run and are wanted, by how many steps of them have run.
    ready: BTreeSet<(u64, OperationId)>,
    /// The operations that may run and are not wanted.
    idle: BTreeSet<OperationId>,
    /// The operations that are not wanted.
    unwanted: BTreeSet<OperationId>,
    /// How many threads are running wanted work.
    pub(super) drivers: usize,
    /// Whether the background thread exists.
    pub(super) started: bool,
    /// Bytes of pageable memory held for copies that have not run.
    pub(super) staged: usize,
    /// Whether the process ends.
    pub(super) ends: bool,
    /// Whether the other blocks of a kernel run on after a fault.
    pub(crate) runs_on: bool,
    /// The races between operations, if they are looked for.
    pub(crate) races: Option<Races>,
    /// The work and the handles of kernels that run and have called the runtime.
    pub(super) grids: HashMap<OperationId, Box<Grid>>,
    /// The handles that kernels have got.
    handles: u64,
    /// Texts for kernels: their places in the memory of a device.
    pub(super) texts: HashMap<(usize, &'static [u8]), u64>,
}

impl Queue {
    pub(crate) fn new(schedule: Schedule) -> Self {
        let seed = if let Schedule::Random(seed) = schedule { seed } else { 0 };
        Self { schedule, random: Random::new(seed), ..Self::default() }
    }

    /// Adds an operation that comes after `before`.
    pub(crate) fn push(
        &mut self,
        device: usize,
        call: &'static str,
        work: Work,
        before: &[OperationId],
    ) -> OperationId {
        let origin = Origin { call, line: HostLine::captured(), ..Origin::default() };
        self.push_from(device, origin, work, before)
    }

    /// Adds an operation that is done from the start, if races are looked for: only its place in the order
    /// matters, and only to them.
    pub(crate) fn push_done(
        &mut self,
        device: usize,
        stream: Option<StreamId>,
        call: &'static str,
        before: &[OperationId],
    ) -> Option<OperationId> {
        let races = self.races.as_mut()?;
        self.last += 1;
        let origin = Origin { call, stream, line: HostLine::captured(), ..Origin::default() };
        races.order.add(self.last, device, before, origin);
        Some(self.last)
    }

    /// The same, of nothing but what the host has done so far, without a line: for its flags.
    pub(super) fn push_host(&mut self, device: usize) -> Option<OperationId> {
        let races = self.races.as_mut()?;
        self.last += 1;
        races.order.add(self.last, device, &[], Origin { call: "the host", ..Origin::default() });
        Some(self.last)
    }

    /// The same, from a stream or a graph.
    pub(super) fn push_from(
        &mut self,
        device: usize,
        mut origin: Origin,
        work: Work,
        before: &[OperationId],
    ) -> OperationId {
        self.last += 1;
        let id = self.last;
        let (call, line) = (origin.call, origin.line);
        if let Some(races) = &mut self.races {
            origin.kernel = work.kernel();
            origin.waits_outside = matches!(&work, Work::Task(task) if task.waits_outside());
            let operation = races.order.add(id, device, before, origin);
            work.protect(races, &operation);
            if matches!(work, Work::Host(_)) {
                races.functions.insert(id, operation);
            }
        }
        self.enter(id, (device, call, line), work, before);
        id
    }

    /// Adds an operation that is part of one that runs. Later operations come after that one, and so after
    /// its parts.
    pub(super) fn push_within(
        &mut self,
        whole: OperationId,
        device: usize,
        mut origin: Origin,
        work: Work,
        before: &[OperationId],
    ) -> OperationId {
        self.last += 1;
        let id = self.last;
        let known = self.entries.get(&whole);
        let line = known.map(|whole| whole.line).filter(|_| origin.line == HostLine::NONE);
        let (call, line) = (origin.call, line.unwrap_or(origin.line));
        if let Some(races) = &mut self.races {
            origin.kernel = work.kernel();
            // The first parts come after those that the whole has waited for.
            let earlier = known.map_or(&[][..], |whole| &whole.before);
            let earlier = if before.is_empty() { earlier } else { before };
            if let Some(operation) = races.order.add_part((id, whole), Some(device), earlier, origin, None)
                && matches!(work, Work::Host(_))
            {
                races.functions.insert(id, operation);
            }
        }
        self.enter(id, (device, call, line), work, before);
        id
    }

    /// Adds an operation that stands for the next accesses of one that runs, if races are looked for.
    pub(super) fn push_phase(
        &mut self,
        whole: OperationId,
        before: &[OperationId],
        early: Option<VectorClock>,
    ) -> Option<OperationId> {
        let order = &mut self.races.as_mut()?.order;
        let origin = order.get(whole)?.origin.clone();
        self.last += 1;
        order.add_part((self.last, whole), None, before, origin, early)?;
        Some(self.last)
    }

    /// Has a kernel begin its accesses after nothing but this.
    pub(super) fn begins_early(&mut self, id: OperationId, early: VectorClock) {
        self.grids.entry(id).or_default().early = Some(early);
    }

    /// A new handle for a kernel.
    pub(super) fn handle(&mut self, first: u64) -> u64 {
        self.handles += 16;
        first + self.handles
    }

    fn enter(
        &mut self,
        id: OperationId,
        (device, call, line): (usize, &'static str, HostLine),
        work: Work,
        before: &[OperationId],
    ) {
        let mut before: Vec<OperationId> = before.iter().copied().filter(|id| self.matters(*id)).collect();
        before.sort_unstable();
        before.dedup();
        let mut unmet = 0;
        for earlier in &before {
            if let Some(entry) = self.entries.get_mut(earlier) {
                entry.after.push(id);
                unmet += 1;
            }
        }
        self.staged += work.staged();
        let (submitted, used) = (Instant::now(), thread::processor_time());
        let (work, wanted, after) = (Some(work), self.schedule == Schedule::Eager, Vec::new());
        self.entries.insert(
            id,
            Operation { device, call, line, work, submitted, used, wanted, turns: 0, before, unmet, after },
        );
        if !wanted {
            self.unwanted.insert(id);
        }
        if unmet == 0 {
            self.may_run(id);
        }
    }

    /// Offers an operation whose dependencies are done.
    fn may_run(&mut self, id: OperationId) {
        match self.entries.get(&id) {
            Some(entry) if entry.wanted => self.ready.insert((entry.turns, id)),
            _ => self.idle.insert(id),
        };
    }

    /// Has an operation that has not begun come after a later one, which does not come after it.
    pub(crate) fn put_off(&mut self, id: OperationId, until: OperationId) {
        let there = id != until && self.pending(until);
        let Some(entry) = self.entries.get_mut(&id).filter(|_| there) else { return };
        entry.before.push(until);
        entry.unmet += 1;
        let wanted = entry.wanted;
        self.ready.remove(&(entry.turns, id));
        self.idle.remove(&id);
        if let Some(first) = self.entries.get_mut(&until) {
            first.after.push(id);
        }
        if wanted {
            self.want(until);
        }
    }

    /// The program of an operation that is a kernel and does not run at this moment.
    pub(super) fn program(&self, id: OperationId) -> Option<Arc<Program>> {
        match self.entries.get(&id)?.work.as_ref()? {
            Work::Task(task) => task.program().cloned(),
            _ => None,
        }
    }

    /// Whether everything is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether an operation is not done.
    pub(crate) fn pending(&self, id: OperationId) -> bool {
        self.entries.contains_key(&id)
    }

    /// Whether the order of an operation and later ones matters: it is not done, or races are looked for and
    /// the host has not waited for it.
    pub(crate) fn matters(&self, id: OperationId) -> bool {
        self.pending(id) || self.races.as_ref().is_some_and(|races| races.order.get(id).is_some())
    }

    /// Notes that the host has waited for operations.
    pub(crate) fn host_waited(&mut self, ids: &[OperationId]) {
        if let Some(races) = &mut self.races {
            races.order.host_waited(ids);
            races.release_guards();
            if self.entries.is_empty() {
                races.forget_known();
            }
        }
    }

    /// Notes that the host has waited for what a device had to do.
    pub(super) fn host_waited_for_device(&mut self, clock: Option<&VectorClock>) {
        if let (Some(races), Some(clock)) = (&mut self.races, clock) {
            races.order.host_waited_for_device(clock);
        }
        self.host_waited(&[]);
    }

    /// Whether an operation is pending and it, or one of its dependencies, is more than a mark. If only marks
    /// are left, hardware is done at once.
    pub(crate) fn busy(&self, id: OperationId) -> bool {
        let (mut open, mut seen) = (vec![id], BTreeSet::new());
        while let Some(id) = open.pop() {
            let Some(entry) = self.entries.get(&id).filter(|_| seen.insert(id)) else { continue };
            match entry.work {
                Some(Work::Nothing | Work::Record(_)) => open.extend_from_slice(&entry.before),
                _ => return true,
            }
        }
        false
    }

    /// Whether an operation that is not done is one of these, or one that they come after.
    pub(crate) fn is_before(&self, earlier: OperationId, these: &[OperationId]) -> bool {
        let (mut open, mut seen) = (these.to_vec(), BTreeSet::new());
        while let Some(id) = open.pop() {
            if id == earlier {
                return true;
            }
            if let Some(entry) = self.entries.get(&id).filter(|_| seen.insert(id)) {
                open.extend_from_slice(&entry.before);
            }
        }
        false
    }

    /// The memset of an operation and its dependencies, if it is a pending memset.
    pub(crate) fn fill(&self, id: OperationId) -> Option<(&Fill, &[OperationId])> {
        let entry = self.entries.get(&id)?;
        if let Some(Work::Fill(fill)) = &entry.work { Some((fill, &entry.before)) } else { None }
    }

    /// Has the copies of an operation that have not run write to memory of this library.
    pub(super) fn discard_result(&mut self, id: OperationId) {
        match self.entries.get_mut(&id).and_then(|entry| entry.work.as_mut()) {
            Some(Work::Copy(copy)) => copy.discard_result(),
            Some(Work::Copies(copies)) => copies.iter_mut().for_each(Copy::discard_result),
            _ => {}
        }
    }

    /// Every operation of a device that is not done.
    pub(crate) fn on_device(&self, device: usize) -> Vec<OperationId> {
        self.entries.iter().filter(|entry| entry.1.device == device).map(|entry| *entry.0).collect()
    }

    /// Wants an operation, and so all that comes before it.
    pub(crate) fn want(&mut self, id: OperationId) {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if let Some(entry) = self.entries.get_mut(&id)
                && !entry.wanted
            {
                entry.wanted = true;
                open.extend_from_slice(&entry.before);
                self.unwanted.remove(&id);
                if self.idle.remove(&id) {
                    self.ready.insert((entry.turns, id));
                }
            }
        }
    }

    /// Wants every operation.
    pub(super) fn want_all(&mut self) {
        for id in self.unwanted.clone() {
            self.want(id);
        }
    }

    /// The unwanted operation that has been pending longest.
    fn first_unwanted(&self) -> Option<(OperationId, &Operation)> {
        let id = *self.unwanted.first()?;
        Some((id, self.entries.get(&id)?))
    }

    /// Whether an unwanted operation is overdue although the process has computed little since, by the time
    /// that its threads have `used`. The limit is the patience of the queue, and is longer if a seed is to
    /// repeat the run.
    pub(crate) fn overdue_by_the_clock_only(&self, now: Instant, used: Duration, longest: Duration) -> bool {
        let most = if matches!(self.schedule, Schedule::Random(_)) { longest } else { PATIENCE };
        self.first_unwanted().is_some_and(|(_, it)| it.submitted + PATIENCE <= now && used < it.used + most)
    }

    /// Wants overdue operations, and returns the time at which the next one becomes overdue.
    pub(crate) fn want_overdue(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let (id, due) = self.first_unwanted().map(|(id, entry)| (id, entry.submitted + PATIENCE))?;
            if due > now {
                return Some(due);
            }
            self.want(id);
        }
    }

    /// Takes the next wanted operation that may run. Operations with fewer turns go first, so that a polling
    /// kernel delays nothing. Among equals the late schedule prefers the last one queued, so that nothing
    /// runs first unless the program has ordered it.
    pub(crate) fn pick(&mut self) -> Option<Picked> {
        // Who asks in vain, and how often, is a matter of time: no number may be drawn for that.
        let least = self.ready.first()?.0;
        let (_, id) = match self.schedule {
            Schedule::Late => *self.ready.range(..=(least, OperationId::MAX)).next_back()?,
            Schedule::Eager => *self.ready.first()?,
            Schedule::Random(_) => *self.ready.iter().nth(self.random.below(self.ready.len()))?,
        };
        self.take(id)
    }

    /// In the random schedule: now and then takes any operation that may run, wanted or not.
    pub(crate) fn pick_at_random(&mut self) -> Option<Picked> {
        if !matches!(self.schedule, Schedule::Random(_)) || self.random.below(4) != 0 {
            return None;
        }
        let at = self.random.below(self.ready.len() + self.idle.len());
        let id = *self.ready.iter().map(|it| &it.1).chain(&self.idle).nth(at)?;
        self.take(id)
    }

    /// Whether some wanted operation may run.
    pub(crate) fn has_work(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether the last operation queued is the only unwanted one: the background thread does not know it
    /// yet.
    pub(crate) fn first_to_be_patient_with(&self) -> bool {
        self.unwanted.len() == 1 && self.unwanted.contains(&self.last)
    }

    /// How much of a kernel runs in one step.
    pub(crate) fn budget(&mut self) -> u64 {
        const FULL: u64 = 50_000;
        match self.schedule {
            Schedule::Random(_) => FULL >> self.random.below(12),
            Schedule::Late | Schedule::Eager => FULL,
        }
    }

    /// A number below another one in the random schedule.
    pub(crate) fn draw(&mut self, count: usize) -> Option<usize> {
        matches!(self.schedule, Schedule::Random(_)).then(|| self.random.below(count))
    }

    /// The number of processors that a kernel may use: one in the random schedule, which repeats its runs.
    pub(crate) fn processors(&self) -> usize {
        static ALL: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
        if matches!(self.schedule, Schedule::Random(_)) { 1 } else { *ALL }
    }

    /// Whether everything runs as soon as it can.
    pub(crate) fn eager(&self) -> bool {
        self.schedule == Schedule::Eager
    }

    /// Puts back an operation that has more to do.
    pub(crate) fn put_back(&mut self, id: OperationId, work: Work) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.work = Some(work);
            entry.turns += 1;
            self.may_run(id);
        }
    }

    /// Marks an operation as done.
    pub(crate) fn complete(&mut self, id: OperationId) {
        let Some(done) = self.entries.remove(&id) else { return };
        if let Some(races) = &mut self.races {
            races.functions.remove(&id);
        }
        self.grids.remove(&id);
        self.unwanted.remove(&id);
        for later in done.after {
            if let Some(entry) = self.entries.get_mut(&later) {
                entry.unmet = entry.unmet.saturating_sub(1);
                if entry.unmet == 0 {
                    self.may_run(later);
                }
            }
        }
    }

    fn take(&mut self, id: OperationId) -> Option<Picked> {
        let entry = self.entries.get_mut(&id)?;
        self.ready.remove(&(entry.turns, id));
        self.idle.remove(&id);
        let work = entry.work.take()?;
        let (device, call, line) = (entry.device, entry.call, entry.line);
        if let Some(races) = &self.races
            && let Some(operation) = races.order.get(id)
        {
            work.protect(races, operation);
        }
        Some(Picked { id, device, call, line, work })
    }
}

/// Splitmix64.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut Queue, before: &[OperationId]) -> OperationId {
        queue.push(0, "test", Work::Nothing, before)
    }

    fn run(queue: &mut Queue) -> Vec<OperationId> {
        let mut ran = Vec::new();
        while let Some(picked) = queue.pick() {
            queue.complete(picked.id);
            ran.push(picked.id);
        }
        ran
    }

    #[test]
    fn late_runs_only_what_the_wanted_operation_needs() {
        let mut queue = Queue::new(Schedule::Late);
        let a = push(&mut queue, &[]);
        let other = push(&mut queue, &[]);
        let b = push(&mut queue, &[a]);
        let later = push(&mut queue, &[b]);
        assert_eq!(run(&mut queue), [0_u64; 0]);
        queue.want(b);
        assert_eq!(run(&mut queue), [a, b]);
        assert!(queue.pending(other) && queue.pending(later) && !queue.pending(b));
    }

    #[test]
    fn what_is_put_off_comes_after_a_later_one_which_is_wanted_as_it_is() {
        let mut queue = Queue::new(Schedule::Late);
        let a = push(&mut queue, &[]);
        let behind = push(&mut queue, &[a]);
        let later = push(&mut queue, &[]);
        queue.want(a);
        queue.put_off(a, later);
        assert_eq!(run(&mut queue), [later, a]);
        queue.want(behind);
        assert_eq!(run(&mut queue), [behind]);
    }

    #[test]
    fn marks_alone_are_nothing_to_do() {
        let mut queue = Queue::new(Schedule::Late);
        let record = Work::Record(crate::stream::Record { event: 0 });
        let a = queue.push(0, "test", record, &[]);
        let b = push(&mut queue, &[a]);
        assert!(queue.pending(b) && !queue.busy(b));
        let real = queue.push(0, "test", Work::Copies(Vec::new()), &[b]);
        let c = push(&mut queue, &[b, real]);
        assert!(queue.busy(c) && queue.busy(real) && !queue.busy(b) && !queue.busy(99));
        queue.want(c);
        run(&mut queue);
        assert!(!queue.busy(c));
    }

    #[test]
    fn an_operation_waits_for_all_that_it_comes_after() {
        let mut queue = Queue::new(Schedule::Eager);
        let (a, b) = (push(&mut queue, &[]), push(&mut queue, &[]));
        let c = push(&mut queue, &[a, b, a]);
        let first = queue.pick().unwrap();
        assert_eq!(first.id, a);
        queue.complete(a);
        let second = queue.pick().unwrap();
        assert_eq!(second.id, b);
        assert!(queue.pick().is_none(), "c ran before b was done");
        queue.complete(b);
        assert_eq!(run(&mut queue), [c]);
    }

    #[test]
    fn what_is_put_back_lets_the_others_go_first() {
        let mut queue = Queue::new(Schedule::Eager);
        let (a, b) = (push(&mut queue, &[]), push(&mut queue, &[]));
        let picked = queue.pick().unwrap();
        assert_eq!(picked.id, a);
        queue.put_back(a, picked.work);
        assert_eq!(queue.pick().unwrap().id, b);
        assert_eq!(queue.pick().unwrap().id, a);
    }

    #[test]
    fn late_runs_what_nothing_orders_in_the_reverse_of_how_it_was_queued() {
        let mut queue = Queue::new(Schedule::Late);
        let (a, b, c) = (push(&mut queue, &[]), push(&mut queue, &[]), push(&mut queue, &[]));
        let after_c = push(&mut queue, &[c]);
        for id in [a, b, after_c] {
            queue.want(id);
        }
        assert_eq!(run(&mut queue), [c, after_c, b, a]);
    }

    #[test]
    fn what_has_waited_long_enough_is_wanted_and_the_rest_is_due_later() {
        let mut queue = Queue::new(Schedule::Late);
        let a = push(&mut queue, &[]);
        let now = Instant::now();
        let due = queue.want_overdue(now).unwrap();
        assert!(due > now && due <= now + PATIENCE);
        assert!(queue.pick().is_none());
        assert_eq!(queue.want_overdue(now + PATIENCE), None);
        assert_eq!(run(&mut queue), [a]);
    }

    #[test]
    fn a_process_that_has_computed_little_is_late_by_the_clock_only_and_with_a_seed_may_have_computed_much() {
        let (second, much) = (Duration::from_secs(1), Duration::from_millis(200));
        for (schedule, patient) in [(Schedule::Late, false), (Schedule::Random(1), true)] {
            let mut queue = Queue::new(schedule);
            let (now, used) = (Instant::now(), thread::processor_time());
            assert!(!queue.overdue_by_the_clock_only(now + second, used, second), "nothing is late");
            let id = push(&mut queue, &[]);
            assert!(!queue.overdue_by_the_clock_only(now, used, second), "it is too early to be late");
            assert!(queue.overdue_by_the_clock_only(now + second, used, second));
            assert_eq!(queue.overdue_by_the_clock_only(now + second, used + much, second), patient);
            assert!(!queue.overdue_by_the_clock_only(now + second, used + 5 * second, second));
            queue.want(id);
            assert!(!queue.overdue_by_the_clock_only(now + second, used, second), "somebody wants it");
        }
    }

    #[test]
    fn a_seed_repeats_its_order_and_seeds_differ() {
        let order_after = |seed, asked_in_vain| {
            let mut queue = Queue::new(Schedule::Random(seed));
            for _ in 0..asked_in_vain {
                assert!(queue.pick().is_none());
            }
            let all: Vec<_> = (0..8).map(|_| push(&mut queue, &[])).collect();
            for id in all {
                queue.want(id);
            }
            run(&mut queue)
        };
        let order = |seed| order_after(seed, 0);
        assert_eq!(order(1), order(1));
        assert_eq!(order(1), order_after(1, 5));
        assert!((2..20).any(|seed| order(seed) != order(1)));
    }

    #[test]
    fn a_seed_gives_the_same_numbers_again_and_another_gives_others() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..20).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
        assert!(draw(5).iter().all(|n| *n < 1000));
    }
}
