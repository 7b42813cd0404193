//! The order of a kernel's accesses: happens-before by PTX's memory model. `races.md` has the rules.
//!
//! The interpreter runs one thread after another, so one number is the time of all of them. Whatever releases
//! accesses takes a new time, and an access has the time of its warp. A clock has a time for each thread:
//! accesses of the thread before that time happened before. Threads of a warp that know the same share a
//! clock, and so do the warps that a barrier orders.

use std::collections::HashMap;
use std::sync::Arc;

use super::file::{LANES, lanes};
use super::program::{Scope, Strength};
use super::skipped::Arrivals;
use crate::fidelity::{self, Limit};

/// How many barriers a block has.
const BARRIERS: usize = 17;
/// The size of all clocks that writes have released in a launch before clocks become simple.
const EXACT: usize = 1 << 24;

/// A time for each thread of a block.
#[derive(Clone, Debug)]
enum Times {
    All(u32),
    /// The same, but later for some lanes of a warp.
    Lanes {
        all: u32,
        warp: usize,
        lanes: u32,
        time: u32,
    },
    Each(Arc<[u32]>),
}

impl Times {
    fn of(&self, thread: u16) -> u32 {
        let thread = usize::from(thread);
        match self {
            Self::All(all) => *all,
            Self::Lanes { all, warp, lanes, time } => {
                if thread / LANES == *warp && lanes >> (thread % LANES) & 1 != 0 { *time } else { *all }
            }
            Self::Each(each) => each.get(thread).copied().unwrap_or(0),
        }
    }

    /// The earliest and the latest.
    fn bounds(&self) -> (u32, u32) {
        match self {
            Self::All(all) => (*all, *all),
            Self::Lanes { all, time, .. } => (*all, *time),
            Self::Each(each) => {
                each.iter().fold((u32::MAX, 0), |(first, last), it| (first.min(*it), last.max(*it)))
            }
        }
    }

    fn is_never(&self) -> bool {
        matches!(self, Self::All(0))
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            // Without an exit for each thread, which would keep it from comparing many at once.
            (Self::Each(a), Self::Each(b)) => {
                let covers =
                    |(a, b): (&[u32], &[u32])| a.iter().zip(b).fold(true, |all, (a, b)| all & (a >= b));
                Arc::ptr_eq(a, b) || a.chunks(LANES).zip(b.chunks(LANES)).all(covers)
            }
            (
                Self::Lanes { all, warp, lanes, time },
                Self::Lanes { all: other, warp: same, lanes: of, time: until },
            ) if (warp, lanes) == (same, of) => all >= other && time >= until,
            (Self::Each(a), Self::Lanes { all, warp, lanes, time }) => {
                let mut its = a.iter().skip(warp * LANES).take(LANES).enumerate();
                its.all(|(lane, it)| lanes >> lane & 1 == 0 || it >= time)
                    && (*all == 0 || a.iter().fold(true, |covers, it| covers & (it >= all)))
            }
            (Self::Lanes { all: 0, .. }, Self::Each(_)) => false,
            _ => self.bounds().0 >= other.bounds().1,
        }
    }

    /// Takes the later time for each of so many threads.
    fn join(&mut self, other: &Self, threads: usize) {
        if self.covers(other) {
            return;
        }
        if other.covers(self) {
            return self.clone_from(other);
        }
        match (&mut *self, other) {
            (Self::All(a), Self::Lanes { warp, lanes, time, .. }) => {
                *self = Self::Lanes { all: *a, warp: *warp, lanes: *lanes, time: *time };
            }
            (Self::Lanes { all, .. }, Self::All(b)) => *all = *b,
            (
                Self::Lanes { all, warp, lanes, time },
                Self::Lanes { all: other, warp: same, lanes: of, time: until },
            ) if warp == same && (lanes == of || time == until) => {
                (*all, *lanes, *time) = (*other.max(all), *lanes | of, *until.max(time));
            }
            (Self::Each(each), Self::Each(other)) => {
                Arc::make_mut(each).iter_mut().zip(&**other).for_each(|(a, b)| *a = *b.max(a));
            }
            (Self::Each(each), _) => {
                let each = Arc::make_mut(each);
                let (all, _) = other.bounds();
                if all > 0 {
                    each.iter_mut().for_each(|it| *it = all.max(*it));
                }
                if let Self::Lanes { warp, lanes: of, time, .. } = other {
                    let its = each.iter_mut().skip(warp * LANES).take(LANES).enumerate();
                    its.filter(|(lane, _)| of >> lane & 1 != 0).for_each(|(_, it)| *it = *time.max(it));
                }
            }
            _ => {
                let of = |thread: usize| self.of(u16::try_from(thread).unwrap_or(u16::MAX));
                *self = Self::Each((0..threads).map(of).collect());
                self.join(other, threads);
            }
        }
    }

    /// Takes a time for some lanes.
    fn join_lanes(&mut self, warp: usize, lanes: u32, time: u32, threads: usize) {
        if lanes != 0 && time != 0 {
            self.join(&Self::Lanes { all: 0, warp, lanes, time }, threads);
        }
    }
}

/// How many blocks a part of [`Others`] has.
const PART: u32 = 32;

type Part = Arc<Vec<(u32, Times)>>;

/// Times of blocks, by their numbers, in parts. Clocks that differ in a few blocks share the other parts.
#[derive(Clone, Debug, Default)]
struct Others(Arc<Vec<Part>>);

impl Others {
    fn find(&self, block: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&Some(block / PART), |part| part.first().map(|it| it.0 / PART))
    }

    fn of(&self, block: u32) -> Option<&Times> {
        let part = &self.0[self.find(block).ok()?];
        let at = part.binary_search_by_key(&block, |it| it.0).ok()?;
        part.get(at).map(|it| &it.1)
    }

    /// Whether it has this very part.
    fn shares(&self, part: &Part) -> bool {
        let at = part.first().and_then(|it| self.find(it.0).ok());
        at.is_some_and(|at| Arc::ptr_eq(&self.0[at], part))
    }

    fn join(&mut self, block: u32, times: &Times, threads: usize) {
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
    all: u32,
    block: u32,
    own: Times,
    /// Of other blocks.
    others: Others,
}

impl Clock {
    /// What it takes to join it.
    fn size(&self, threads: usize) -> usize {
        let own = if let Times::Each(_) = self.own { 1 + threads / 16 } else { 1 };
        let Others(parts) = &self.others;
        own + parts.len() + parts.first().map_or(0, |part| part.len())
    }

    fn of(&self, block: u32) -> Option<&Times> {
        if block == self.block { Some(&self.own) } else { self.others.of(block) }
    }

    fn covers(&self, other: &Self) -> bool {
        let covers = |block, times: &Times| self.of(block).is_some_and(|own| own.covers(times));
        let part =
            |part: &Part| self.others.shares(part) || part.iter().all(|(block, times)| covers(*block, times));
        self.all >= other.all
            && (other.own.is_never() || covers(other.block, &other.own))
            && (Arc::ptr_eq(&self.others.0, &other.others.0) || other.others.0.iter().all(part))
    }

    fn join_block(&mut self, block: u32, times: &Times, threads: usize) {
        if block == self.block {
            return self.own.join(times, threads);
        }
        self.others.join(block, times, threads);
    }

    fn join_others(&mut self, others: &Others, threads: usize) {
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

    fn join(&mut self, other: &Self, threads: usize) {
        self.all = self.all.max(other.all);
        self.join_others(&other.others, threads);
        if !other.own.is_never() {
            self.join_block(other.block, &other.own, threads);
        }
    }
}

/// The later of two clocks.
fn joined(a: &Arc<Clock>, b: &Arc<Clock>, threads: usize) -> Arc<Clock> {
    if Arc::ptr_eq(a, b) || a.covers(b) {
        return Arc::clone(a);
    }
    let mut all = (**a).clone();
    all.join(b, threads);
    Arc::new(all)
}

/// Lanes of a warp that know the same. They know of the lanes `with` what these did before `met`, besides.
#[derive(Clone, Debug)]
struct LaneGroup {
    lanes: u32,
    clock: Arc<Clock>,
    with: u32,
    met: u32,
}

impl LaneGroup {
    /// All that the lanes know.
    fn whole(&self, warp: usize, threads: usize) -> Arc<Clock> {
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
struct Fenced {
    lanes: u32,
    wide: bool,
    clock: Arc<Clock>,
    time: u32,
}

/// What some lanes have read by strong accesses, and not yet acquired. With `near`, from their own block.
#[derive(Clone, Debug)]
struct Observed {
    lanes: u32,
    near: bool,
    clock: Arc<Clock>,
}

/// The order of one warp.
#[derive(Debug)]
struct WarpOrder {
    epoch: u32,
    /// Each lane is in one of them.
    groups: Vec<LaneGroup>,
    fences: Vec<Fenced>,
    observed: Vec<Observed>,
    /// The lanes that have made a fence for the whole system.
    system: u32,
    /// The epoch from which on its writes are not behind a `fence.proxy.async` of its own.
    proxy: u32,
}

impl WarpOrder {
    fn group(&self, lane: usize) -> Option<&LaneGroup> {
        match &*self.groups {
            [one] => Some(one),
            several => several.iter().find(|it| it.lanes >> lane & 1 != 0),
        }
    }

    /// Puts lanes into a group of their own.
    fn regroup(&mut self, group: LaneGroup) {
        self.groups.retain_mut(|it| {
            it.lanes &= !group.lanes;
            it.lanes != 0
        });
        self.groups.push(group);
    }

    /// Some lanes know what is in a clock.
    fn acquire(&mut self, mut mask: u32, clock: &Arc<Clock>, threads: usize) {
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
            let both = joined(&group.clock, clock, threads);
            if Arc::ptr_eq(&both, &group.clock) {
                continue;
            }
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
    fn observe(&mut self, lane: usize, clock: &Arc<Clock>, near: bool, threads: usize) {
        let bit = 1 << lane;
        let old = self.observed.iter().find(|it| it.lanes & bit != 0 && it.near == near);
        let clock = old.map_or_else(|| Arc::clone(clock), |old| joined(clock, &old.clock, threads));
        self.forget(bit, near);
        match self.observed.iter_mut().find(|it| it.near == near && Arc::ptr_eq(&it.clock, &clock)) {
            Some(same) => same.lanes |= bit,
            None => self.observed.push(Observed { lanes: bit, near, clock }),
        }
    }

    fn forget(&mut self, lanes: u32, near: bool) {
        self.observed.retain_mut(|it| {
            if it.near == near {
                it.lanes &= !lanes;
            }
            it.lanes != 0
        });
    }

    /// What the lanes have read counts from now on: all of it, or what is from their own block.
    fn take_observed(&mut self, mask: u32, wide: bool, threads: usize) {
        if self.observed.is_empty() {
            return;
        }
        let mut taken = Vec::new();
        self.observed.retain_mut(|it| {
            if it.lanes & mask != 0 && (wide || it.near) {
                taken.push((it.lanes & mask, Arc::clone(&it.clock)));
                it.lanes &= !mask;
            }
            it.lanes != 0
        });
        for (lanes, clock) in taken {
            self.acquire(lanes, &clock, threads);
        }
    }

    /// What a lane's strong write releases by the last fence before it.
    fn released(&self, lane: usize, wide: bool) -> Option<(&Arc<Clock>, u32)> {
        let its = self.fences.iter().filter(|it| it.lanes >> lane & 1 != 0 && (it.wide || !wide));
        its.max_by_key(|it| it.time).map(|it| (&it.clock, it.time))
    }

    /// What is before wide fences of lanes.
    fn fenced(&self, warp: usize, mask: u32, old: Option<Arc<Clock>>, threads: usize) -> Option<Arc<Clock>> {
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
    fn pass_fences(&mut self, mask: u32, clock: &Arc<Clock>, time: u32) {
        self.fences.retain_mut(|it| {
            it.lanes &= !mask;
            it.lanes != 0
        });
        self.fences.push(Fenced { lanes: mask, wide: true, clock: Arc::clone(clock), time });
    }
}

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

/// What the last write to an address has released.
#[derive(Clone, Debug)]
struct Location {
    /// For all threads.
    wide: Option<Arc<Clock>>,
    /// For those of one block.
    near: Option<(u32, Arc<Clock>)>,
    /// The thread that wrote.
    by: (u32, u16),
}

/// A strong access of some lanes of a warp.
pub(super) struct StrongAccess<'a> {
    pub(super) block: u32,
    pub(super) warp: usize,
    pub(super) mask: u32,
    /// Where the bytes of each lane are, and how many.
    pub(super) at: &'a [*mut u8; LANES],
    pub(super) bytes: usize,
    pub(super) strength: Strength,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// The order of the accesses of all blocks.
#[derive(Debug, Default)]
pub(super) struct HappensBefore {
    now: u32,
    threads: usize,
    blocks: Vec<BlockOrder>,
    places: HashMap<u32, usize>,
    /// The place of the block that was asked for last.
    last: usize,
    /// What was released, by address.
    locations: HashMap<usize, Location>,
    /// Flags of others that lanes of a warp have read and not yet acquired, by block and warp.
    foreign: Vec<((u32, usize), u32, usize)>,
    /// The size of all clocks that were released.
    work: usize,
}

impl HappensBefore {
    fn tick(&mut self) -> u32 {
        self.now = self.now.saturating_add(1);
        self.now
    }

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

    /// Starts a block of so many threads, with this shared memory.
    pub(super) fn start(&mut self, block: u32, threads: usize, shared: std::ops::Range<usize>) {
        self.threads = threads;
        // Nothing that another block has released there is of this one.
        if shared.len() / 4 < self.locations.len() {
            shared.step_by(4).for_each(|at| drop(self.locations.remove(&at)));
        } else {
            self.locations.retain(|at, _| !shared.contains(at));
        }
        let now = self.tick();
        let clock = Arc::new(Clock { all: 0, block, own: Times::All(0), others: Others::default() });
        let warp = || WarpOrder {
            epoch: now,
            groups: vec![LaneGroup { lanes: u32::MAX, clock: Arc::clone(&clock), with: 0, met: 0 }],
            fences: Vec::new(),
            observed: Vec::new(),
            system: 0,
            proxy: 0,
        };
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
    pub(super) fn epoch(&mut self, block: u32, warp: usize) -> Option<u32> {
        self.warp(block, warp).map(|it| it.epoch)
    }

    /// Orders lanes that have met at a `__syncwarp`.
    pub(super) fn warp_meets(&mut self, block: u32, warp: usize, mask: u32) {
        let (now, threads) = (self.tick(), self.threads);
        let Some(order) = self.warp(block, warp) else { return };
        order.epoch = now;
        order.take_observed(mask, false, threads);
        let mut all: Option<LaneGroup> = None;
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            all = Some(match all {
                None => group.clone(),
                // What they knew of other lanes of the warp counts only if it is the same.
                Some(all) if all.with == group.with && all.met == group.met => {
                    LaneGroup { clock: joined(&all.clock, &group.clock, threads), ..all }
                }
                Some(all) => {
                    let (a, b) = (all.whole(warp, threads), group.whole(warp, threads));
                    LaneGroup { clock: joined(&a, &b, threads), with: 0, met: 0, ..all }
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
        let (now, threads, at) = (self.tick(), self.threads, self.place(block)?);
        let BlockOrder { warps, barriers, .. } = &mut self.blocks[at];
        let (count, order) = (warps.len(), warps.get_mut(warp)?);
        let meeting = barriers.get_mut(barrier as usize)?;
        let elsewhere = meeting.first.filter(|first| *first != pc);
        meeting.first.get_or_insert(pc);
        order.epoch = now;
        // A barrier is a fence for what its threads have read: `races.md` says why.
        order.take_observed(mask, true, threads);
        meeting.fenced = order.fenced(warp, mask, meeting.fenced.take(), threads);
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            meeting.clock = Some(match &meeting.clock {
                Some(all) => joined(all, &group.clock, threads),
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
        let (now, threads) = (self.tick(), self.threads);
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
        let (now, threads) = (self.tick(), self.threads);
        let Some(order) = self.warp(block, warp) else { return };
        let wide = scope > Scope::Block;
        order.take_observed(mask, wide, threads);
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

    /// Whether strong accesses of lanes can order anything now.
    fn is_idle(&self, order: &WarpOrder, access: &StrongAccess<'_>) -> bool {
        let fenced = order.fences.iter().any(|it| it.lanes & access.mask != 0);
        self.locations.is_empty() && !(access.writes && (fenced || access.strength.releases))
    }

    /// Notes a strong access: what it reads is acquired now or behind the next fence, and what was before a
    /// fence is released by what it writes.
    pub(super) fn strong(&mut self, access: &StrongAccess<'_>) {
        let StrongAccess { block, warp, mask, at, bytes, strength, reads, writes } = *access;
        let Some(place) = self.place(block) else { return };
        let Some(order) = self.blocks[place].warps.get(warp) else { return };
        if self.is_idle(order, access) {
            return;
        }
        let is_exact = self.work < EXACT;
        if !is_exact {
            fidelity::note(Limit::KernelClocks);
        }
        let now = if strength.releases || !is_exact { self.tick() } else { self.now };
        let threads = self.threads;
        let Some(order) = self.blocks[place].warps.get_mut(warp) else { return };
        let wide = strength.scope > Scope::Block;
        for lane in lanes(mask) {
            // Small flags have an address of their own, others one for each word.
            let (first, end) = (at[lane].addr(), at[lane].addr() + bytes);
            for key in (first..end).step_by(4) {
                if reads && let Some(it) = self.locations.get(&key) {
                    let near = it.near.as_ref().filter(|near| near.0 == block).map(|near| &near.1);
                    let own = it.wide.as_ref().filter(|_| it.by.0 == block);
                    let found = [(near, true), (own, true), (it.wide.as_ref().filter(|_| wide), false)];
                    for (clock, near) in found.into_iter().filter_map(|(clock, near)| Some((clock?, near))) {
                        if strength.acquires {
                            order.acquire(1 << lane, clock, threads);
                        } else {
                            order.observe(lane, clock, near, threads);
                        }
                    }
                }
                if writes {
                    let thread = u16::try_from(warp * LANES + lane).unwrap_or(u16::MAX);
                    let release = |wide: bool| {
                        let (clock, time) = if strength.releases {
                            (order.group(lane)?.whole(warp, threads), now)
                        } else {
                            let (clock, time) = order.released(lane, wide)?;
                            (Arc::clone(clock), time)
                        };
                        if !is_exact {
                            let (own, others) = (Times::All(0), Others::default());
                            return Some(Arc::new(Clock { all: now, block, own, others }));
                        }
                        let mut clock = (*clock).clone();
                        clock.own.join_lanes(warp, 1 << lane, time, threads);
                        Some(Arc::new(clock))
                    };
                    let by = (block, thread);
                    // An atomic operation, or a later write of the same thread, goes on with what is there.
                    let old = self.locations.remove(&key).filter(|old| reads || old.by == by);
                    let (old_wide, old_near) = old.map_or((None, None), |old| (old.wide, old.near));
                    let new_wide = if wide { release(true) } else { None };
                    let is_newer = |it: &&Fenced| !it.wide && it.lanes >> lane & 1 != 0;
                    let narrow = !wide || !strength.releases && order.fences.iter().any(|it| is_newer(&it));
                    let new_near = if narrow { release(false) } else { None };
                    let both = |a: Option<Arc<Clock>>, b: Option<Arc<Clock>>| match (a, b) {
                        (Some(a), Some(b)) => Some(joined(&a, &b, threads)),
                        (a, b) => a.or(b),
                    };
                    let old_near = old_near.filter(|old| old.0 == block || new_near.is_none());
                    let of = old_near.as_ref().map_or(block, |old| old.0);
                    let near = both(old_near.map(|old| old.1), new_near).map(|clock| (of, clock));
                    let wide = both(old_wide.filter(|_| is_exact || new_wide.is_none()), new_wide);
                    self.work += wide.as_ref().map_or(0, |clock| clock.size(threads));
                    if wide.is_some() || near.is_some() {
                        self.locations.insert(key, Location { wide, near, by });
                    }
                }
            }
        }
        if strength.releases || !is_exact {
            order.epoch = now;
        }
    }

    /// Forgets what was released at a barrier in memory, which begins.
    pub(super) fn begins(&mut self, barrier: usize) {
        self.locations.remove(&barrier);
    }

    /// The scope in which a lane's strong write releases what was before, for other operations and the host.
    pub(super) fn releases(
        &mut self,
        block: u32,
        warp: usize,
        lane: usize,
        strength: Strength,
    ) -> Option<Scope> {
        let order = self.warp(block, warp)?;
        if strength.scope <= Scope::Block || !strength.releases && order.released(lane, true).is_none() {
            return None;
        }
        let system = strength.releases || order.system >> lane & 1 != 0;
        Some(if system { strength.scope } else { Scope::Device })
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
        let (now, threads) = (self.tick(), self.threads);
        let old = self.locations.remove(&barrier).and_then(|old| old.wide);
        let Some(order) = self.warp(block, warp) else { return };
        order.epoch = now;
        let mut all = old;
        for group in order.groups.iter().filter(|it| it.lanes & mask != 0) {
            let mut clock = (*group.whole(warp, threads)).clone();
            clock.own.join_lanes(warp, group.lanes & mask, now, threads);
            let clock = Arc::new(clock);
            all = Some(all.map_or_else(|| Arc::clone(&clock), |all| joined(&all, &clock, threads)));
        }
        self.locations.insert(barrier, Location { wide: all, near: None, by: (block, u16::MAX) });
    }

    /// Notes that lanes have waited at a barrier.
    pub(super) fn waited_at(&mut self, block: u32, warp: usize, mask: u32, barrier: usize) {
        let threads = self.threads;
        let Some(clock) = self.locations.get(&barrier).and_then(|it| it.wide.clone()) else { return };
        if let Some(order) = self.warp(block, warp) {
            order.acquire(mask, &clock, threads);
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

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: usize = 3 * LANES;

    /// Times of each kind, from a few numbers that repeat.
    fn several() -> Vec<Times> {
        let mut all = vec![Times::All(0), Times::All(5), Times::All(9)];
        for (all_of, time) in [(0, 5), (0, 9), (4, 9), (5, 7)] {
            for (warp, lanes) in [(0, 1), (0, 0xff00), (1, u32::MAX), (2, 1 << 31)] {
                all.push(Times::Lanes { all: all_of, warp, lanes, time });
            }
        }
        for step in [1, 7, 40] {
            all.push(Times::Each((0..THREADS).map(|at| u32::try_from(at / step % 11).unwrap()).collect()));
        }
        all
    }

    fn each(times: &Times) -> Vec<u32> {
        (0..THREADS).map(|thread| times.of(u16::try_from(thread).unwrap())).collect()
    }

    #[test]
    fn the_later_of_two_times_is_that_of_each_thread() {
        for a in several() {
            for b in several() {
                let mut both = a.clone();
                both.join(&b, THREADS);
                let later: Vec<u32> = each(&a).into_iter().zip(each(&b)).map(|(a, b)| a.max(b)).collect();
                assert_eq!(each(&both), later, "{a:?} and {b:?}");
                assert!(!a.covers(&b) || later == each(&a), "{a:?} does not cover {b:?}");
            }
        }
    }

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
