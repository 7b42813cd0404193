//! Races within a kernel: threads that use the same bytes, at least one to write, and that nothing orders.
//!
//! Time is counted in epochs. Each warp has one, and whatever orders threads begins a new one. A warp knows
//! up to which epoch the accesses of each warp of its block happened before its own (a vector clock).
//! Barriers of the block join the clocks of their warps. A warp's own barriers, shuffles and votes order its
//! threads.
//!
//! Between blocks, and between threads that use flags, a fence and an atomic or volatile access behind it
//! release what was before the fence, and an atomic or volatile access acquires all that was released before.
//! The address of the flag does not matter: no ordered program is reported, and some races are missed.
//!
//! Each word of memory remembers its last write and its last two reads.

use std::collections::HashMap;

use super::env::AccessKind;
use super::skipped::Arrivals;
use crate::fidelity::{self, Limit};

/// Bytes of a word, and words of a page.
const WORD: usize = 4;
const WORDS: usize = 1024;
/// The most pages of global memory that are remembered.
const PAGES: usize = 4096;
/// The bit of an access by a bulk copy or a `wgmma`.
const BY_PROXY: u8 = 0x10;
/// How many barriers a block has.
const BARRIERS: usize = 17;

/// One access to a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct PastAccess {
    pub(super) block: u32,
    pub(super) thread: u16,
    /// The bytes of the word, as bits, and [`BY_PROXY`].
    bytes: u8,
    pub(super) kind: AccessKind,
    epoch: u32,
    pub(super) pc: u32,
}

impl PastAccess {
    /// None.
    const NONE: Self = Self { block: u32::MAX, thread: 0, bytes: 0, kind: AccessKind::Read, epoch: 0, pc: 0 };

    fn is_same_thread(&self, other: &Self) -> bool {
        (self.block, self.thread) == (other.block, other.thread)
    }

    fn is_strong(&self) -> bool {
        matches!(self.kind, AccessKind::Strong | AccessKind::StrongRead)
    }

    /// Whether it writes.
    pub(super) fn writes(&self) -> bool {
        matches!(self.kind, AccessKind::Write | AccessKind::Strong)
    }
}

/// What is remembered of a word.
#[derive(Clone, Copy, Debug)]
struct MemoryWord {
    write: PastAccess,
    /// The last read, and the one before it by another thread.
    reads: [PastAccess; 2],
    /// The bytes that were written since their block started.
    written: u8,
}

impl MemoryWord {
    const NEW: Self = Self { write: PastAccess::NONE, reads: [PastAccess::NONE; 2], written: 0 };
}

/// The order of the accesses of one block.
#[derive(Debug, Default)]
struct BlockClocks {
    /// The epoch of each warp.
    epochs: Vec<u32>,
    /// For each warp: accesses of which warp before which epoch happened before.
    known: Vec<Vec<u32>>,
    /// The same as it was at the last fence of a warp, and the time of the fence.
    fenced: Vec<Option<(Vec<u32>, u32)>>,
    /// The epoch from which on a warp's writes are not behind a `fence.proxy.async` of its own.
    proxies: Vec<u32>,
    /// What was released within the block.
    released: Vec<u32>,
    /// The warps that have arrived at each barrier, as bits, and where the first of them did.
    barriers: [(u32, u32); BARRIERS],
    arrivals: Arrivals,
}

/// What an access is wrong about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wrong {
    /// It races with another one.
    Race(PastAccess),
    /// It reads shared memory that no thread of the block has written.
    Unwritten,
    /// It reads by the asynchronous proxy what a thread wrote, without a fence between the two.
    Unfenced(PastAccess),
}

/// A thread's access to bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadAccess {
    pub(super) block: u32,
    pub(super) thread: u16,
    pub(super) kind: AccessKind,
    pub(super) pc: u32,
    /// Where the bytes are in this process, and how many.
    pub(super) at: usize,
    pub(super) bytes: usize,
    pub(super) shared: bool,
    /// Whether a bulk copy or a `wgmma` does it.
    pub(super) proxy: bool,
    /// Whether it writes the bytes that are there.
    pub(super) changes_nothing: bool,
}

/// What is remembered of memory, by the number of a word.
#[derive(Debug, Default)]
struct MemoryWords {
    places: HashMap<usize, usize>,
    pages: Vec<(usize, Box<[MemoryWord; WORDS]>)>,
    last: usize,
}

impl MemoryWords {
    /// The word of a number, if its page is there.
    fn find(&mut self, number: usize) -> Option<&mut MemoryWord> {
        let key = number / WORDS;
        if self.pages.get(self.last).is_none_or(|page| page.0 != key) {
            self.last = *self.places.get(&key)?;
        }
        self.pages.get_mut(self.last).map(|page| &mut page.1[number % WORDS])
    }

    /// Makes a page for a word, in place of another if there are `most`.
    fn add(&mut self, number: usize, most: usize) {
        let key = number / WORDS;
        let page = (key, Box::new([MemoryWord::NEW; WORDS]));
        if self.pages.len() < most {
            self.last = self.pages.len();
            self.pages.push(page);
        } else {
            // Races on the other page are missed from here on.
            fidelity::note(Limit::KernelWords);
            self.last = (self.last + 1) % most;
            self.places.remove(&self.pages[self.last].0);
            self.pages[self.last] = page;
        }
        self.places.insert(key, self.last);
    }
}

/// The accesses of one launch.
#[derive(Debug, Default)]
pub(super) struct KernelRaces {
    order: HappensBefore,
    global: MemoryWords,
    shared: MemoryWords,
}

/// The order of the accesses of all blocks.
#[derive(Debug, Default)]
struct HappensBefore {
    now: u32,
    blocks: HashMap<u32, BlockClocks>,
    /// For each block the fences, and the releases behind them.
    releases: HashMap<u32, Vec<(u32, u32)>>,
    /// The time of each block's last acquire.
    acquires: HashMap<u32, u32>,
}

fn join(to: &mut [u32], from: &[u32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = (*to).max(*from));
}

impl KernelRaces {
    fn tick(&mut self) -> u32 {
        self.order.now = self.order.now.saturating_add(1);
        self.order.now
    }

    /// Starts a block with so many warps and this shared memory.
    pub(super) fn start(&mut self, block: u32, warps: usize, shared: usize, bytes: usize) {
        let now = self.tick();
        let order = BlockClocks {
            epochs: vec![now; warps],
            known: vec![vec![now; warps]; warps],
            fenced: vec![None; warps],
            proxies: vec![0; warps],
            released: vec![0; warps],
            barriers: [(0, 0); BARRIERS],
            arrivals: Arrivals::default(),
        };
        self.order.blocks.insert(block, order);
        for number in shared / WORD..(shared + bytes).div_ceil(WORD) {
            match self.shared.find(number) {
                Some(word) => *word = MemoryWord::NEW,
                None => self.shared.add(number, usize::MAX),
            }
        }
    }

    /// Forgets a block that has ended, but not its accesses.
    pub(super) fn end(&mut self, block: u32) {
        self.order.blocks.remove(&block);
    }

    /// How often the threads of a block have arrived at its barriers.
    pub(super) fn arrivals(&mut self, block: u32) -> Option<&mut Arrivals> {
        self.order.blocks.get_mut(&block).map(|it| &mut it.arrivals)
    }

    /// Orders the threads of a warp.
    pub(super) fn warp_meets(&mut self, block: u32, warp: usize) {
        let now = self.tick();
        if let Some(order) = self.order.blocks.get_mut(&block) {
            order.epochs[warp] = now;
        }
    }

    /// Notes that a warp arrives at a barrier. Returns where another warp of the same turn did, if elsewhere.
    pub(super) fn arrives(&mut self, block: u32, warp: usize, barrier: u32, pc: u32) -> Option<u32> {
        let (warps, first) = self.order.blocks.get_mut(&block)?.barriers.get_mut(barrier as usize)?;
        let elsewhere = (*warps != 0 && *first != pc).then_some(*first);
        if *warps == 0 {
            *first = pc;
        }
        *warps |= 1 << warp;
        elsewhere
    }

    /// Orders the warps that have arrived at a barrier, which opens.
    pub(super) fn opens(&mut self, block: u32, barrier: u32) {
        let now = self.tick();
        let Some(order) = self.order.blocks.get_mut(&block) else { return };
        let Some(place) = order.barriers.get_mut(barrier as usize) else { return };
        let warps = std::mem::take(&mut place.0);
        let met: Vec<usize> = (0..order.epochs.len()).filter(|warp| warps >> warp & 1 != 0).collect();
        let mut all = vec![0; order.epochs.len()];
        for &warp in &met {
            join(&mut all, &order.known[warp]);
            all[warp] = all[warp].max(order.epochs[warp] + 1);
        }
        for &warp in &met {
            order.known[warp].clone_from(&all);
            order.epochs[warp] = now;
        }
    }

    /// Notes a fence of a warp.
    pub(super) fn fence(&mut self, block: u32, warp: usize) {
        let now = self.tick();
        let Some(order) = self.order.blocks.get_mut(&block) else { return };
        let mut known = order.known[warp].clone();
        known[warp] = order.epochs[warp] + 1;
        order.fenced[warp] = Some((known, now));
        order.epochs[warp] = now;
    }

    /// Notes a `fence.proxy.async` of a warp.
    pub(super) fn proxy_fence(&mut self, block: u32, warp: usize) {
        self.fence(block, warp);
        if let Some(order) = self.order.blocks.get_mut(&block) {
            order.proxies[warp] = order.epochs[warp];
        }
    }

    /// Notes an atomic or volatile access of a warp: it releases, unless it only reads, and acquires.
    pub(super) fn strong(&mut self, block: u32, warp: usize, reads: bool) {
        let now = self.tick();
        let Some(order) = self.order.blocks.get_mut(&block) else { return };
        if let (false, Some((fenced, fence))) = (reads, &order.fenced[warp]) {
            join(&mut order.released, fenced);
            let releases = self.order.releases.entry(block).or_default();
            if releases.last().is_none_or(|last| last.0 < *fence) {
                releases.push((*fence, now));
            }
        }
        join(&mut order.known[warp], &order.released);
        self.order.acquires.insert(block, now);
    }

    /// Notes an operation of a warp that releases and acquires by itself: on a barrier in memory, or on that
    /// of the cluster.
    pub(super) fn meets(&mut self, block: u32, warp: usize) {
        self.fence(block, warp);
        self.strong(block, warp, false);
    }

    /// Notes an access. Returns what is wrong about it.
    pub(super) fn access(&mut self, access: &ThreadAccess) -> Option<Wrong> {
        let ThreadAccess { block, thread, kind, pc, at, bytes, shared, proxy, changes_nothing } = *access;
        let order = &self.order;
        let epoch = *order.blocks.get(&block)?.epochs.get(usize::from(thread / 32))?;
        let words = if shared { &mut self.shared } else { &mut self.global };
        let mut wrong = None;
        let end = at + bytes;
        for number in at / WORD..end.div_ceil(WORD) {
            let from = at.max(number * WORD) % WORD;
            let to = (end - number * WORD).min(WORD);
            let bytes = (0xF >> (WORD - to)) & (0xF << from);
            let by = if proxy { BY_PROXY } else { 0 };
            let new = PastAccess { block, thread, bytes: bytes | by, kind, epoch, pc };
            if words.find(number).is_none() {
                words.add(number, if shared { usize::MAX } else { PAGES });
            }
            let word = words.find(number)?;
            let races = |old: &PastAccess| {
                let same = old.bytes & bytes != 0 && !(old.is_strong() && new.is_strong());
                let harmless = old.writes() && new.writes() && changes_nothing;
                same && !harmless && !order.is_before(old, &new)
            };
            let older = if new.writes() { &word.reads[..] } else { &[] };
            let found = std::iter::once(&word.write).chain(older).find(|old| races(old));
            wrong = wrong.or(found.map(|old| Wrong::Race(*old)));
            if new.writes() {
                word.write = new;
                word.written |= bytes;
                continue;
            }
            if shared && word.written & bytes != bytes {
                wrong = wrong.or(Some(Wrong::Unwritten));
            }
            if shared && proxy && word.write.bytes & bytes != 0 && order.is_unfenced(&word.write, &new) {
                wrong = wrong.or(Some(Wrong::Unfenced(word.write)));
            }
            if !word.reads[0].is_same_thread(&new) {
                word.reads[1] = word.reads[0];
            }
            word.reads[0] = new;
        }
        wrong
    }
}

impl HappensBefore {
    /// Whether neither the warp that wrote nor the one that reads has fenced the proxy since.
    fn is_unfenced(&self, write: &PastAccess, read: &PastAccess) -> bool {
        let fenced = |access: &PastAccess| {
            let order = self.blocks.get(&access.block);
            order.is_none_or(|order| order.proxies[usize::from(access.thread / 32)] > write.epoch)
        };
        write.bytes & BY_PROXY == 0 && !fenced(write) && !fenced(read)
    }

    /// Whether an earlier access happened before all that a thread does now.
    fn is_before(&self, earlier: &PastAccess, now: &PastAccess) -> bool {
        if earlier.bytes == 0 || earlier.is_same_thread(now) {
            return true;
        }
        if earlier.block == now.block {
            let Some(order) = self.blocks.get(&now.block) else { return true };
            let (a, b) = (usize::from(earlier.thread / 32), usize::from(now.thread / 32));
            return earlier.epoch < if a == b { order.epochs[a] } else { order.known[b][a] };
        }
        let Some(acquired) = self.acquires.get(&now.block) else { return false };
        let Some(releases) = self.releases.get(&earlier.block) else { return false };
        let first = releases.partition_point(|(fence, _)| *fence <= earlier.epoch);
        releases.get(first).is_some_and(|(_, release)| release <= acquired)
    }
}
