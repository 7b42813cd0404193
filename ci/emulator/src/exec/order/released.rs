//! What strong writes release, by address. A chain of atomic operations at an address is joined only for a
//! thread that acquires it, or when it is long: most never are.

use std::sync::Arc;

use super::clock::{Clock, Joins, LaneTime, Position};
use crate::exec::address_map::AddressMap;

/// The most releases of a chain that are not joined.
const CHAIN: usize = 16;

/// What lanes of a warp have released: what was before a fence of theirs, and what they go on with.
#[derive(Debug)]
struct Released {
    before: Option<Release>,
    clock: Arc<Clock>,
    block: u32,
    warp: usize,
    /// Until when the lanes' own accesses are released.
    time: u32,
    /// How many releases before it are not joined.
    length: usize,
}

/// A release by these lanes.
#[derive(Clone, Debug)]
pub(super) struct Release {
    it: Arc<Released>,
    pub(super) lanes: u32,
    /// Its chain has a number, and it has one in the chain, of which it may be a part.
    position: Position,
    is_part: bool,
}

impl Release {
    pub(super) fn new(clock: Arc<Clock>, LaneTime { block, warp, lanes, time }: LaneTime) -> Self {
        let it = Released { before: None, clock, block, warp, time, length: 0 };
        Self { it: Arc::new(it), lanes, position: (0, 0), is_part: false }
    }

    /// This one, after another at the same address. With `instead`, it has all of that one.
    pub(super) fn after(self, old: Option<Self>, instead: bool, chain: u64, joins: &mut Joins) -> Self {
        let position = (chain, 1 + old.as_ref().map_or(0, |old| old.position.1));
        let Some(mut before) = old.filter(|old| !instead && !old.is_in(&self.it.clock)) else {
            return Self { position, ..self };
        };
        if before.it.length >= CHAIN {
            let Self { position, is_part, .. } = before;
            before = Self { position, is_part, ..before.joined(std::iter::empty(), joins) };
        }
        let Released { ref clock, block, warp, time, .. } = *self.it;
        let (clock, length) = (Arc::clone(clock), before.it.length + 1);
        let it = Released { before: Some(before), clock, block, warp, time, length };
        Self { it: Arc::new(it), position, ..self }
    }

    /// It and others as one, without what is before it.
    pub(super) fn joined<'a>(&self, others: impl Iterator<Item = &'a Self>, joins: &mut Joins) -> Self {
        let mut all = Clock { chains: Default::default(), ..self.it.clock.of_nobody() };
        self.add_to(&mut all, joins);
        for other in others {
            other.add_to(&mut all, joins);
        }
        Self::new(Arc::new(all), LaneTime { lanes: 0, time: 0, ..self.lane_time() })
    }

    /// The same by other lanes, if it is what they release, too: the accesses before this fence.
    pub(super) fn by(&self, clock: &Arc<Clock>, lanes: u32, time: u32) -> Option<Self> {
        let same = Arc::ptr_eq(&self.it.clock, clock) && self.it.time == time && self.it.before.is_none();
        same.then(|| Self { it: Arc::clone(&self.it), lanes, ..*self })
    }

    /// Whether it is by the lanes of an earlier one that goes on with nothing, and not of an older fence.
    pub(super) fn is_instead(&self, old: &Self) -> bool {
        let of = |it: &Self| (it.it.block, it.it.warp, it.lanes);
        old.it.before.is_none() && of(self) == of(old) && old.it.time <= self.it.time
    }

    /// What a lane finds of it if the lanes come one after another.
    pub(super) fn below(&self, lane: usize) -> Self {
        Self { lanes: self.lanes & ((1 << lane) - 1), is_part: true, ..self.clone() }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.it, &other.it) && self.lanes == other.lanes
    }

    /// The lanes' own accesses.
    fn lane_time(&self) -> LaneTime {
        let Released { block, warp, time, .. } = *self.it;
        LaneTime { block, warp, lanes: self.lanes, time }
    }

    /// Whether a clock surely has all of it.
    fn is_in(&self, clock: &Clock) -> bool {
        let (chain, at) = self.position;
        chain != 0 && clock.position(chain) >= at
            || self.it.before.is_none() && clock.covers_lanes(&self.lane_time())
    }

    /// Adds all of it to a clock. Returns whether the clock had less.
    fn add_to(&self, all: &mut Clock, joins: &mut Joins) -> bool {
        let (mut links, mut next) = (Vec::with_capacity(CHAIN + 1), Some(self));
        // What a later release has acquired of the chain need not be looked at.
        let (chain, mut end, mut latest) = (self.position.0, 0, self);
        while let Some(link) = next {
            let (of, at) = link.position;
            if of != 0 && at <= all.position(of).max(if of == chain { end } else { 0 }) {
                break;
            }
            if link.it.clock.position(chain) > end {
                (end, latest) = (link.it.clock.position(chain), link);
            }
            links.push(link);
            next = link.it.before.as_ref();
        }
        let mut is_new = false;
        if end > all.position(chain) {
            is_new = joins.join_known(all, &latest.it.clock);
            all.note((chain, end));
        }
        for link in links.into_iter().rev() {
            is_new |= joins.join_release(all, &link.it.clock, &link.lane_time());
            if link.position.0 != 0 && !link.is_part {
                all.note(link.position);
            }
        }
        is_new
    }

    /// What lanes know if they acquire it, if that is more.
    pub(super) fn acquired(&self, clock: &Arc<Clock>, by: LaneTime, joins: &mut Joins) -> Option<Arc<Clock>> {
        if self.is_in(clock) {
            return None;
        }
        let from = (self.position.0 != 0).then_some((clock.by, self.position));
        let mut all = Clock { by, from, ..(**clock).clone() };
        self.add_to(&mut all, joins).then(|| Arc::new(all))
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

    const THREADS: usize = 2 * LANES;

    fn known(block: u32) -> Arc<Clock> {
        Arc::new(Clock::new(block).of_nobody())
    }

    fn by(block: u32, warp: usize, lanes: u32, time: u32) -> LaneTime {
        LaneTime { block, warp, lanes, time }
    }

    /// What a thread of a block that has released nothing knows of it.
    fn found(release: &Release, joins: &mut Joins) -> Arc<Clock> {
        release.acquired(&known(u32::MAX), by(u32::MAX, 0, 1, 1), joins).unwrap()
    }

    fn time(clock: &Clock, block: u32, thread: u16) -> u32 {
        clock.of(block).map_or(0, |it| it.of(thread))
    }

    #[test]
    fn a_chain_has_what_each_of_its_lanes_has_released_and_no_more() {
        let mut joins = Joins { threads: THREADS, ..Joins::default() };
        let links = 3 * u32::try_from(CHAIN).unwrap() + 5;
        let lanes = |link: u32| 1 << (link % 32) | 1;
        let mut chain: Option<Release> = None;
        let mut all = Vec::new();
        for link in 0..links {
            let new = Release::new(known(link / 4), by(link / 4, link as usize % 2, lanes(link), link + 1));
            chain = Some(new.after(chain, false, 1, &mut joins));
            all.extend(chain.clone());
        }
        // What is found last is joined first: what others have found earlier stays as it was.
        for (at, release) in all.iter().enumerate().rev().step_by(7) {
            let clock = found(release, &mut joins);
            for link in 0..links {
                let thread =
                    u16::try_from(link as usize % 2 * LANES).unwrap() + u16::try_from(link % 32).unwrap();
                let its = time(&clock, link / 4, thread);
                assert_eq!(its > link, link as usize <= at, "link {link} of {at}");
            }
            assert!(release.acquired(&clock, clock.by, &mut joins).is_none(), "it has all of it");
        }
    }

    #[test]
    fn a_lane_finds_what_the_lanes_below_it_have_released() {
        let mut joins = Joins { threads: THREADS, ..Joins::default() };
        let first = Release::new(known(7), by(7, 0, 1, 5)).after(None, false, 1, &mut joins);
        let several = Release::new(known(8), by(8, 1, 0xF0, 9)).after(Some(first), false, 1, &mut joins);
        for (lane, until) in [(4, 4), (6, 6), (31, 8)] {
            let clock = found(&several.below(lane), &mut joins);
            assert_eq!(time(&clock, 7, 0), 5);
            for other in 0..32 {
                let its = if (4..until).contains(&other) { 9 } else { 0 };
                assert_eq!(time(&clock, 8, 32 + other), its, "lane {lane} of lane {other}");
            }
        }
        let part = found(&several.below(6), &mut joins);
        let all = several.acquired(&part, by(u32::MAX, 0, 1, 2), &mut joins).unwrap();
        assert_eq!((time(&part, 8, 38), time(&all, 8, 38)), (0, 9), "a part is not the whole");
        let own = several.acquired(&known(8), by(8, 1, 0xF0, 12), &mut joins).unwrap();
        assert_eq!(time(&own, 8, 38), 9, "of several lanes each learns what the others did");
    }

    #[test]
    fn several_as_one_are_more_than_the_first() {
        let mut joins = Joins { threads: THREADS, ..Joins::default() };
        let release = |block, time| Release::new(known(block), by(block, 0, 1, time));
        let first = release(1, 3).after(None, false, 1, &mut joins);
        let second = release(2, 4).after(None, false, 2, &mut joins);
        let both = first.joined(std::iter::once(&second), &mut joins);
        let one = found(&first, &mut joins);
        let all = both.acquired(&one, one.by, &mut joins).unwrap();
        assert_eq!((time(&one, 2, 0), time(&all, 1, 0), time(&all, 2, 0)), (0, 3, 4));
    }
}
