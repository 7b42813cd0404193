//! Strong accesses: what they read is acquired at once or behind the next fence, and what was before a fence
//! is released by what they write.

use std::sync::Arc;

use super::HappensBefore;
use super::clock::{Clock, Joins, LaneTime};
use super::released::{Location, Release};
use super::warp::{Observed, WarpOrder};
use crate::exec::file::{LANES, lanes};
use crate::exec::program::{Scope, Strength};
use crate::fidelity::{self, Limit};

/// The size of all clocks that are joined in a launch before clocks become simple.
const EXACT: usize = 1 << 24;

/// A strong access of some lanes of a warp.
pub(in crate::exec) struct StrongAccess<'a> {
    pub(in crate::exec) block: u32,
    pub(in crate::exec) warp: usize,
    pub(in crate::exec) mask: u32,
    /// Where the bytes of each lane are, and how many.
    pub(in crate::exec) at: &'a [*mut u8; LANES],
    pub(in crate::exec) bytes: usize,
    pub(in crate::exec) strength: Strength,
    pub(in crate::exec) reads: bool,
    pub(in crate::exec) writes: bool,
}

impl StrongAccess<'_> {
    fn is_wide(&self) -> bool {
        self.strength.scope > Scope::Block
    }

    /// Whether each lane has an address of its own, above that of the lane before.
    fn ascends(&self) -> bool {
        let mut last = None;
        lanes(self.mask).all(|lane| last.replace(self.at[lane]).is_none_or(|last| last < self.at[lane]))
    }

    /// What lanes find at an address. With `below`, each finds what the lanes below it have released of the
    /// release for all threads, or of that for the block.
    fn find(&self, order: &mut WarpOrder, mask: u32, it: &Location, below: (bool, bool), joins: &mut Joins) {
        let (own, source) = (it.by.0 == self.block, it.chain * 2);
        let near = it.near.as_ref().filter(|near| near.0 == self.block).map(|near| &near.1);
        let wide = it.wide.as_ref().filter(|_| self.is_wide() || own);
        for (release, below, near, source) in
            [(near, below.1, true, source), (wide, below.0, own, source + 1)]
        {
            let Some(release) = release else { continue };
            let found = Observed { lanes: mask, near, release: release.clone(), below, source };
            if self.strength.acquires {
                order.take(&found, joins);
            } else {
                order.observe(found, joins);
            }
        }
    }
}

/// What the lanes of an access release, one after another.
struct Releases {
    now: u32,
    is_exact: bool,
    last: Option<Release>,
}

impl Releases {
    /// What lanes that release alike do.
    fn by(&mut self, order: &WarpOrder, access: &StrongAccess<'_>, mask: u32, wide: bool) -> Option<Release> {
        let lane = mask.trailing_zeros() as usize;
        let (warp, block) = (access.warp, access.block);
        let (mut clock, mut time) = if access.strength.releases {
            (Arc::clone(&order.group(lane)?.clock), self.now)
        } else {
            let (clock, time) = order.released(lane, wide)?;
            (Arc::clone(clock), time)
        };
        if !self.is_exact {
            (clock, time) = (Arc::new(Clock { all: self.now, ..Clock::new(block).of_nobody() }), 0);
        }
        let last = self.last.take().and_then(|last| last.by(&clock, mask, time));
        let by = LaneTime { block, warp, lanes: mask, time };
        let release = last.unwrap_or_else(|| Release::new(clock, by));
        self.last = Some(release.clone());
        Some(release)
    }
}

impl HappensBefore {
    /// Whether strong accesses of lanes can order anything now.
    fn is_idle(&self, order: &WarpOrder, access: &StrongAccess<'_>) -> bool {
        let fenced = order.fences.iter().any(|it| it.lanes & access.mask != 0);
        self.locations.is_empty() && !(access.writes && (fenced || access.strength.releases))
    }

    /// Notes a strong access.
    pub(in crate::exec) fn strong(&mut self, access: &StrongAccess<'_>) {
        let StrongAccess { block, warp, mask, at, bytes, strength, reads, writes } = *access;
        let Some(place) = self.place(block) else { return };
        let Some(order) = self.blocks[place].warps.get(warp) else { return };
        if self.is_idle(order, access) {
            return;
        }
        let is_exact = self.joins.work < EXACT;
        if !is_exact {
            fidelity::note(Limit::KernelClocks);
        }
        let now = if strength.releases || !is_exact { self.tick() } else { self.joins.now };
        let mut releases = Releases { now, is_exact, last: None };
        let (mut left, ascends) = (mask, access.ascends());
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let is_same = |lane: usize| u32::from(at[lane] == at[first]) << lane;
            let mut same =
                if ascends { 1 << first } else { left & (0..LANES).fold(0, |all, it| all | is_same(it)) };
            left &= !same;
            if !reads && !same.is_power_of_two() {
                // The last lane's value stays, and what it releases.
                self.visit(access, |key, it| drop(it.locations.remove(key)), first, bytes);
                same = 1 << (31 - same.leading_zeros());
            }
            let alike = !writes
                || !strength.acquires
                    && !strength.releases
                    && self.blocks[place].warps[warp].fence_alike(same);
            let turns = if alike { 1 } else { same.count_ones() };
            for _ in 0..turns {
                let turn = if alike { same } else { same & same.wrapping_neg() };
                same &= !turn;
                let mut strong = |key, it: &mut Self| {
                    // Behind the first word it may know more.
                    if strength.releases && key != at[first].addr() {
                        releases.now = it.tick();
                    }
                    it.strong_at(place, access, turn, key, &mut releases);
                };
                self.visit(access, &mut strong, first, bytes);
            }
        }
        if strength.releases || !is_exact {
            self.blocks[place].warps[warp].epoch = releases.now;
        }
    }

    /// Calls `each` with the keys of a lane's bytes. Small flags have an address of their own, others one for
    /// each word.
    fn visit(
        &mut self,
        access: &StrongAccess<'_>,
        mut each: impl FnMut(usize, &mut Self),
        lane: usize,
        bytes: usize,
    ) {
        let first = access.at[lane].addr();
        (first..first + bytes).step_by(4).for_each(|key| each(key, self));
    }

    /// The same of lanes that use the same word, and release alike.
    fn strong_at(
        &mut self,
        place: usize,
        access: &StrongAccess<'_>,
        mask: u32,
        key: usize,
        releases: &mut Releases,
    ) {
        let StrongAccess { block, warp, strength, reads, writes, .. } = *access;
        let Self { blocks, locations, joins, chains, .. } = self;
        let order = &mut blocks[place].warps[warp];
        // The first lane finds what is there, and the others what the lanes before them make of it.
        let rest = if writes { mask & (mask - 1) } else { 0 };
        if reads && let Some(old) = locations.get(key) {
            access.find(order, mask & !rest, old, (false, false), joins);
        }
        if !writes {
            return;
        }
        let last = 31 - mask.leading_zeros() as usize;
        let by = (block, u16::try_from(warp * LANES + last).unwrap_or(u16::MAX));
        let wide = if access.is_wide() { releases.by(order, access, mask, true) } else { None };
        let narrow = !access.is_wide()
            || !strength.releases && order.fences.iter().any(|it| !it.wide && it.lanes & mask != 0);
        let near = if narrow { releases.by(order, access, mask, false) } else { None };
        let below = (wide.is_some(), near.is_some());
        // An atomic operation, or a later write of the same thread, goes on with what is there.
        let old = locations.get(key);
        let goes_on = old.as_ref().is_some_and(|old| reads || old.by == by);
        if wide.is_none() && near.is_none() && !goes_on {
            drop(locations.remove(key));
            return;
        }
        let it = locations.entry(key);
        let it = match it {
            Some(it) if goes_on => it,
            it => it.insert(Location { wide: None, near: None, by, chain: 0 }),
        };
        if near.is_some() && it.near.as_ref().is_some_and(|near| near.0 != block) {
            (it.near, it.chain) = (None, 0);
        }
        if it.chain == 0 {
            *chains += 1;
            it.chain = *chains;
        }
        let (same, source) = (it.by == by && mask.is_power_of_two(), it.chain * 2);
        let mut both = |old: Option<Release>, new: Release, source| {
            let alone = |old: &Release| same && new.is_instead(old);
            let instead = !releases.is_exact || old.as_ref().is_some_and(alone);
            new.after(old, instead, source, joins)
        };
        if let Some(new) = near {
            let old = it.near.take().map(|near| near.1);
            it.near = Some(Box::new((block, both(old, new, source))));
        }
        if let Some(new) = wide {
            it.wide = Some(both(it.wide.take(), new, source + 1));
        }
        it.by = by;
        if reads && rest != 0 {
            access.find(order, rest, it, below, joins);
        }
    }

    /// The lanes whose strong writes release what was before, for other operations and the host, and in which
    /// scope: those of one in the scope of the write, and those of the other on the device.
    pub(in crate::exec) fn releases(
        &mut self,
        block: u32,
        warp: usize,
        mask: u32,
        strength: Strength,
    ) -> (u32, u32) {
        let Some(order) = self.warp(block, warp).filter(|_| strength.scope > Scope::Block) else {
            return (0, 0);
        };
        let fenced = || order.fences.iter().filter(|it| it.wide).fold(0, |all, it| all | it.lanes);
        if strength.releases {
            (mask, 0)
        } else {
            (fenced() & mask & order.system, fenced() & mask & !order.system)
        }
    }
}
