//! The access histories of a graph: which nodes last wrote and read which bytes. Calls no C function.
//!
//! They are to the nodes of a graph what the [tracker](crate::hazard)'s are to operations on streams. Nodes are
//! entered in an order in which each comes after its predecessors. A write replaces what it covers: whatever
//! comes after it comes after that, because nodes that conflict are ordered. So a node that is entered last
//! comes after everything that it conflicts with if it comes after the nodes that [`Histories::before`] returns.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::hazard::{Mode, RetainedAccesses};

/// How many of the last reads of some bytes a further read may replace.
const READS: usize = 8;

/// The last accesses of all bytes that a graph uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Histories {
    /// Bytes with the same last accesses: by the address of the tracker's access history, which names the
    /// allocation, and the first byte.
    spans: BTreeMap<(usize, usize), Span>,
}

/// The last accesses of some bytes.
#[derive(Clone, Debug, Default)]
struct Span {
    end: usize,
    write: Option<usize>,
    /// The reads since. They come after the write.
    reads: Vec<usize>,
}

impl Histories {
    /// Returns the nodes that a node with these accesses must come after, in any order.
    pub(super) fn before(&self, uses: &RetainedAccesses) -> Vec<usize> {
        let mut before = Vec::new();
        for access in uses.accesses() {
            let Range { start, end } = access.range();
            let first = self.around(access.address(), start).unwrap_or(start);
            for span in self.spans.range((access.address(), first)..(access.address(), end)) {
                let Span { write, reads, .. } = span.1;
                if access.mode() == Mode::Write && !reads.is_empty() {
                    before.extend_from_slice(reads);
                } else {
                    before.extend(write);
                }
            }
        }
        before
    }

    /// Enters a node. A read replaces reads that `is_before` shows to come before the node: whatever comes
    /// after the node then comes after them.
    pub(super) fn enter(&mut self, node: usize, uses: &RetainedAccesses, is_before: impl Fn(usize) -> bool) {
        for access in uses.accesses() {
            let (address, Range { start, end }) = (access.address(), access.range());
            self.split(address, start);
            self.split(address, end);
            if access.mode() == Mode::Write {
                let rest = (address, start + 1)..(address, end);
                while let Some(at) = self.spans.range(rest.clone()).next().map(|span| *span.0) {
                    self.spans.remove(&at);
                }
                self.spans.insert((address, start), Span { end, write: Some(node), reads: Vec::new() });
                continue;
            }
            let (mut gaps, mut at) = (Vec::new(), start);
            for ((_, first), span) in self.spans.range_mut((address, start)..(address, end)) {
                if at < *first {
                    gaps.push(at..*first);
                }
                at = span.end;
                let recent = span.reads.len().saturating_sub(READS);
                match span.reads.iter().skip(recent).position(|read| *read == node || is_before(*read)) {
                    Some(index) => span.reads[recent + index] = node,
                    None => span.reads.push(node),
                }
            }
            if at < end {
                gaps.push(at..end);
            }
            for Range { start, end } in gaps {
                self.spans.insert((address, start), Span { end, write: None, reads: vec![node] });
            }
        }
    }

    /// Returns the first byte of the span that begins before a byte and contains it.
    fn around(&self, address: usize, byte: usize) -> Option<usize> {
        let ((_, first), span) = self.spans.range((address, 0)..(address, byte)).next_back()?;
        (span.end > byte).then_some(*first)
    }

    /// Makes a span begin at a byte if one contains it.
    fn split(&mut self, address: usize, byte: usize) {
        if let Some(first) = self.around(address, byte)
            && let Some(span) = self.spans.get_mut(&(address, first))
        {
            let rest = span.clone();
            span.end = byte;
            self.spans.insert((address, byte), rest);
        }
    }
}
