//! The order of accesses by the simplest means, a time of each thread for each thread, and a test that
//! compares it with [`HappensBefore`] after random sequences.

use std::collections::HashMap;

use super::{HappensBefore, StrongAccess};
use crate::exec::file::{LANES, lanes};
use crate::exec::program::{Scope, Strength};

const BLOCKS: u32 = 3;
const THREADS: usize = 2 * LANES;

/// For each thread of all blocks, how many of its accesses happened before.
type Known = Vec<u32>;

fn join(all: &mut Known, other: &Known) {
    all.iter_mut().zip(other).for_each(|(a, b)| *a = *b.max(a));
}

fn joined(a: Option<Known>, b: Option<Known>) -> Option<Known> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            join(&mut a, &b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

/// What one thread knows, what it has read and not acquired from its own block and from others, and its
/// fences: whether each is wide, and what was before it.
#[derive(Clone)]
struct Thread {
    known: Known,
    near: Known,
    far: Known,
    fences: Vec<(bool, Known)>,
}

#[derive(Default)]
struct Place {
    wide: Option<Known>,
    near: Option<(u32, Known)>,
    by: Option<usize>,
}

struct Model {
    threads: Vec<Thread>,
    places: HashMap<usize, Place>,
    /// What those who have come to a barrier of a block know, and what is before their fences.
    meetings: HashMap<(u32, u32), (Known, Option<Known>)>,
}

fn number(block: u32, warp: usize, lane: usize) -> usize {
    block as usize * THREADS + warp * LANES + lane
}

impl Model {
    fn new() -> Self {
        let none = vec![0; BLOCKS as usize * THREADS];
        let thread =
            Thread { known: none.clone(), near: none.clone(), far: none.clone(), fences: Vec::new() };
        Self { threads: vec![thread; none.len()], places: HashMap::new(), meetings: HashMap::new() }
    }

    /// An access of a thread. Returns its number among those of the thread.
    fn access(&mut self, thread: usize) -> u32 {
        self.threads[thread].known[thread] += 1;
        self.threads[thread].known[thread]
    }

    fn take(&mut self, thread: usize, wide: bool) {
        let it = &mut self.threads[thread];
        join(&mut it.known, &it.near);
        it.near.fill(0);
        if wide {
            join(&mut it.known, &it.far);
            it.far.fill(0);
        }
    }

    fn fence(&mut self, thread: usize, wide: bool) {
        self.take(thread, wide);
        let it = &mut self.threads[thread];
        it.fences.retain(|fence| fence.0 && !wide);
        it.fences.push((wide, it.known.clone()));
    }

    fn strong(&mut self, thread: usize, key: usize, access: &StrongAccess<'_>) {
        let StrongAccess { block, strength, reads, writes, .. } = *access;
        let is_wide = strength.scope > Scope::Block;
        let it = &mut self.threads[thread];
        if reads && let Some(place) = self.places.get(&key) {
            let own = place.by.is_some_and(|by| by / THREADS == block as usize);
            let near = place.near.as_ref().filter(|near| near.0 == block).map(|near| &near.1);
            for (found, is_near) in [(near, true), (place.wide.as_ref().filter(|_| is_wide || own), own)] {
                let Some(found) = found else { continue };
                match (strength.acquires, is_near) {
                    (true, _) => join(&mut it.known, found),
                    (false, true) => join(&mut it.near, found),
                    (false, false) => join(&mut it.far, found),
                }
            }
        }
        if !writes {
            return;
        }
        let released = |wide: bool| match strength.releases {
            true => Some(it.known.clone()),
            false => it.fences.iter().rfind(|fence| fence.0 || !wide).map(|fence| fence.1.clone()),
        };
        let wide = if is_wide { released(true) } else { None };
        let narrow = !is_wide || !strength.releases && it.fences.iter().any(|fence| !fence.0);
        let near = if narrow { released(false) } else { None };
        let old = self.places.remove(&key).filter(|old| reads || old.by == Some(thread)).unwrap_or_default();
        let of = |it: &(u32, Known)| near.is_none() || it.0 == block;
        let old_near = old.near.filter(of);
        let of = old_near.as_ref().map_or(block, |near| near.0);
        let near = joined(old_near.map(|near| near.1), near).map(|near| (of, near));
        self.places.insert(key, Place { wide: joined(old.wide, wide), near, by: Some(thread) });
    }

    fn meet(&mut self, all: &[usize]) {
        let mut known: Option<Known> = None;
        for thread in all {
            self.take(*thread, false);
            known = joined(known, Some(self.threads[*thread].known.clone()));
        }
        let fences = all.iter().fold(None, |fences, thread| joined(fences, self.fenced(*thread)));
        self.open(all, &known.unwrap_or_default(), fences);
    }

    /// What is before the wide fences of a thread.
    fn fenced(&self, thread: usize) -> Option<Known> {
        self.threads[thread].fences.iter().find(|fence| fence.0).map(|fence| fence.1.clone())
    }

    fn open(&mut self, all: &[usize], known: &Known, fences: Option<Known>) {
        for thread in all {
            let it = &mut self.threads[*thread];
            join(&mut it.known, known);
            if let Some(fences) = &fences {
                it.fences = vec![(true, fences.clone())];
            }
        }
    }

    fn arrive(&mut self, barrier: (u32, u32), thread: usize) {
        self.take(thread, true);
        let (known, fenced) = (self.threads[thread].known.clone(), self.fenced(thread));
        let (all, fences) = self.meetings.remove(&barrier).unwrap_or_else(|| (known.clone(), None));
        let all = joined(Some(all), Some(known)).unwrap_or_default();
        self.meetings.insert(barrier, (all, joined(fences, fenced)));
    }
}

/// What most steps of a program are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Something of everything.
    Mixed,
    /// Fences and atomic operations at few addresses, whose chains become long.
    Chains,
    /// Reads and writes of single lanes at many addresses, with few fences: more than a lane remembers.
    Many,
}

/// A linear congruential generator.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Lanes: one, a few, half of them, or all.
    fn mask(&mut self) -> u32 {
        let one = 1 << self.below(LANES);
        let few = one | 1 << self.below(LANES) | 1 << self.below(LANES);
        self.one_of(&[one, few, 0xffff, 0xffff_0000, u32::MAX])
    }
}

/// Both orders, and some accesses: the thread, its number there, and its epoch here.
struct Both {
    fast: HappensBefore,
    model: Model,
    accesses: Vec<(usize, u32, u32)>,
}

impl Both {
    fn new() -> Self {
        let mut fast = HappensBefore::default();
        (0..BLOCKS).for_each(|block| fast.start(block, THREADS, 0..0));
        Self { fast, model: Model::new(), accesses: Vec::new() }
    }

    /// All lanes of a warp access something. Some of these are remembered.
    fn access(&mut self, draws: &mut Draws, block: u32, warp: usize) {
        let epoch = self.fast.epoch(block, warp).unwrap();
        for lane in 0..LANES {
            let thread = number(block, warp, lane);
            let count = self.model.access(thread);
            if draws.below(8) == 0 {
                self.accesses.push((thread, count, epoch));
            }
        }
    }

    /// Does something in both. Returns what, for messages.
    fn step(&mut self, draws: &mut Draws, mode: Mode) -> String {
        let (block, warp, mask) = (draws.below(BLOCKS as usize), draws.below(2), draws.mask());
        // Few threads, so that they meet often.
        let few = [1 << draws.below(2), 1 << draws.below(2), 0xf];
        let (warp, mask) = match mode {
            Mode::Mixed => (warp, mask),
            Mode::Chains => (warp * draws.below(2), draws.one_of(&[few[0], few[1], few[2], mask])),
            Mode::Many => (0, few[0]),
        };
        let block = u32::try_from(block).unwrap();
        self.access(draws, block, warp);
        let threads: Vec<usize> = lanes(mask).map(|lane| number(block, warp, lane)).collect();
        let who = format!("lanes {mask:#x} of warp {warp} of block {block}");
        let scope = draws.one_of(&[Scope::Block, Scope::Device, Scope::Device]);
        let act = match mode {
            Mode::Mixed => draws.below(12),
            Mode::Chains => draws.one_of(&[0, 0, 0, 3, 4, 6, 6, 6, 6, 6, 6, 6]),
            Mode::Many => 6 * draws.below(30).min(1),
        };
        match act {
            0..3 => {
                self.fast.fence(block, warp, mask, scope);
                threads.iter().for_each(|thread| self.model.fence(*thread, scope > Scope::Block));
                format!("{who}: fence {scope:?}")
            }
            3 => {
                self.fast.warp_meets(block, warp, mask);
                self.model.meet(&threads);
                format!("{who}: meet")
            }
            4 => {
                // Some arrive only, and the other warp waits.
                let other = number(block, 1 - warp, 0);
                self.access(draws, block, 1 - warp);
                self.fast.arrives((block, warp), mask, 1, 0, false);
                threads.iter().for_each(|thread| self.model.arrive((block, 1), *thread));
                self.access(draws, block, warp);
                self.fast.arrives((block, 1 - warp), u32::MAX, 1, 0, true);
                self.fast.opens(block, 1);
                let waiting: Vec<usize> = (other..other + LANES).collect();
                waiting.iter().for_each(|thread| self.model.arrive((block, 1), *thread));
                let (known, fences) = self.model.meetings.remove(&(block, 1)).unwrap();
                self.model.open(&waiting, &known, fences);
                format!("{who}: arrive, and the other warp waits")
            }
            5 if draws.below(3) == 0 => {
                self.access(draws, block, 1 - warp);
                for warp in 0..2 {
                    self.fast.arrives((block, warp), u32::MAX, 0, 0, true);
                }
                self.fast.opens(block, 0);
                let all: Vec<usize> = (0..THREADS).map(|thread| number(block, 0, thread)).collect();
                all.iter().for_each(|thread| self.model.arrive((block, 0), *thread));
                let (known, fences) = self.model.meetings.remove(&(block, 0)).unwrap();
                self.model.open(&all, &known, fences);
                format!("all of block {block} wait")
            }
            _ => {
                let (spread, from, bytes) = match mode {
                    Mode::Mixed => (draws.one_of(&[0, 1, 2, 4]), draws.below(4), draws.one_of(&[4, 4, 8])),
                    Mode::Chains => (draws.one_of(&[0, 0, 1]), draws.below(2), draws.one_of(&[4, 4, 8])),
                    Mode::Many => (0, draws.below(20), 4),
                };
                let at: [*mut u8; LANES] = std::array::from_fn(|lane| {
                    std::ptr::without_provenance_mut(0x1000 + 8 * (from + lane * spread / 2))
                });
                let all = [(true, true), (true, true), (true, true), (true, false), (false, true)];
                let (reads, writes) = draws.one_of(&all[if mode == Mode::Chains { 0 } else { 2 }..]);
                let strength = Strength {
                    scope,
                    acquires: reads && draws.below(3) == 0,
                    releases: writes && draws.below(3) == 0,
                    volatile: false,
                };
                let access = StrongAccess { block, warp, mask, at: &at, bytes, strength, reads, writes };
                self.fast.strong(&access);
                for lane in lanes(mask) {
                    let is_last =
                        |lane: usize| lanes(mask).all(|other| other <= lane || at[other] != at[lane]);
                    for key in (at[lane].addr()..at[lane].addr() + bytes).step_by(4) {
                        // Of several stores at one address the last one stays.
                        if reads || is_last(lane) && lanes(mask).filter(|it| at[*it] == at[lane]).count() < 2
                        {
                            self.model.strong(number(block, warp, lane), key, &access);
                        } else if is_last(lane) {
                            self.model.places.remove(&key);
                            self.model.strong(number(block, warp, lane), key, &access);
                        }
                    }
                }
                format!("{who}: {strength:?}, reads {reads}, writes {writes}, {bytes} bytes, {spread} {from}")
            }
        }
    }
}

#[test]
fn the_order_is_that_of_a_time_of_each_thread_for_each_thread() {
    let (mut before, mut checked) = (0_u32, 0_u32);
    for (seed, mode) in (0..600).zip([Mode::Mixed, Mode::Chains, Mode::Many].into_iter().cycle()) {
        let (mut draws, mut both, mut steps) = (Draws(seed), Both::new(), Vec::new());
        for _ in 0..if mode == Mode::Mixed { 40 } else { 160 } {
            steps.push(both.step(&mut draws, mode));
            for _ in 0..if both.accesses.is_empty() { 0 } else { 200 } {
                let (thread, count, epoch) = both.accesses[draws.below(both.accesses.len())];
                let now = draws.below(BLOCKS as usize * THREADS);
                let who = |thread: usize| {
                    (u32::try_from(thread / THREADS).unwrap(), u16::try_from(thread % THREADS).unwrap())
                };
                both.fast.epoch(who(now).0, 0);
                let fast = both.fast.is_before(who(thread), epoch, who(now));
                let model = thread == now || both.model.threads[now].known[thread] >= count;
                assert_eq!(
                    fast,
                    model,
                    "seed {seed}: {:?} before {:?}, after\n{}",
                    who(thread),
                    who(now),
                    steps.join("\n")
                );
                (before, checked) = (before + u32::from(fast), checked + 1);
            }
        }
    }
    assert!(checked / 20 < before && before < checked / 2, "{before} of {checked} are ordered");
}
