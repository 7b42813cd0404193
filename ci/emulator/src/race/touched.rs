//! The bytes that a kernel has touched so far: a bit for each byte of each page, by the way of access.

use std::collections::HashMap;
use std::sync::Arc;

use super::history::{AccessMode, CodePlace, Span};
use crate::exec::program::Scope;
use crate::exec::{AccessKind, Program};

/// Bytes of a page, and words of its bits.
const PAGE: usize = 4096;
const WORDS: usize = PAGE / 64;

/// The bytes of a page that were touched in one way.
#[derive(Clone, Debug, Default)]
struct Bits {
    /// No words: no byte, or all of them.
    words: Option<Box<[u64; WORDS]>>,
    all: bool,
    /// The instruction that last touched one.
    pc: u32,
}

impl Bits {
    fn set(&mut self, first: usize, end: usize) {
        if self.all {
            return;
        }
        if first == 0 && end == PAGE {
            (self.all, self.words) = (true, None);
            return;
        }
        let words = self.words.get_or_insert_with(|| Box::new([0; WORDS]));
        let mut at = first;
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let count = (64 - bit).min(end - at);
            if let Some(word) = words.get_mut(word) {
                *word |= (u64::MAX >> (64 - count)) << bit;
            }
            at += count;
        }
    }

    /// Frees the words if they say that all bytes were touched.
    fn compress(&mut self) {
        if self.words.as_ref().is_some_and(|words| words.iter().all(|word| *word == u64::MAX)) {
            (self.all, self.words) = (true, None);
        }
    }

    /// Calls `each` with the first and the end of each run of bytes.
    fn runs(&self, mut each: impl FnMut(usize, usize)) {
        if self.all {
            return each(0, PAGE);
        }
        let Some(words) = &self.words else { return };
        let mut start = None;
        for (at, word) in words.iter().enumerate() {
            let mut bit = 0;
            while bit < 64 {
                let rest = word >> bit;
                let run = if start.is_some() { rest.trailing_ones() } else { rest.trailing_zeros() };
                let run = usize::try_from(run).unwrap_or(0).min(64 - bit);
                bit += run;
                if bit < 64 {
                    match start.take() {
                        Some(first) => each(first, at * 64 + bit),
                        None => start = Some(at * 64 + bit),
                    }
                }
            }
        }
        if let Some(first) = start {
            each(first, PAGE);
        }
    }
}

/// One page, by the [kinds of access](KINDS).
type Page = [Bits; 8];

const KINDS: [AccessMode; 8] = [
    AccessMode::Read,
    AccessMode::Write,
    AccessMode::StrongRead(Scope::Block),
    AccessMode::StrongRead(Scope::Device),
    AccessMode::StrongRead(Scope::System),
    AccessMode::Strong(Scope::Block),
    AccessMode::Strong(Scope::Device),
    AccessMode::Strong(Scope::System),
];

/// The place of an access in a page.
fn kind_of(kind: AccessKind, scope: Scope) -> usize {
    let scope = match scope {
        Scope::Block => 0,
        Scope::Cluster | Scope::Device => 1,
        Scope::System => 2,
    };
    match kind {
        AccessKind::Read => 0,
        AccessKind::Write => 1,
        AccessKind::StrongRead => 2 + scope,
        AccessKind::Strong => 5 + scope,
    }
}

/// The bytes that a kernel has touched, by their addresses in this process.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pages: Vec<(usize, Page)>,
    places: HashMap<usize, usize>,
    /// The place of the last page that was touched.
    last: usize,
}

impl Touched {
    /// Notes an access of the lanes in a mask to so many bytes each.
    pub(crate) fn warp(
        &mut self,
        (kind, scope): (AccessKind, Scope),
        at: &[*mut u8; 32],
        mask: u32,
        bytes: usize,
        pc: u32,
    ) {
        let kind = kind_of(kind, scope);
        let (mut start, mut end) = (0, 0);
        for (lane, at) in at.iter().enumerate() {
            if mask >> lane & 1 == 0 {
                continue;
            }
            let at = at.addr();
            // Lanes usually touch the same bytes or those behind the last lane's.
            if at == end {
                end += bytes;
            } else if at < start || at + bytes > end {
                self.range(kind, start, end, pc);
                (start, end) = (at, at + bytes);
            }
        }
        self.range(kind, start, end, pc);
    }

    fn range(&mut self, kind: usize, start: usize, end: usize, pc: u32) {
        let mut at = start;
        while at < end {
            let (number, first) = (at / PAGE, at % PAGE);
            let stop = (first + end - at).min(PAGE);
            let bits = &mut self.page(number)[kind];
            bits.set(first, stop);
            bits.pc = pc;
            at += stop - first;
        }
    }

    fn page(&mut self, number: usize) -> &mut Page {
        if self.pages.get(self.last).is_none_or(|page| page.0 != number) {
            if let Some((_, page)) = self.pages.get_mut(self.last) {
                page.iter_mut().for_each(Bits::compress);
            }
            let pages = &mut self.pages;
            self.last = *self.places.entry(number).or_insert_with(|| {
                pages.push((number, Page::default()));
                pages.len() - 1
            });
        }
        &mut self.pages[self.last].1
    }

    /// The bytes touched in each way, in the order of their addresses.
    pub(crate) fn spans(mut self, program: Option<&Arc<Program>>) -> [(AccessMode, Vec<Span>); 8] {
        self.pages.sort_unstable_by_key(|page| page.0);
        let mut found = KINDS.map(|mode| (mode, Vec::<Span>::new()));
        for (number, page) in &self.pages {
            for (bits, (_, spans)) in page.iter().zip(&mut found) {
                bits.runs(|first, end| {
                    let address = |offset| u64::try_from(number * PAGE + offset).unwrap_or(u64::MAX);
                    let (start, end) = (address(first), address(end));
                    match spans.last_mut() {
                        Some(last) if last.end == start => last.end = end,
                        _ => {
                            let source = program
                                .map(|program| CodePlace { program: Arc::downgrade(program), pc: bits.pc });
                            spans.push(Span { start, end, source });
                        }
                    }
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(at: impl Fn(usize) -> usize) -> [*mut u8; 32] {
        core::array::from_fn(|lane| core::ptr::without_provenance_mut(at(lane)))
    }

    fn spans(touched: Touched) -> [Vec<(u64, u64)>; 8] {
        touched.spans(None).map(|(_, spans)| spans.iter().map(|span| (span.start, span.end)).collect())
    }

    #[test]
    fn bytes_are_exact_and_runs_go_over_the_ends_of_pages() {
        let mut it = Touched::default();
        let [read, write] = [AccessKind::Read, AccessKind::Write].map(|kind| (kind, Scope::Device));
        it.warp(read, &lanes(|lane| 8192 - 64 + 4 * lane), u32::MAX, 4, 0);
        it.warp(write, &lanes(|lane| 100 + 8 * lane), 0b111, 1, 0);
        it.warp((AccessKind::Strong, Scope::System), &lanes(|_| 3), u32::MAX, 8, 0);
        it.warp(read, &lanes(|lane| 8192 + 64 - 4 * lane), u32::MAX, 4, 0);
        let mut expected: [Vec<_>; 8] = Default::default();
        expected[0] = vec![(8128, 8260)];
        expected[1] = vec![(100, 101), (108, 109), (116, 117)];
        expected[7] = vec![(3, 11)];
        assert_eq!(spans(it), expected);
    }

    #[test]
    fn a_page_that_is_full_takes_no_words() {
        let mut it = Touched::default();
        for row in 0..64 {
            let lanes = lanes(|lane| 4096 * 5 + 128 * row + 4 * lane);
            it.warp((AccessKind::Read, Scope::Device), &lanes, u32::MAX, 4, 0);
        }
        assert!(it.pages[0].1[0].all && it.pages[0].1[0].words.is_none());
        assert_eq!(spans(it)[0], [(4096 * 5, 4096 * 7)]);
    }
}
