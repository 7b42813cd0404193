//! Races within a kernel: threads that use the same bytes, at least one to write, and that nothing orders.
//!
//! Each word of memory remembers its last write and its last two reads. [`order`](super::order) has the order
//! of accesses, and `races.md` the rules.

use std::collections::HashMap;

use super::env::AccessKind;
use super::order::HappensBefore;
use super::program::{Scope, Strength};
use super::skipped::Arrivals;
use crate::fidelity::{self, Limit};

/// Bytes of a word, and words of a page.
const WORD: usize = 4;
const WORDS: usize = 1024;
/// The most pages of global memory that are remembered.
const PAGES: usize = 4096;
/// The bit of an access by a bulk copy or a `wgmma`.
const BY_PROXY: u8 = 0x10;
/// The bit of an access that is strong within its block only.
const IN_BLOCK: u8 = 0x20;
/// The bit of a volatile access.
const VOLATILE: u8 = 0x40;

/// One access to a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct PastAccess {
    pub(super) block: u32,
    pub(super) thread: u16,
    /// The bytes of the word, as bits, and [`BY_PROXY`], [`IN_BLOCK`] and [`VOLATILE`].
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

    /// Whether both are strong, each for the thread of the other.
    fn is_strong_with(&self, other: &Self) -> bool {
        let within = (self.bytes | other.bytes) & IN_BLOCK != 0;
        self.is_strong() && other.is_strong() && (self.block == other.block || !within)
    }

    fn who(&self) -> (u32, u16) {
        (self.block, self.thread)
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
    /// What a strong access is.
    pub(super) strength: Strength,
    /// Whether a bulk copy or a `wgmma` does it.
    pub(super) proxy: bool,
    /// Whether it writes the bytes that are there.
    pub(super) changes_nothing: bool,
}

/// What is remembered of memory, by the number of a word.
#[derive(Debug, Default)]
struct MemoryWords {
    places: HashMap<usize, usize>,
    pages: Vec<(usize, Box<[MemoryWord]>)>,
    last: usize,
}

impl MemoryWords {
    /// The word of a number, if its page is there.
    fn find(&mut self, number: usize) -> Option<&mut MemoryWord> {
        let key = number / WORDS;
        if self.pages.get(self.last).is_none_or(|page| page.0 != key) {
            self.last = *self.places.get(&key)?;
        }
        self.pages.get_mut(self.last)?.1.get_mut(number % WORDS)
    }

    /// Makes a page for a word, in place of another if there are `most`.
    fn add(&mut self, number: usize, most: usize) {
        let key = number / WORDS;
        // Not by way of the stack, which a thread of the program may have little of.
        let page = (key, vec![MemoryWord::NEW; WORDS].into_boxed_slice());
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

impl KernelRaces {
    /// Starts a block of so many threads, with this shared memory.
    pub(super) fn start(&mut self, block: u32, threads: u32, shared: usize, bytes: usize) {
        self.order.start(block, usize::try_from(threads).unwrap_or(0), shared..shared + bytes);
        for number in shared / WORD..(shared + bytes).div_ceil(WORD) {
            match self.shared.find(number) {
                Some(word) => *word = MemoryWord::NEW,
                None => self.shared.add(number, usize::MAX),
            }
        }
    }

    /// Forgets a block that has ended, but not its accesses.
    pub(super) fn end(&mut self, block: u32) {
        self.order.end(block);
    }

    /// How often the threads of a block have arrived at its barriers.
    pub(super) fn arrivals(&mut self, block: u32) -> Option<&mut Arrivals> {
        self.order.arrivals(block)
    }

    /// The order of accesses.
    pub(super) fn order(&mut self) -> &mut HappensBefore {
        &mut self.order
    }

    /// Notes an access. Returns what is wrong about it.
    pub(super) fn access(&mut self, access: &ThreadAccess) -> Option<Wrong> {
        let ThreadAccess { block, thread, kind, pc, at, bytes, shared, strength, proxy, changes_nothing } =
            *access;
        let epoch = self.order.epoch(block, usize::from(thread / 32))?;
        let order = &self.order;
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let in_block = strength.scope == Scope::Block;
        let by = bit(proxy, BY_PROXY) | bit(in_block, IN_BLOCK) | bit(strength.volatile, VOLATILE);
        let words = if shared { &mut self.shared } else { &mut self.global };
        let mut wrong = None;
        let end = at + bytes;
        for number in at / WORD..end.div_ceil(WORD) {
            let from = at.max(number * WORD) % WORD;
            let to = (end - number * WORD).min(WORD);
            let bytes = (0xF >> (WORD - to)) & (0xF << from);
            let new = PastAccess { block, thread, bytes: bytes | by, kind, epoch, pc };
            if words.find(number).is_none() {
                words.add(number, if shared { usize::MAX } else { PAGES });
            }
            let word = words.find(number)?;
            let races = |old: &PastAccess| {
                let is_strong = old.is_strong_with(&new);
                let is_volatile = old.bytes & new.bytes & VOLATILE != 0 && old.block == new.block;
                let matters = old.bytes & bytes != 0 && (!is_strong || is_volatile);
                let is_race = matters && !order.is_before(old.who(), old.epoch, new.who());
                if is_race && is_strong {
                    fidelity::note(Limit::Volatile);
                    return false;
                }
                let harmless = is_race && old.writes() && new.writes() && changes_nothing;
                if harmless {
                    fidelity::note(Limit::SameValues);
                }
                is_race && !harmless
            };
            let older = if new.writes() { &word.reads[..] } else { &[] };
            let found = std::iter::once(&word.write).chain(older).find(|old| races(old));
            wrong = wrong.or(found.map(|old| Wrong::Race(*old)));
            if new.writes() {
                // A plain write stays known behind a strong one of its thread: it may race with the strong
                // ones of others, which do not race with that one.
                let is_plain = word.write.kind == AccessKind::Write && word.write.is_same_thread(&new);
                if is_plain && new.is_strong() {
                    word.reads = [word.write, word.reads[0]];
                }
                word.write = new;
                word.written |= bytes;
                continue;
            }
            if shared && word.written & bytes != bytes {
                wrong = wrong.or(Some(Wrong::Unwritten));
            }
            let write = &word.write;
            let by_thread = write.bytes & bytes != 0 && write.bytes & BY_PROXY == 0;
            if shared && proxy && by_thread && order.is_unfenced((write.who(), new.who()), write.epoch) {
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
