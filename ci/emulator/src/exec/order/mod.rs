//! The order of a kernel's accesses: happens-before by PTX's memory model. `races.md` has the rules.
//!
//! The interpreter runs one thread after another, so one number is the time of all of them. Whatever releases
//! accesses takes a new time, and an access has the time of its warp. A clock has a time for each thread:
//! accesses of the thread before that time happened before. Threads of a warp that know the same share a
//! clock, and so do the warps that a barrier orders.

mod clock;
#[cfg(test)]
mod model;
mod released;
mod strong;
mod times;
mod warp;

use std::collections::HashMap;
use std::sync::Arc;

use self::clock::{Clock, Joins, Others};
use self::released::{Location, Locations, Release};
pub(super) use self::strong::StrongAccess;
use self::times::Times;
use self::warp::{Fenced, LaneGroup, WarpOrder};
use super::file::LANES;
use super::program::Scope;
use super::skipped::Arrivals;

/// How many barriers a block has.
const BARRIERS: usize = 17;

/// The threads that have come to a barrier of the block since it last opened.
#[derive(Debug, Default)]
struct Meeting {
    /// Where the first of them did.
    first: Option<u32>,
    /// For each warp, the lanes that wait.
    waiting: Vec<u32>,
    count: usize,
    /// What all of them know, and what is before fences of theirs.
    clock: Option<Arc<Clock>>,
    fenced: Option<Arc<Clock>>,
    /// Lanes of a warp, and until when others know what they did.
    lanes: Vec<(usize, u32, u32)>,
}

/// The order of the accesses of one block.
#[derive(Debug)]
struct BlockOrder {
    number: u32,
    warps: Vec<WarpOrder>,
    barriers: [Meeting; BARRIERS],
    arrivals: Arrivals,
}

/// The order of the accesses of all blocks.
#[derive(Debug, Default)]
pub(super) struct HappensBefore {
    now: u32,
    joins: Joins,
    blocks: Vec<BlockOrder>,
    places: HashMap<u32, usize>,
    /// The place of the block that was asked for last.
    last: usize,
    /// What was released, by address.
    locations: Locations,
    /// How many chains of releases there were.
    chains: u64,
    /// Flags of others that lanes of a warp have read and not yet acquired, by block and warp.
    foreign: Vec<((u32, usize), u32, usize)>,
}

impl HappensBefore {
    fn tick(&mut self) -> u32 {
        self.now = self.now.saturating_add(1);
        self.now
    }

    #[inline]
    fn place(&mut self, block: u32) -> Option<usize> {
        if self.blocks.get(self.last).is_none_or(|it| it.number != block) {
            self.last = *self.places.get(&block)?;
        }
        Some(self.last)
    }

    fn warp(&mut self, block: u32, warp: usize) -> Option<&mut WarpOrder> {
        let at = self.place(block)?;
        self.blocks[at].warps.get_mut(warp)
    }

    fn warp_with_joins(&mut self, block: u32, warp: usize) -> Option<(&mut WarpOrder, &mut Joins)> {
        let at = self.place(block)?;
        Some((self.blocks[at].warps.get_mut(warp)?, &mut self.joins))
    }

    /// Starts a block of so many threads, with this shared memory.
    pub(super) fn start(&mut self, block: u32, threads: usize, shared: std::ops::Range<usize>) {
        self.joins.threads = threads;
        // Nothing that another block has released there is of this one.
        self.locations.forget(shared);
        let now = self.tick();
        let clock = Arc::new(Clock { all: 0, block, own: Times::All(0), others: Others::default() });
        let warp = || WarpOrder::new(now, Arc::clone(&clock));
        let order = BlockOrder {
            number: block,
            warps: (0..threads.div_ceil(LANES)).map(|_| warp()).collect(),
            barriers: Default::default(),
            arrivals: Arrivals::default(),
        };
        self.places.insert(block, self.blocks.len());
        self.blocks.push(order);
    }

    /// Forgets a block that has ended, but not what it has released.
    pub(super) fn end(&mut self, block: u32) {
        if let Some(at) = self.places.remove(&block) {
            self.blocks.swap_remove(at);
            if let Some(moved) = self.blocks.get(at) {
                self.places.insert(moved.number, at);
            }
        }
    }

    /// How often the threads of a block have arrived at its barriers.
    pub(super) fn arrivals(&mut self, block: u32) -> Option<&mut Arrivals> {
        let at = self.place(block)?;
        Some(&mut self.blocks[at].arrivals)
    }

    /// The epoch of a warp.
    #[inline]
    pub(super) fn epoch(&mut self, block: u32, warp: usize) -> Option<u32> {
        self.warp(block, warp).map(|it| it.epoch)
    }

    /// Orders lanes that have met at a `__syncwarp`.
    pub(super) fn warp_meets(&mut self, block: u32, warp: usize, mask: u32) {
        let (now, threads) = (self.tick(), self.joins.threads);
        let Some((order, joins)) = self.warp_with_joins(block, warp) else { return };
        order.epoch = now;
        order.take_observed(mask, false, joins);
        let mut all: Option<LaneGroup> = None;
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            all = Some(match all {
                None => group.clone(),
                // What they knew of other lanes of the warp counts only if it is the same.
                Some(all) if all.with == group.with && all.met == group.met => {
                    LaneGroup { clock: joins.joined(&all.clock, &group.clock), ..all }
                }
                Some(all) => {
                    let (a, b) = (all.whole(warp, threads), group.whole(warp, threads));
                    LaneGroup { clock: joins.joined(&a, &b), with: 0, met: 0, ..all }
                }
            });
        }
        let Some(all) = all else { return };
        if let Some(fenced) = order.fenced(warp, mask, None, threads) {
            order.pass_fences(mask, &fenced, 0);
        }
        // Lanes that were met before and not now are known as they were.
        let clock = if all.with & !mask == 0 { all.clock } else { all.whole(warp, threads) };
        order.regroup(LaneGroup { lanes: mask, clock, with: mask, met: now });
    }

    /// Notes that lanes arrive at a barrier, and whether they wait there. Returns where other threads of the
    /// same turn have arrived, if elsewhere.
    pub(super) fn arrives(
        &mut self,
        (block, warp): (u32, usize),
        mask: u32,
        barrier: u32,
        pc: u32,
        waits: bool,
    ) -> Option<u32> {
        let (now, threads, at) = (self.tick(), self.joins.threads, self.place(block)?);
        let BlockOrder { warps, barriers, .. } = &mut self.blocks[at];
        let (count, order) = (warps.len(), warps.get_mut(warp)?);
        let meeting = barriers.get_mut(barrier as usize)?;
        let elsewhere = meeting.first.filter(|first| *first != pc);
        meeting.first.get_or_insert(pc);
        order.epoch = now;
        // A barrier is a fence for what its threads have read: `races.md` says why.
        order.take_observed(mask, true, &mut self.joins);
        meeting.fenced = order.fenced(warp, mask, meeting.fenced.take(), threads);
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            meeting.clock = Some(match &meeting.clock {
                Some(all) => self.joins.joined(all, &group.clock),
                None => Arc::clone(&group.clock),
            });
            if group.met != 0 {
                meeting.lanes.push((warp, group.with, group.met));
            }
        }
        if waits {
            meeting.waiting.resize(count, 0);
            meeting.waiting[warp] |= mask;
            meeting.count += mask.count_ones() as usize;
        } else {
            meeting.lanes.push((warp, mask, now));
        }
        elsewhere
    }

    /// Orders the threads that have arrived at a barrier, which opens.
    pub(super) fn opens(&mut self, block: u32, barrier: u32) {
        let (now, threads) = (self.tick(), self.joins.threads);
        let Some(at) = self.place(block) else { return };
        let BlockOrder { warps, barriers, .. } = &mut self.blocks[at];
        let Some(meeting) = barriers.get_mut(barrier as usize).map(std::mem::take) else { return };
        let Some(clock) = meeting.clock else { return };
        let mut own = Times::All(now);
        if meeting.count < threads {
            own = clock.own.clone();
            for (warp, lanes, time) in &meeting.lanes {
                own.join_lanes(*warp, *lanes, *time, threads);
            }
            let each: Arc<[u32]> = (0..threads)
                .map(|thread| {
                    let known = own.of(u16::try_from(thread).unwrap_or(u16::MAX));
                    let waits =
                        meeting.waiting.get(thread / LANES).is_some_and(|it| it >> (thread % LANES) & 1 != 0);
                    if waits { now } else { known }
                })
                .collect();
            own = Times::Each(each);
        }
        let clock = Arc::new(Clock { own, ..(*clock).clone() });
        for (order, mask) in warps.iter_mut().zip(&meeting.waiting).filter(|(_, mask)| **mask != 0) {
            order.epoch = now;
            order.regroup(LaneGroup { lanes: *mask, clock: Arc::clone(&clock), with: 0, met: 0 });
            if let Some(fenced) = &meeting.fenced {
                order.pass_fences(*mask, fenced, 0);
            }
        }
    }

    /// Notes a fence of lanes.
    pub(super) fn fence(&mut self, block: u32, warp: usize, mask: u32, scope: Scope) {
        let (now, threads) = (self.tick(), self.joins.threads);
        let Some((order, joins)) = self.warp_with_joins(block, warp) else { return };
        let wide = scope > Scope::Block;
        order.take_observed(mask, wide, joins);
        order.epoch = now;
        if scope == Scope::System {
            order.system |= mask;
        }
        order.fences.retain_mut(|it| {
            // A wide fence stays behind a narrow one.
            if wide || !it.wide {
                it.lanes &= !mask;
            }
            it.lanes != 0
        });
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            let clock = group.whole(warp, threads);
            order.fences.push(Fenced { lanes: group.lanes & mask, wide, clock, time: now });
        }
    }

    /// Notes a `fence.proxy.async` of a warp.
    pub(super) fn proxy_fence(&mut self, block: u32, warp: usize, mask: u32) {
        self.fence(block, warp, mask, Scope::Device);
        if let Some(order) = self.warp(block, warp) {
            order.proxy = order.epoch;
        }
    }

    /// Forgets what was released at a barrier in memory, which begins.
    pub(super) fn begins(&mut self, barrier: usize) {
        self.locations.remove(barrier);
    }

    /// Notes that lanes have read the flag of another operation.
    pub(super) fn reads_foreign(&mut self, block: u32, warp: usize, mask: u32, at: usize) {
        match self.foreign.iter_mut().find(|it| it.0 == (block, warp) && it.2 == at) {
            Some(it) => it.1 |= mask,
            None => self.foreign.push(((block, warp), mask, at)),
        }
    }

    /// The flags of other operations that lanes have read, which a fence of theirs acquires.
    pub(super) fn take_foreign(&mut self, block: u32, warp: usize, mask: u32) -> Vec<usize> {
        let its = |it: &mut ((u32, usize), u32, usize)| it.0 == (block, warp) && it.1 & mask != 0;
        self.foreign.extract_if(.., its).map(|it| it.2).collect()
    }

    /// Notes that lanes release what they have done so far to those who wait at a barrier, by the name of the
    /// barrier.
    pub(super) fn arrives_at(&mut self, block: u32, warp: usize, mask: u32, barrier: usize) {
        let now = self.tick();
        let mut all = self.locations.remove(barrier).and_then(|old| old.wide);
        let Some((order, joins)) = self.warp_with_joins(block, warp) else { return };
        order.epoch = now;
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            let new = Release::new(group.whole(warp, joins.threads), warp, group.lanes & mask, now);
            all = Some(match all {
                Some(old) => new.after(old, joins),
                None => new,
            });
        }
        self.chains += 1;
        let location = Location { wide: all, near: None, by: (block, u16::MAX), chain: self.chains };
        *self.locations.entry(barrier) = Some(location);
    }

    /// Notes that lanes have waited at a barrier.
    pub(super) fn waited_at(&mut self, block: u32, warp: usize, mask: u32, barrier: usize) {
        let Some(release) = self.locations.get(barrier).and_then(|it| it.wide.clone()) else { return };
        if let Some((order, joins)) = self.warp_with_joins(block, warp) {
            order.acquire(mask, &release, joins);
        }
    }

    /// Whether neither the warp that wrote nor the one that reads has fenced the proxy since.
    pub(super) fn is_unfenced(&self, (writer, reader): ((u32, u16), (u32, u16)), epoch: u32) -> bool {
        let fenced = |(block, thread): (u32, u16)| {
            let block = self.places.get(&block).and_then(|at| self.blocks.get(*at));
            let warp = block.and_then(|it| it.warps.get(usize::from(thread) / LANES));
            warp.is_none_or(|it| it.proxy > epoch)
        };
        !fenced(writer) && !fenced(reader)
    }

    /// Whether an earlier access of a thread happened before all that another one does now.
    pub(super) fn is_before(&self, (block, thread): (u32, u16), epoch: u32, now: (u32, u16)) -> bool {
        if (block, thread) == now {
            return true;
        }
        let Some(order) = self.blocks.get(self.last).filter(|it| it.number == now.0) else { return true };
        let (warp, lane) = (usize::from(now.1) / LANES, usize::from(now.1) % LANES);
        let Some(group) = order.warps.get(warp).and_then(|it| it.group(lane)) else { return true };
        if epoch < group.clock.all {
            return true;
        }
        if block == now.0 {
            let (other, at) = (usize::from(thread) / LANES, usize::from(thread) % LANES);
            let met = other == warp && group.with >> at & 1 != 0 && epoch < group.met;
            return met || epoch < group.clock.own.of(thread);
        }
        group.clock.of(block).is_some_and(|times| epoch < times.of(thread))
    }
}
