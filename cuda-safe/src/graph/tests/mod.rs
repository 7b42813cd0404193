//! Random graphs: what their tests share.
#![expect(unsafe_code, reason = "declares memory of tests as retained")]

mod cost;
mod edges;
mod model;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::node::retain_all;
use super::order::{Edge, Order};
use crate::hazard::{Access, AccessHistory, Mode, RetainedAccesses};
use crate::memory::{retainable, retained};

#[derive(Debug)]
struct Memory(AccessHistory);

retainable!(Memory, 0);

fn memory(count: usize) -> Vec<Arc<Memory>> {
    (0..count).map(|_| retained(Memory(AccessHistory::new(BYTES)))).collect()
}

/// How many random graphs of each kind are made.
const SEEDS: u64 = 100;

/// The bytes of each allocation.
const BYTES: usize = 8;

/// An access: the allocation, the bytes and the mode.
type Use = (usize, Range<usize>, Mode);

fn uses(memory: &[Arc<Memory>], list: &[Use]) -> RetainedAccesses {
    let access = |(at, range, mode): &Use| Access::new(&memory[*at].0, range.clone(), *mode);
    retain_all("test", list.iter().map(access)).unwrap()
}

fn conflict(one: &[Use], other: &[Use]) -> bool {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    pairs.into_iter().any(|((a, x, by), (b, y, with))| {
        a == b && x.start < y.end && y.start < x.end && (*by == Mode::Write || *with == Mode::Write)
    })
}

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).unwrap()
    }

    /// Up to `most` of these.
    fn some<T: Copy>(&mut self, of: &[T], most: usize) -> Vec<T> {
        let count = if of.is_empty() { 0 } else { self.roll(most + 1) };
        (0..count).map(|_| of[self.roll(of.len())]).collect()
    }

    /// As some, and often the last ones.
    fn recent(&mut self, of: &[usize]) -> Vec<usize> {
        let from = if self.roll(2) == 0 { of.len().saturating_sub(3) } else { 0 };
        self.some(&of[from..], 3)
    }

    /// Up to two accesses to so many allocations. One of `sides` is a write.
    fn uses(&mut self, (allocations, sides): (usize, usize)) -> Vec<Use> {
        let mut one = || {
            let (start, len) = (self.roll(BYTES), 1 + self.roll(BYTES));
            let mode = if self.roll(sides) == 0 { Mode::Write } else { Mode::Read };
            (self.roll(allocations), start..(start + len).min(BYTES), mode)
        };
        let list = [one(), one()];
        list[..self.roll(3)].to_vec()
    }
}

/// For each node, all that come before it.
struct Closure(Vec<BTreeSet<usize>>);

impl Closure {
    fn of(count: usize, edges: &BTreeSet<Edge>) -> Self {
        let before = |at: usize| {
            let (mut found, mut open) = (BTreeSet::new(), vec![at]);
            while let Some(to) = open.pop() {
                let direct = edges.iter().filter(|edge| edge.1 == to).map(|edge| edge.0);
                open.extend(direct.filter(|from| found.insert(*from)));
            }
            found
        };
        Self((0..count).map(before).collect())
    }

    fn is_before(&self, first: usize, second: usize) -> bool {
        self.0[second].contains(&first)
    }

    fn orders(&self, one: usize, other: usize) -> bool {
        self.is_before(one, other) || self.is_before(other, one)
    }
}

fn edges_of(order: &Order, count: usize) -> BTreeSet<Edge> {
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    pairs.filter(|edge| order.has_edge(*edge)).collect()
}
