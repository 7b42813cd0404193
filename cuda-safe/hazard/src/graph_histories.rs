//! The access histories of a graph: which nodes last wrote and read which bytes.
//!
//! They are to the nodes of a graph what [`AccessHistory`](crate::AccessHistory) is to the operations of
//! streams. Each node is entered after its predecessors. Nodes that conflict are ordered, so a write
//! replaces the accesses that it covers: a node that comes after the write comes after them, too. Therefore
//! a node that is entered last comes after everything that it conflicts with if it comes after the nodes
//! that [`GraphHistories::before`] returns.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::entry::Mode;
use crate::retained::RetainedAccesses;

/// How many of the last reads of some bytes a further read may replace.
const READS: usize = 8;

/// The last accesses of all bytes that the nodes of a graph use, by the numbers of the nodes.
#[derive(Clone, Debug, Default)]
pub struct GraphHistories {
    /// Bytes with the same last accesses: by the address of the tracker's access history, which names the
    /// allocation, and the first byte.
    spans: BTreeMap<(usize, usize), Span>,
}

/// The last accesses of some bytes.
#[derive(Clone, Debug)]
struct Span {
    end: usize,
    write: Option<usize>,
    /// The reads since. They come after the write.
    reads: Vec<usize>,
}

impl Span {
    fn new(end: usize, node: usize, mode: Mode) -> Self {
        match mode {
            Mode::Write => Self { end, write: Some(node), reads: Vec::new() },
            Mode::Read => Self { end, write: None, reads: vec![node] },
        }
    }

    /// Enters an access. A read replaces a recent one that comes before it.
    fn enter(&mut self, node: usize, mode: Mode, is_before: impl Fn(usize) -> bool) {
        if mode == Mode::Write {
            (self.write, self.reads) = (Some(node), Vec::new());
            return;
        }
        let recent = self.reads.len().saturating_sub(READS);
        match self.reads.iter_mut().skip(recent).find(|read| **read == node || is_before(**read)) {
            Some(read) => *read = node,
            None => self.reads.push(node),
        }
    }
}

impl GraphHistories {
    /// Returns the nodes that a node with these accesses must come after, in any order.
    pub fn before(&self, uses: &RetainedAccesses) -> Vec<usize> {
        let mut before = Vec::new();
        for access in uses.accesses() {
            let (address, Range { start, end }) = (access.address(), access.range());
            let spans = self.spans.range((address, 0)..(address, end)).rev().map(|span| span.1);
            for Span { write, reads, .. } in spans.take_while(|span| span.end > start) {
                if access.mode() == Mode::Write && !reads.is_empty() {
                    before.extend_from_slice(reads);
                } else {
                    before.extend(write);
                }
            }
        }
        before
    }

    /// Enters a node. A read replaces a recent read that `is_before` shows to come before it: a node that
    /// comes after the one comes after the other, too.
    pub fn enter(&mut self, node: usize, uses: &RetainedAccesses, is_before: impl Fn(usize) -> bool) {
        for access in uses.accesses() {
            let (address, Range { start, end }, mode) = (access.address(), access.range(), access.mode());
            // As a rule a node uses the same bytes as others, or bytes that no other one uses.
            match self.spans.range_mut((address, 0)..(address, end)).next_back() {
                Some(((_, first), span)) if *first == start && span.end == end => {
                    span.enter(node, mode, &is_before);
                    continue;
                }
                Some((_, span)) if span.end > start => {}
                _ => {
                    self.spans.insert((address, start), Span::new(end, node, mode));
                    continue;
                }
            }
            self.split(address, start);
            self.split(address, end);
            let mut gaps = Vec::new();
            if mode == Mode::Write {
                while let Some(at) = self.spans.range((address, start)..(address, end)).next().map(|it| *it.0)
                {
                    self.spans.remove(&at);
                }
                gaps.push(start..end);
            } else {
                let mut at = start;
                for ((_, first), span) in self.spans.range_mut((address, start)..(address, end)) {
                    gaps.push(at..*first);
                    at = span.end;
                    span.enter(node, mode, &is_before);
                }
                gaps.push(at..end);
            }
            for Range { start, end } in gaps.into_iter().filter(|gap| !gap.is_empty()) {
                self.spans.insert((address, start), Span::new(end, node, mode));
            }
        }
    }

    /// Makes a span begin at a byte if one contains it.
    fn split(&mut self, address: usize, byte: usize) {
        if let Some((_, span)) = self.spans.range_mut((address, 0)..(address, byte)).next_back()
            && span.end > byte
        {
            let rest = span.clone();
            span.end = byte;
            self.spans.insert((address, byte), rest);
        }
    }
}
