//! Clocks: for each thread of the launch, the time until which its accesses happened before.

use std::sync::Arc;

use super::times::Times;
use crate::exec::file::LANES;

/// How many blocks a part of [`Others`] has.
pub(super) const PART: u32 = 32;

pub(super) type Part = Arc<Vec<(u32, Times)>>;

/// Times of blocks, by their numbers, in parts. Clocks that differ in a few blocks share the other parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Others(pub(super) Arc<Vec<Part>>);

impl Others {
    pub(super) fn find(&self, block: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&Some(block / PART), |part| part.first().map(|it| it.0 / PART))
    }

    pub(super) fn of(&self, block: u32) -> Option<&Times> {
        let part = &self.0[self.find(block).ok()?];
        let at = part.binary_search_by_key(&block, |it| it.0).ok()?;
        part.get(at).map(|it| &it.1)
    }

    /// Whether it has this very part.
    pub(super) fn shares(&self, part: &Part) -> bool {
        let at = part.first().and_then(|it| self.find(it.0).ok());
        at.is_some_and(|at| Arc::ptr_eq(&self.0[at], part))
    }

    fn covers(&self, other: &Self) -> bool {
        let covers = |(block, times): &(u32, Times)| self.of(*block).is_some_and(|own| own.covers(times));
        Arc::ptr_eq(&self.0, &other.0)
            || other.0.iter().all(|part| self.shares(part) || part.iter().all(covers))
    }

    pub(super) fn join(&mut self, block: u32, times: &Times, threads: usize) {
        let at = match self.find(block) {
            Ok(at) => at,
            Err(at) => return Arc::make_mut(&mut self.0).insert(at, Arc::new(vec![(block, times.clone())])),
        };
        let place = self.0[at].binary_search_by_key(&block, |it| it.0);
        if place.is_ok_and(|place| self.0[at][place].1.covers(times)) {
            return;
        }
        let part = Arc::make_mut(&mut Arc::make_mut(&mut self.0)[at]);
        match place {
            Ok(place) => part[place].1.join(times, threads),
            Err(place) => part.insert(place, (block, times.clone())),
        }
    }
}

/// What lanes of a warp did before a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneTime {
    pub(super) block: u32,
    pub(super) warp: usize,
    pub(super) lanes: u32,
    pub(super) time: u32,
}

impl LaneTime {
    /// Whether it is of one lane, and the other of the same.
    fn is_of(&self, lane: &Self) -> bool {
        let of = |it: &Self| (it.block, it.warp, it.lanes);
        self.lanes.is_power_of_two() && of(self) == of(lane)
    }
}

/// The release of a chain, and how many came before it.
pub(super) type Position = (u64, u32);

/// What a thread knows to have happened before.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Lanes that know it, and since when. Whoever knows of a later release by one of them knows it, too.
    pub(super) by: LaneTime,
    /// If it is what they knew before and one chain: since when, and up to where.
    pub(super) from: Option<(LaneTime, Position)>,
    /// The chains that it has, up to which releases.
    pub(super) chains: [Position; 2],
    /// All accesses of all threads before this time.
    pub(super) all: u32,
    pub(super) block: u32,
    pub(super) own: Times,
    /// Of other blocks.
    pub(super) others: Others,
}

impl Clock {
    /// Of a block that starts.
    pub(super) fn new(block: u32) -> Self {
        let by = LaneTime { block, warp: 0, lanes: u32::MAX, time: 0 };
        let (own, others) = (Times::All(0), Others::default());
        Self { by, from: None, chains: [(0, 0); 2], all: 0, block, own, others }
    }

    /// The same, of which is not known who has it.
    pub(super) fn of_nobody(&self) -> Self {
        Self { by: LaneTime { lanes: 0, ..self.by }, from: None, ..self.clone() }
    }

    /// Up to which release it surely has a chain.
    pub(super) fn position(&self, chain: u64) -> u32 {
        self.chains.iter().find(|it| it.0 == chain && chain != 0).map_or(0, |it| it.1)
    }

    /// Notes that it has a chain.
    pub(super) fn note(&mut self, it: Position) {
        if self.chains[0].0 != it.0 {
            self.chains.swap(0, 1);
        }
        self.chains[0] = it;
    }

    /// Whether it has all of another clock, by who has that one or by how that one came about.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let knows = |by: LaneTime| match by.time {
            0 => by.lanes != 0,
            time => self.knows(&LaneTime { time: time.saturating_add(1), ..by }),
        };
        let from = |(by, (chain, end)): (LaneTime, Position)| knows(by) && self.position(chain) >= end;
        knows(other.by) || other.from.is_some_and(from)
    }

    /// What it takes to join it.
    pub(super) fn size(&self, threads: usize) -> usize {
        let own = if let Times::Each(_) = self.own { 1 + threads / 16 } else { 1 };
        let Others(parts) = &self.others;
        own + parts.len() + parts.first().map_or(0, |part| part.len())
    }

    pub(super) fn of(&self, block: u32) -> Option<&Times> {
        if block == self.block { Some(&self.own) } else { self.others.of(block) }
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        let covers = |block, times: &Times| self.of(block).is_some_and(|own| own.covers(times));
        let part =
            |part: &Part| self.others.shares(part) || part.iter().all(|(block, times)| covers(*block, times));
        self.all >= other.all
            && (other.own.is_never() || covers(other.block, &other.own))
            && (Arc::ptr_eq(&self.others.0, &other.others.0) || other.others.0.iter().all(part))
    }

    /// Whether it has what all of these lanes did.
    pub(super) fn covers_lanes(&self, &LaneTime { block, warp, lanes, time }: &LaneTime) -> bool {
        let its = Times::Lanes { all: 0, warp, lanes, time };
        lanes != 0 && time != 0 && self.of(block).is_some_and(|it| it.covers(&its))
    }

    /// Whether it has what one of these lanes did.
    fn knows(&self, &LaneTime { block, warp, lanes, time }: &LaneTime) -> bool {
        let thread = u16::try_from(warp * LANES + lanes.trailing_zeros() as usize).unwrap_or(u16::MAX);
        lanes != 0 && time != 0 && self.of(block).is_some_and(|it| it.of(thread) >= time)
    }

    /// Whether an access of a thread happened before.
    pub(super) fn is_after(&self, (block, thread): (u32, u16), epoch: u32) -> bool {
        epoch < self.all || self.of(block).is_some_and(|times| epoch < times.of(thread))
    }

    pub(super) fn join_block(&mut self, block: u32, times: &Times, threads: usize) {
        if block == self.block {
            return self.own.join(times, threads);
        }
        self.others.join(block, times, threads);
    }

    /// Joins the times of other blocks. Of two that are the same, one is left, so that clocks share it.
    fn join_others(&mut self, others: &Others, threads: usize) {
        if self.others.covers(others) {
            return;
        }
        if others.covers(&self.others) {
            self.others.clone_from(others);
            if let Some(own) = others.of(self.block) {
                self.own.join(own, threads);
            }
            return;
        }
        for part in &*others.0 {
            if !self.others.shares(part) {
                part.iter().for_each(|(block, times)| self.join_block(*block, times, threads));
            }
        }
    }

    pub(super) fn join(&mut self, other: &Self, threads: usize) {
        self.all = self.all.max(other.all);
        self.join_others(&other.others, threads);
        if !other.own.is_never() {
            self.join_block(other.block, &other.own, threads);
        }
    }
}

/// How the clocks of a launch are joined.
#[derive(Debug, Default)]
pub(super) struct Joins {
    pub(super) now: u32,
    /// The threads of a block.
    pub(super) threads: usize,
    /// The size of all clocks that were joined.
    pub(super) work: usize,
}

impl Joins {
    pub(super) fn join(&mut self, clock: &mut Clock, other: &Clock) {
        self.work += other.size(self.threads);
        clock.join(other, self.threads);
    }

    /// Adds what lanes did, and what they knew, unless it has that. Returns whether it had less.
    pub(super) fn join_release(&mut self, all: &mut Clock, known: &Clock, lanes: &LaneTime) -> bool {
        self.work += 1;
        if lanes.is_of(&all.by) {
            return false;
        }
        // Whoever knows what a lane did has what it knew.
        let is_new = !all.knows(lanes) && self.join_known(all, known);
        let LaneTime { block, warp, lanes: of, time } = *lanes;
        let is_later = of != 0 && time != 0 && !all.covers_lanes(lanes);
        if is_later {
            all.join_block(block, &Times::Lanes { all: 0, warp, lanes: of, time }, self.threads);
        }
        is_new || is_later
    }

    /// Adds a clock, unless it has that. Returns whether it had less.
    pub(super) fn join_known(&mut self, all: &mut Clock, known: &Clock) -> bool {
        let is_new = !all.includes(known);
        if is_new {
            self.join(all, known);
        }
        is_new
    }

    /// The later of two clocks.
    pub(super) fn joined(&mut self, a: &Arc<Clock>, b: &Arc<Clock>) -> Arc<Clock> {
        if Arc::ptr_eq(a, b) || a.includes(b) || a.covers(b) {
            return Arc::clone(a);
        }
        let mut all = a.of_nobody();
        self.join(&mut all, b);
        Arc::new(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: usize = 3 * LANES;

    #[test]
    fn clocks_that_share_parts_know_the_times_of_every_block() {
        let clock = |block, time| Clock { own: Times::All(time), ..Clock::new(block) };
        let mut first = clock(500, 1);
        for block in (0..100).rev() {
            first.join(&clock(block, block + 1), THREADS);
        }
        let mut second = first.clone();
        second.join(&clock(40, 1000), THREADS);
        assert_eq!((first.of(40).unwrap().of(0), second.of(40).unwrap().of(0)), (41, 1000));
        assert!(
            Arc::ptr_eq(&first.others.0[0], &second.others.0[0]),
            "blocks that did not change are shared"
        );
        assert!(second.covers(&first) && !first.covers(&second));
        let mut third = clock(41, 7);
        third.join(&second, THREADS);
        assert_eq!(third.own.of(0), 42, "what the others know of its own block");
        assert!((0..100).all(|block| third.of(block).is_some_and(|it| it.of(0) > block)));
        assert!(third.of(200).is_none() && third.of(500).is_some());
    }
}
