//! The access histories of a graph: which nodes last wrote and read which bytes.
//!
//! They are to the nodes of a graph what [`AccessHistory`](crate::AccessHistory) is to the operations of
//! streams. Each node is entered after its predecessors. Nodes that conflict are ordered, so a write
//! replaces the accesses that it covers: a node that comes after the write comes after them, too. Therefore
//! a node that is entered last comes after everything that it conflicts with if it comes after the nodes
//! that [`GraphHistories::before`] returns.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::Few;
use super::retained::RetainedAccesses;
use super::segments::Segments;
use crate::hash::AddressMap;
use crate::mode::Mode;

/// How many of the last reads of some bytes a further read may replace.
const READS: usize = 8;

/// The last accesses of all bytes that the nodes of a graph use, by the numbers of the nodes.
#[derive(Clone, Debug, Default)]
pub struct GraphHistories {
    /// Those of each allocation.
    allocations: Segments<Spans>,
    /// The index of an allocation by the address of the tracker's access history, which names it.
    numbers: AddressMap<usize>,
}

/// The last accesses of one allocation.
#[derive(Clone, Debug)]
enum Spans {
    /// As a rule all nodes that use an allocation use the same bytes.
    One { start: usize, span: LastNodes },
    /// Bytes with the same last accesses, by the first byte.
    Many(BTreeMap<usize, LastNodes>),
}

/// The last accesses of some bytes.
#[derive(Clone, Debug)]
struct LastNodes {
    end: usize,
    write: Option<usize>,
    /// The reads since. They come after the write.
    reads: Few<usize>,
}

impl LastNodes {
    fn new(end: usize, node: usize, mode: Mode) -> Self {
        match mode {
            Mode::Write => Self { end, write: Some(node), reads: Few::default() },
            Mode::Read => Self { end, write: None, reads: Few::from([node]) },
        }
    }

    /// Enters an access. A read replaces a recent one that comes before it.
    fn enter(&mut self, node: usize, mode: Mode, is_before: impl Fn(usize) -> bool) {
        if mode == Mode::Write {
            (self.write, self.reads) = (Some(node), Few::default());
            return;
        }
        let recent = self.reads.len().saturating_sub(READS);
        match self.reads.iter_mut().skip(recent).find(|read| **read == node || is_before(**read)) {
            Some(read) => *read = node,
            None => self.reads.push(node),
        }
    }

    /// Returns the nodes that a node with such an access must come after.
    fn before(&self, mode: Mode) -> &[usize] {
        if mode == Mode::Write && !self.reads.is_empty() { &self.reads } else { self.write.as_slice() }
    }
}

impl Spans {
    /// Adds the nodes that a node with such an access must come after.
    fn before(&self, &Range { start, end }: &Range<usize>, mode: Mode, before: &mut Few<usize>) {
        let mut add = |span: &LastNodes| span.before(mode).iter().for_each(|node| before.push(*node));
        match self {
            Self::One { start: first, span } if *first < end && span.end > start => add(span),
            Self::One { .. } => {}
            Self::Many(spans) => {
                let spans = spans.range(..end).rev().map(|span| span.1);
                spans.take_while(|span| span.end > start).for_each(add);
            }
        }
    }

    /// Enters an access of a node.
    fn enter(&mut self, range: &Range<usize>, node: usize, mode: Mode, is_before: &impl Fn(usize) -> bool) {
        match self {
            Self::One { start, span } if *start == range.start && span.end == range.end => {
                span.enter(node, mode, is_before);
            }
            Self::One { start, span } => {
                *self = Self::Many(BTreeMap::from([(*start, span.clone())]));
                self.enter(range, node, mode, is_before);
            }
            Self::Many(spans) => enter(spans, range, node, mode, is_before),
        }
    }
}

/// Enters an access of a node among the spans of one allocation.
fn enter(
    spans: &mut BTreeMap<usize, LastNodes>,
    &Range { start, end }: &Range<usize>,
    node: usize,
    mode: Mode,
    is_before: &impl Fn(usize) -> bool,
) {
    // As a rule a node uses the same bytes as others, or bytes that no other one uses.
    match spans.range_mut(..end).next_back() {
        Some((first, span)) if *first == start && span.end == end => {
            return span.enter(node, mode, is_before);
        }
        Some((_, span)) if span.end > start => {}
        _ => {
            spans.insert(start, LastNodes::new(end, node, mode));
            return;
        }
    }
    split(spans, start);
    split(spans, end);
    let mut gaps = Vec::new();
    if mode == Mode::Write {
        while let Some(at) = spans.range(start..end).next().map(|it| *it.0) {
            spans.remove(&at);
        }
        gaps.push(start..end);
    } else {
        let mut at = start;
        for (first, span) in spans.range_mut(start..end) {
            gaps.push(at..*first);
            at = span.end;
            span.enter(node, mode, is_before);
        }
        gaps.push(at..end);
    }
    for Range { start, end } in gaps.into_iter().filter(|gap| !gap.is_empty()) {
        spans.insert(start, LastNodes::new(end, node, mode));
    }
}

/// Makes a span begin at a byte if one contains it.
fn split(spans: &mut BTreeMap<usize, LastNodes>, byte: usize) {
    if let Some((_, span)) = spans.range_mut(..byte).next_back()
        && span.end > byte
    {
        let rest = span.clone();
        span.end = byte;
        spans.insert(byte, rest);
    }
}

impl GraphHistories {
    /// Returns the nodes that a node with these accesses must come after, in any order.
    pub fn before(&self, uses: &RetainedAccesses) -> Few<usize> {
        let mut before = Few::default();
        for (address, range, mode) in uses.list() {
            if let Some(number) = self.numbers.get(&address) {
                self.allocations[*number].before(range, mode, &mut before);
            }
        }
        before
    }

    /// Enters a node. A read replaces a recent read that `is_before` shows to come before it: a node that
    /// comes after the one comes after the other, too.
    pub fn enter(&mut self, node: usize, uses: &RetainedAccesses, is_before: impl Fn(usize) -> bool) {
        for (address, range, mode) in uses.list() {
            match self.numbers.entry(address) {
                Entry::Occupied(number) => {
                    self.allocations[*number.get()].enter(range, node, mode, &is_before);
                }
                Entry::Vacant(place) => {
                    place.insert(self.allocations.len());
                    let span = LastNodes::new(range.end, node, mode);
                    self.allocations.push(Spans::One { start: range.start, span });
                }
            }
        }
    }
}
