//! Clocks: for each thread of the launch, the time until which its accesses happened before.

use std::sync::Arc;

use super::times::Times;

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

/// What a thread knows to have happened before.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// All accesses of all threads before this time.
    pub(super) all: u32,
    pub(super) block: u32,
    pub(super) own: Times,
    /// Of other blocks.
    pub(super) others: Others,
}

impl Clock {
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

    /// Whether it has what lanes of a warp of a block did before a time.
    pub(super) fn covers_lanes(&self, block: u32, (warp, lanes, time): (usize, u32, u32)) -> bool {
        let all = 0;
        lanes == 0
            || time == 0
            || self.of(block).is_some_and(|it| it.covers(&Times::Lanes { all, warp, lanes, time }))
    }

    pub(super) fn join_block(&mut self, block: u32, times: &Times, threads: usize) {
        if block == self.block {
            return self.own.join(times, threads);
        }
        self.others.join(block, times, threads);
    }

    pub(super) fn join_others(&mut self, others: &Others, threads: usize) {
        if Arc::ptr_eq(&self.others.0, &others.0) || others.0.is_empty() {
            return;
        }
        if self.others.0.is_empty() && others.of(self.block).is_none() {
            self.others = others.clone();
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

    /// Adds what lanes of a warp of a block did before a time.
    pub(super) fn join_lanes(
        &mut self,
        clock: &mut Clock,
        block: u32,
        (warp, lanes, time): (usize, u32, u32),
    ) {
        self.work += 1;
        clock.join_block(block, &Times::Lanes { all: 0, warp, lanes, time }, self.threads);
    }

    /// The later of two clocks.
    pub(super) fn joined(&mut self, a: &Arc<Clock>, b: &Arc<Clock>) -> Arc<Clock> {
        if Arc::ptr_eq(a, b) || a.covers(b) {
            return Arc::clone(a);
        }
        let mut all = (**a).clone();
        self.join(&mut all, b);
        Arc::new(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::file::LANES;

    const THREADS: usize = 3 * LANES;

    #[test]
    fn clocks_that_share_parts_know_the_times_of_every_block() {
        let clock = |block, time| Clock { all: 0, block, own: Times::All(time), others: Others::default() };
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
