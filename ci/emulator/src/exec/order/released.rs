//! What strong writes release, by address. A chain of atomic operations at an address is joined only for a
//! thread that acquires it: most never are.

use std::sync::{Arc, OnceLock};

use super::clock::{Clock, Joins};
use crate::exec::address_map::AddressMap;

/// The most releases of a chain that are not joined.
const CHAIN: u32 = 256;

/// What lanes of a warp have released: what was before a fence of theirs, and what they go on with.
#[derive(Debug)]
struct Released {
    before: Option<Release>,
    clock: Arc<Clock>,
    warp: usize,
    /// Until when the lanes' own accesses are released.
    time: u32,
    /// How many releases before it are not joined.
    length: u32,
    /// All of it but the lanes' own accesses, once a thread has asked.
    joined: OnceLock<Arc<Clock>>,
}

/// A release by these lanes.
#[derive(Clone, Debug)]
pub(super) struct Release {
    it: Arc<Released>,
    pub(super) lanes: u32,
}

impl Release {
    pub(super) fn new(clock: Arc<Clock>, warp: usize, lanes: u32, time: u32) -> Self {
        let (before, joined) = (None, OnceLock::new());
        Self { it: Arc::new(Released { before, clock, warp, time, length: 0, joined }), lanes }
    }

    /// This one, after another at the same address.
    pub(super) fn after(self, mut before: Self, joins: &mut Joins) -> Self {
        let Self { it, lanes } = self;
        if before.it.length >= CHAIN {
            before = Self::new(before.clock(joins), before.it.warp, 0, 0);
        }
        let Released { warp, time, .. } = *it;
        let (clock, length) = (Arc::clone(&it.clock), before.it.length + 1);
        let it = Released { before: Some(before), clock, warp, time, length, joined: OnceLock::new() };
        Self { it: Arc::new(it), lanes }
    }

    /// The same by other lanes, if it is what they release, too: the accesses before this fence.
    pub(super) fn by(&self, clock: &Arc<Clock>, lanes: u32, time: u32) -> Option<Self> {
        let same = Arc::ptr_eq(&self.it.clock, clock) && self.it.time == time && self.it.before.is_none();
        same.then(|| Self { it: Arc::clone(&self.it), lanes })
    }

    /// Whether these very lanes have released it, and go on with nothing.
    pub(super) fn is_alone(&self, block: u32, warp: usize, lanes: u32) -> bool {
        self.it.before.is_none() && (self.it.clock.block, self.it.warp, self.lanes) == (block, warp, lanes)
    }

    /// What a lane finds of it if the lanes come one after another.
    pub(super) fn below(&self, lane: usize) -> Self {
        Self { it: Arc::clone(&self.it), lanes: self.lanes & ((1 << lane) - 1) }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.it, &other.it) && self.lanes == other.lanes
    }

    /// All of it but the lanes' own accesses.
    pub(super) fn without_lanes(&self, joins: &mut Joins) -> Arc<Clock> {
        let mut chain = Vec::new();
        let mut last = self;
        while last.it.joined.get().is_none()
            && let Some(before) = &last.it.before
        {
            chain.push(last);
            last = before;
        }
        let known = last.it.joined.get_or_init(|| Arc::clone(&last.it.clock));
        if chain.is_empty() {
            return Arc::clone(known);
        }
        let mut all = (**known).clone();
        for next in chain.into_iter().rev() {
            last.add_lanes(&mut all, joins);
            joins.join(&mut all, &next.it.clock);
            last = next;
        }
        Arc::clone(self.it.joined.get_or_init(|| Arc::new(all)))
    }

    fn add_lanes(&self, clock: &mut Clock, joins: &mut Joins) {
        if self.it.time != 0 && self.lanes != 0 {
            joins.join_lanes(clock, self.it.clock.block, (self.it.warp, self.lanes, self.it.time));
        }
    }

    /// All of it.
    pub(super) fn clock(&self, joins: &mut Joins) -> Arc<Clock> {
        let known = self.without_lanes(joins);
        self.join_to(&known, joins).unwrap_or(known)
    }

    /// A clock with all of it, or none if the clock has it.
    pub(super) fn join_to(&self, clock: &Arc<Clock>, joins: &mut Joins) -> Option<Arc<Clock>> {
        let known = self.without_lanes(joins);
        let covers = Arc::ptr_eq(clock, &known) || clock.covers(&known);
        let Released { warp, time, .. } = *self.it;
        if covers && clock.covers_lanes(self.it.clock.block, (warp, self.lanes, time)) {
            return None;
        }
        let mut all = (**clock).clone();
        if !covers {
            joins.join(&mut all, &known);
        }
        self.add_lanes(&mut all, joins);
        Some(Arc::new(all))
    }
}

/// What the last write to an address has released.
#[derive(Debug)]
pub(super) struct Location {
    /// For all threads.
    pub(super) wide: Option<Release>,
    /// For those of one block.
    pub(super) near: Option<Box<(u32, Release)>>,
    /// The thread that wrote.
    pub(super) by: (u32, u16),
    /// The number of the chain: while it is the same, later releases have what earlier ones had.
    pub(super) chain: u64,
}

/// What was released, by address.
pub(super) type Locations = AddressMap<Location>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::file::LANES;
    use crate::exec::order::clock::Others;
    use crate::exec::order::times::Times;

    const THREADS: usize = 2 * LANES;

    fn known(block: u32) -> Arc<Clock> {
        Arc::new(Clock { all: 0, block, own: Times::All(0), others: Others::default() })
    }

    fn time(clock: &Clock, block: u32, thread: u16) -> u32 {
        clock.of(block).map_or(0, |it| it.of(thread))
    }

    #[test]
    fn a_chain_has_what_each_of_its_lanes_has_released_and_no_more() {
        let mut joins = Joins { threads: THREADS, work: 0 };
        let links = 3 * CHAIN + 5;
        let lanes = |link: u32| 1 << (link % 32) | 1;
        let mut chain: Option<Release> = None;
        let mut found = Vec::new();
        for link in 0..links {
            let new = Release::new(known(link / 4), link as usize % 2, lanes(link), link + 1);
            chain = Some(match chain {
                Some(old) => new.after(old, &mut joins),
                None => new,
            });
            found.extend(chain.clone());
        }
        // What is found last is joined first: what others have found earlier stays as it was.
        for (at, found) in found.iter().enumerate().rev().step_by(7) {
            let clock = found.clock(&mut joins);
            for link in 0..links {
                let thread =
                    u16::try_from(link as usize % 2 * LANES).unwrap() + u16::try_from(link % 32).unwrap();
                let its = time(&clock, link / 4, thread);
                assert_eq!(its > link, link as usize <= at, "link {link} of {at}");
            }
            assert!(found.join_to(&clock, &mut joins).is_none(), "it has all of it");
        }
    }

    #[test]
    fn a_lane_finds_what_the_lanes_below_it_have_released() {
        let mut joins = Joins { threads: THREADS, work: 0 };
        let first = Release::new(known(7), 0, 1, 5);
        let several = Release::new(known(8), 1, 0xF0, 9).after(first, &mut joins);
        for (lane, until) in [(4, 4), (6, 6), (31, 8)] {
            let clock = several.below(lane).clock(&mut joins);
            assert_eq!(time(&clock, 7, 0), 5);
            for other in 0..32 {
                let its = if (4..until).contains(&other) { 9 } else { 0 };
                assert_eq!(time(&clock, 8, 32 + other), its, "lane {lane} of lane {other}");
            }
        }
        assert_eq!(time(&several.without_lanes(&mut joins), 8, 36), 0);
    }
}
