//! What the lanes of a warp know to have happened before, what their fences release, and what they have read.

use std::sync::Arc;

use super::clock::{Clock, Joins, LaneTime};
use super::released::Release;
use crate::exec::file::{LANES, lanes};

/// The most reads of lanes that are remembered before they are joined.
const MOST: usize = 8;

/// Lanes of a warp that know the same.
#[derive(Clone, Debug)]
pub(super) struct LaneGroup {
    pub(super) lanes: u32,
    pub(super) clock: Arc<Clock>,
}

/// A fence of some lanes: what was before it. With `wide`, it reaches beyond the block.
#[derive(Clone, Debug)]
pub(super) struct Fenced {
    pub(super) lanes: u32,
    pub(super) wide: bool,
    pub(super) clock: Arc<Clock>,
    pub(super) time: u32,
}

/// What some lanes have read by strong accesses, and not yet acquired.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) lanes: u32,
    /// Whether their own block wrote it, so that a fence of the block is enough.
    pub(super) near: bool,
    pub(super) release: Release,
    /// Whether each lane has found only what the lanes below it have released.
    pub(super) below: bool,
    /// Where it was. What is found there later has this, too.
    pub(super) source: u64,
}

impl Observed {
    /// What one of the lanes has found.
    fn of(&self, lane: usize) -> Self {
        let release = if self.below { self.release.below(lane) } else { self.release.clone() };
        Self { lanes: 1 << lane, release, below: false, ..*self }
    }

    fn is_in(&self, new: &Self) -> bool {
        self.source == new.source && self.near <= new.near
    }
}

/// The order of one warp.
#[derive(Debug)]
pub(super) struct WarpOrder {
    /// Its block, and its number there.
    pub(super) at: (u32, usize),
    pub(super) epoch: u32,
    /// Each lane is in one of them.
    pub(super) groups: Vec<LaneGroup>,
    pub(super) fences: Vec<Fenced>,
    /// What lanes have found: a few of all of them, and more of each.
    together: Vec<Observed>,
    alone: Vec<Vec<Observed>>,
    /// The lanes that have found something alone.
    found: u32,
    /// The lanes that have made a fence for the whole system.
    pub(super) system: u32,
    /// The epoch from which on its writes are not behind a `fence.proxy.async` of its own.
    pub(super) proxy: u32,
}

impl WarpOrder {
    pub(super) fn new(at: (u32, usize), epoch: u32, clock: Arc<Clock>) -> Self {
        Self {
            at,
            epoch,
            groups: vec![LaneGroup { lanes: u32::MAX, clock }],
            fences: Vec::new(),
            together: Vec::new(),
            alone: Vec::new(),
            found: 0,
            system: 0,
            proxy: 0,
        }
    }

    pub(super) fn group(&self, lane: usize) -> Option<&LaneGroup> {
        match &*self.groups {
            [one] => Some(one),
            several => several.iter().find(|it| it.lanes >> lane & 1 != 0),
        }
    }

    /// Puts lanes into a group of their own.
    pub(super) fn regroup(&mut self, group: LaneGroup) {
        self.groups.retain_mut(|it| {
            it.lanes &= !group.lanes;
            it.lanes != 0
        });
        self.groups.push(group);
    }

    /// Some lanes know what was released.
    pub(super) fn acquire(&mut self, mut mask: u32, release: &Release, joins: &mut Joins) {
        for at in 0..self.groups.len() {
            if mask == 0 {
                break;
            }
            let group = &self.groups[at];
            let lanes = group.lanes & mask;
            if lanes == 0 {
                continue;
            }
            mask &= !lanes;
            let by = LaneTime { block: self.at.0, warp: self.at.1, lanes, time: joins.now };
            let Some(clock) = release.acquired(&group.clock, by, joins) else { continue };
            if lanes == group.lanes {
                self.groups[at].clock = clock;
            } else {
                self.groups[at].lanes &= !lanes;
                self.groups.push(LaneGroup { lanes, clock });
            }
        }
    }

    /// Lanes have read what others released.
    pub(super) fn observe(&mut self, new: Observed, joins: &mut Joins) {
        self.together.retain_mut(|it| {
            if it.is_in(&new) {
                it.lanes &= !new.lanes;
            }
            it.lanes != 0
        });
        if !new.lanes.is_power_of_two() || self.together.len() < MOST && self.found & new.lanes == 0 {
            self.together.push(new);
            if self.together.len() > MOST {
                for it in std::mem::take(&mut self.together) {
                    lanes(it.lanes).for_each(|lane| self.remember(lane, it.of(lane), joins));
                }
            }
            return;
        }
        let lane = new.lanes.trailing_zeros() as usize;
        match self.alone.get_mut(lane).and_then(|its| its.iter_mut().find(|it| it.is_in(&new))) {
            Some(it) => *it = new,
            None => self.remember(lane, new, joins),
        }
    }

    /// Adds to what a lane has read alone, which may be earlier than the rest.
    fn remember(&mut self, lane: usize, new: Observed, joins: &mut Joins) {
        self.alone.resize_with(LANES, Vec::new);
        self.found |= 1 << lane;
        let its = &mut self.alone[lane];
        its.push(new);
        if its.len() > MOST {
            for near in [false, true] {
                let several: Vec<_> = its.extract_if(.., |it| it.near == near).collect();
                if let [one, more @ ..] = &*several {
                    let release = one.release.joined(more.iter().map(|it| &it.release), joins);
                    its.push(Observed { release, source: 0, ..one.clone() });
                }
            }
        }
    }

    /// What the lanes have read counts from now on: all of it, or what is from their own block.
    pub(super) fn take_observed(&mut self, mask: u32, wide: bool, joins: &mut Joins) {
        if self.together.is_empty() && self.found & mask == 0 {
            return;
        }
        let mut taken = Vec::<Observed>::new();
        self.together.retain_mut(|it| {
            if it.lanes & mask != 0 && (wide || it.near) {
                taken.push(Observed { lanes: it.lanes & mask, ..it.clone() });
                it.lanes &= !mask;
            }
            it.lanes != 0
        });
        for lane in lanes(self.found & mask) {
            for it in self.alone[lane].extract_if(.., |it| wide || it.near) {
                match taken.iter_mut().find(|same| !same.below && same.release.is_same(&it.release)) {
                    Some(same) => same.lanes |= it.lanes,
                    None => taken.push(it),
                }
            }
            if self.alone[lane].is_empty() {
                self.found &= !(1 << lane);
            }
        }
        taken.iter().for_each(|it| self.take(it, joins));
    }

    /// What lanes have found counts from now on.
    pub(super) fn take(&mut self, it: &Observed, joins: &mut Joins) {
        if !it.below {
            return self.acquire(it.lanes, &it.release, joins);
        }
        for lane in lanes(it.lanes) {
            self.acquire(1 << lane, &it.release.below(lane), joins);
        }
    }

    /// Whether the last fences of lanes are the same.
    pub(super) fn fence_alike(&self, mask: u32) -> bool {
        self.fences.iter().all(|it| it.lanes & mask == 0 || it.lanes & mask == mask)
    }

    /// What a lane's strong write releases by the last fence before it.
    pub(super) fn released(&self, lane: usize, wide: bool) -> Option<(&Arc<Clock>, u32)> {
        let its = self.fences.iter().filter(|it| it.lanes >> lane & 1 != 0 && (it.wide || !wide));
        its.max_by_key(|it| it.time).map(|it| (&it.clock, it.time))
    }

    /// What is before wide fences of lanes, and of others.
    pub(super) fn fenced(
        &self,
        mask: u32,
        mut all: Option<Arc<Clock>>,
        joins: &mut Joins,
    ) -> Option<Arc<Clock>> {
        for it in self.fences.iter().filter(|it| it.wide && it.lanes & mask != 0) {
            let mut both = all.map_or_else(|| Arc::clone(&it.clock), |all| joins.joined(&all, &it.clock));
            if it.time != 0 {
                let mut all = both.of_nobody();
                all.own.join_lanes(self.at.1, it.lanes & mask, it.time, joins.threads);
                both = Arc::new(all);
            }
            all = Some(both);
        }
        all
    }

    /// Lanes have the fences of all whom they have met.
    pub(super) fn pass_fences(&mut self, mask: u32, clock: &Arc<Clock>) {
        self.fences.retain_mut(|it| {
            it.lanes &= !mask;
            it.lanes != 0
        });
        self.fences.push(Fenced { lanes: mask, wide: true, clock: Arc::clone(clock), time: 0 });
    }
}
