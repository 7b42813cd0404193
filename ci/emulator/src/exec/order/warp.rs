//! What the lanes of a warp know to have happened before, what their fences release, and what they have read.

use std::sync::Arc;

use super::clock::{Clock, Joins};
use super::released::Release;
use crate::exec::file::{LANES, lanes};

/// The most reads of lanes that are remembered before they are joined.
const MOST: usize = 8;

/// Lanes of a warp that know the same. They know of the lanes `with` what these did before `met`, besides.
#[derive(Clone, Debug)]
pub(super) struct LaneGroup {
    pub(super) lanes: u32,
    pub(super) clock: Arc<Clock>,
    pub(super) with: u32,
    pub(super) met: u32,
}

impl LaneGroup {
    /// Whether other lanes know the same, by one clock.
    pub(super) fn knows_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.clock, &other.clock) && (self.with, self.met) == (other.with, other.met)
    }

    /// All that the lanes know.
    pub(super) fn whole(&self, warp: usize, threads: usize) -> Arc<Clock> {
        if self.met == 0 {
            return Arc::clone(&self.clock);
        }
        let mut all = (*self.clock).clone();
        all.own.join_lanes(warp, self.with, self.met, threads);
        Arc::new(all)
    }
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
    pub(super) fn new(epoch: u32, clock: Arc<Clock>) -> Self {
        Self {
            epoch,
            groups: vec![LaneGroup { lanes: u32::MAX, clock, with: 0, met: 0 }],
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
            let Some(both) = release.join_to(&group.clock, joins) else { continue };
            if lanes == group.lanes {
                self.groups[at].clock = both;
            } else {
                let new = LaneGroup { lanes, clock: both, ..group.clone() };
                self.groups[at].lanes &= !lanes;
                self.groups.push(new);
            }
        }
    }

    /// Lanes have read what others released.
    pub(super) fn observe(&mut self, new: Observed, joins: &mut Joins) {
        if !new.lanes.is_power_of_two() || self.together.len() < MOST && self.found & new.lanes == 0 {
            self.together.retain_mut(|it| {
                if it.is_in(&new) {
                    it.lanes &= !new.lanes;
                }
                it.lanes != 0
            });
            self.together.push(new);
            if self.together.len() > MOST {
                self.found |= self.together.iter().fold(0, |all, it| all | it.lanes);
                for it in std::mem::take(&mut self.together) {
                    lanes(it.lanes).for_each(|lane| self.observe(it.of(lane), joins));
                }
            }
            return;
        }
        self.alone.resize_with(LANES, Vec::new);
        self.found |= new.lanes;
        let its = &mut self.alone[new.lanes.trailing_zeros() as usize];
        match its.iter_mut().find(|it| it.is_in(&new)) {
            Some(it) => *it = new,
            None => its.push(new),
        }
        if its.len() > MOST {
            for near in [false, true] {
                let several: Vec<_> = its.extract_if(.., |it| it.near == near).collect();
                let clocks = several.iter().map(|it| it.release.clock(joins)).collect::<Vec<_>>();
                let both = |a: Arc<Clock>, b: Arc<Clock>| joins.joined(&a, &b);
                if let (Some(clock), Some(one)) = (clocks.into_iter().reduce(both), several.first()) {
                    let release = Release::new(clock, 0, 0, 0);
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

    /// What is before wide fences of lanes.
    pub(super) fn fenced(
        &self,
        warp: usize,
        mask: u32,
        old: Option<Arc<Clock>>,
        threads: usize,
    ) -> Option<Arc<Clock>> {
        let mut all = old.map(Arc::unwrap_or_clone);
        for it in self.fences.iter().filter(|it| it.wide && it.lanes & mask != 0) {
            let all = match &mut all {
                Some(all) => {
                    all.join(&it.clock, threads);
                    all
                }
                none => none.insert((*it.clock).clone()),
            };
            all.own.join_lanes(warp, it.lanes & mask, it.time, threads);
        }
        all.map(Arc::new)
    }

    /// Lanes have the fences of all whom they have met.
    pub(super) fn pass_fences(&mut self, mask: u32, clock: &Arc<Clock>, time: u32) {
        self.fences.retain_mut(|it| {
            it.lanes &= !mask;
            it.lanes != 0
        });
        self.fences.push(Fenced { lanes: mask, wide: true, clock: Arc::clone(clock), time });
    }
}
