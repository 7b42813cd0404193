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

use self::clock::{Clock, Joins, LaneTime};
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
        self.joins.now = self.joins.now.saturating_add(1);
        self.joins.now
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
        let clock = Arc::new(Clock::new(block));
        let warp = |warp| WarpOrder::new((block, warp), now, Arc::clone(&clock));
        let order = BlockOrder {
            number: block,
            warps: (0..threads.div_ceil(LANES)).map(warp).collect(),
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
        let now = self.tick();
        let Some((order, joins)) = self.warp_with_joins(block, warp) else { return };
        order.epoch = now;
        order.take_observed(mask, false, joins);
        let mut all: Option<Arc<Clock>> = None;
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            all = Some(match all {
                Some(all) => joins.joined(&all, &group.clock),
                None => Arc::clone(&group.clock),
            });
        }
        let Some(clock) = all else { return };
        if let Some(fenced) = order.fenced(mask, None, joins) {
            order.pass_fences(mask, &fenced);
        }
        order.regroup(LaneGroup { lanes: mask, clock });
        if let Some(group) = order.groups.last_mut() {
            let clock = Arc::make_mut(&mut group.clock);
            clock.own.join_lanes(warp, mask, now, joins.threads);
            (clock.by, clock.from) = (LaneTime { block, warp, lanes: mask, time: now }, None);
        }
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
        let (now, at) = (self.tick(), self.place(block)?);
        let BlockOrder { warps, barriers, .. } = &mut self.blocks[at];
        let (count, order) = (warps.len(), warps.get_mut(warp)?);
        let meeting = barriers.get_mut(barrier as usize)?;
        let elsewhere = meeting.first.filter(|first| *first != pc);
        meeting.first.get_or_insert(pc);
        order.epoch = now;
        // A barrier is a fence for what its threads have read: `races.md` says why.
        order.take_observed(mask, true, &mut self.joins);
        meeting.fenced = order.fenced(mask, meeting.fenced.take(), &mut self.joins);
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            meeting.clock = Some(match &meeting.clock {
                Some(all) => self.joins.joined(all, &group.clock),
                None => Arc::clone(&group.clock),
            });
        }
        if waits {
            meeting.waiting.resize(count, 0);
            meeting.waiting[warp] |= mask;
            meeting.count += mask.count_ones() as usize;
        } else if let Some(clock) = &mut meeting.clock {
            let mut all = clock.of_nobody();
            all.own.join_lanes(warp, mask, now, self.joins.threads);
            *clock = Arc::new(all);
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
        let first = meeting.waiting.iter().position(|lanes| *lanes != 0).unwrap_or(0);
        let lanes = meeting.waiting.get(first).copied().unwrap_or(0);
        let mut clock = Clock { from: None, ..Arc::unwrap_or_clone(clock) };
        clock.by = LaneTime { block, warp: first, lanes, time: now };
        if meeting.count < threads {
            let waiting = meeting.waiting.iter().enumerate();
            waiting.for_each(|(warp, lanes)| clock.own.join_lanes(warp, *lanes, now, threads));
        } else {
            clock.own = Times::All(now);
        }
        let clock = Arc::new(clock);
        for (order, mask) in warps.iter_mut().zip(&meeting.waiting).filter(|(_, mask)| **mask != 0) {
            order.epoch = now;
            order.regroup(LaneGroup { lanes: *mask, clock: Arc::clone(&clock) });
            if let Some(fenced) = &meeting.fenced {
                order.pass_fences(*mask, fenced);
            }
        }
    }

    /// Notes a fence of lanes.
    pub(super) fn fence(&mut self, block: u32, warp: usize, mask: u32, scope: Scope) {
        let wide = scope > Scope::Block;
        // It releases what it acquires, and so the time of the release is later.
        if let Some((order, joins)) = self.warp_with_joins(block, warp) {
            order.take_observed(mask, wide, joins);
        }
        let now = self.tick();
        let Some(order) = self.warp(block, warp) else { return };
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
            let clock = Arc::clone(&group.clock);
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
            let by = LaneTime { block, warp, lanes: group.lanes & mask, time: now };
            let new = Release::new(Arc::clone(&group.clock), by);
            all = Some(new.after(all, false, 0, joins));
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
    pub(super) fn is_before(&self, who: (u32, u16), epoch: u32, now: (u32, u16)) -> bool {
        if who == now {
            return true;
        }
        let Some(order) = self.blocks.get(self.last).filter(|it| it.number == now.0) else { return true };
        let (warp, lane) = (usize::from(now.1) / LANES, usize::from(now.1) % LANES);
        let group = order.warps.get(warp).and_then(|it| it.group(lane));
        group.is_none_or(|it| it.clock.is_after(who, epoch))
    }
}
