//! Kernels that poll: they read the same bytes again and again, and write nothing.
//!
//! Such a kernel may wait for the host, for another kernel, or for ever. If it has run for [`PATIENCE`], some
//! of its steps are inspected: all accesses to global memory are noted. If each of [`STEPS`] steps does
//! nothing but read few words, strongly or not, and their values stay, it polls, and the machine learns it
//! once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::bytes::read8;
use super::env::{AccessKind, Poll};
use super::file::lanes;

/// How long a kernel runs before its first inspection.
const PATIENCE: Duration = Duration::from_secs(2);
/// The number of steps in a row that must look like polls.
const STEPS: u32 = 8;
/// How often they read a word together, at least.
const AGAIN: u32 = 128;
/// The most words that a kernel polls by strong reads, and by others.
const MOST: [usize; 2] = [64, 4];

/// A word that was read in a step.
#[derive(Clone, Copy, Debug)]
struct PolledWord {
    pc: u32,
    bytes: u64,
    /// How often, and whether in this step.
    times: u32,
    now: bool,
    value: u64,
}

/// The inspections of one kernel.
#[derive(Debug)]
pub(super) struct Polls {
    began: Instant,
    next: Duration,
    told: bool,
    /// Steps in a row that looked like polls.
    steps: u32,
    words: HashMap<usize, PolledWord>,
    strong: bool,
    wrote: bool,
}

impl Polls {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            next: PATIENCE,
            told: false,
            steps: 0,
            words: HashMap::new(),
            strong: false,
            wrote: false,
        }
    }

    /// Whether the next step is to be inspected.
    pub(super) fn begins(&mut self) -> bool {
        let due = !self.told && self.began.elapsed() >= self.next;
        if due {
            (self.strong, self.wrote) = (false, false);
            self.words.values_mut().for_each(|word| word.now = false);
        }
        due
    }

    /// Notes an access of the lanes of a mask, and whether the kernel gets what was there.
    pub(super) fn note(
        &mut self,
        (kind, reads): (AccessKind, bool),
        at: &[*mut u8; 32],
        mask: u32,
        bytes: u64,
        pc: u32,
    ) {
        self.wrote |= kind == AccessKind::Write || !reads;
        self.strong |= kind != AccessKind::Read;
        if self.wrote || self.words.len() > MOST[0] {
            return;
        }
        for lane in lanes(mask) {
            let new = || PolledWord { pc, bytes, times: 0, now: true, value: value(at[lane], bytes) };
            let word = self.words.entry(at[lane].expose_provenance()).or_insert_with(new);
            (word.times, word.now) = (word.times.saturating_add(1), true);
        }
    }

    /// Ends an inspection. Returns what the kernel polls, if it does. The addresses are valid only if the
    /// step's regions are.
    pub(super) fn ends(&mut self) -> Option<Poll> {
        let most = MOST[usize::from(!self.strong)];
        let at = |at: usize| core::ptr::with_exposed_provenance_mut::<u8>(at);
        let read = self.words.iter().max_by_key(|(_, word)| word.times);
        let polls = !self.wrote
            && self.words.len() <= most
            // A word that this step has not read may be gone.
            && self.words.values().all(|word| word.now)
            && self.words.iter().all(|(place, word)| word.value == value(at(*place), word.bytes));
        let Some((place, word)) = read.filter(|_| polls) else {
            self.steps = 0;
            self.words.clear();
            self.next = self.began.elapsed() * 2;
            return None;
        };
        self.steps += 1;
        self.told = self.steps >= STEPS && word.times >= AGAIN;
        let poll = Poll { pc: word.pc, at: at(*place), bytes: word.bytes, time: self.began.elapsed() };
        self.told.then_some(poll)
    }
}

/// Up to eight bytes as a number.
fn value(at: *mut u8, bytes: u64) -> u64 {
    let byte = |n: u64| u64::from(read8(at.wrapping_add(usize::try_from(n).unwrap_or(0))));
    (0..bytes.min(8)).rev().fold(0, |value, n| value << 8 | byte(n))
}
