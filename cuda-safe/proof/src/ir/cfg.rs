//! The control flow of a slice: blocks, their order, loops, and the liveness of registers.

use std::collections::BTreeSet;

use super::inst::{Effect, Op, Operand, Step};

/// Steps without a branch among them, except at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: Vec<usize>,
    /// The header of the innermost loop that contains the block.
    pub(crate) inside: Option<usize>,
    /// The index of the loop whose header the block is.
    pub(crate) heads: Option<usize>,
    /// Registers whose values the block or a later one reads.
    pub(crate) live: Set,
}

/// A loop: a header and the blocks from which it is reached again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) header: usize,
    /// The header of the next loop around it.
    pub(crate) outer: Option<usize>,
    /// In an order in which a block comes after those that lead to it.
    pub(crate) blocks: Vec<usize>,
    /// The same as a set.
    pub(crate) contained: Set,
    /// Registers that a block writes.
    pub(crate) written: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) blocks: Vec<Block>,
    /// All blocks that are reached, in such an order.
    pub(crate) order: Vec<usize>,
    pub(crate) loops: Vec<Loop>,
}

/// A set of small numbers: of registers or blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set(pub(crate) Vec<u64>);

impl Set {
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Returns words with a bit for each number, and after them zeros.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied().chain(std::iter::repeat(0))
    }

    fn insert(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn remove(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }

    fn add(&mut self, other: &Self) -> bool {
        let before = self.clone();
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
        *self != before
    }
}

impl Graph {
    pub(crate) fn new(steps: &[Step]) -> Self {
        let mut graph = Self::default();
        let count = steps.len();
        let target = |operand: &Operand| match operand {
            Operand::Number(to) => usize::try_from(*to).ok().filter(|to| *to < count),
            _ => None,
        };
        let mut starts = BTreeSet::from([0]);
        for (index, step) in steps.iter().enumerate() {
            if step.effect() == Effect::Jump {
                starts.insert(index + 1);
                starts.extend(step.from.iter().filter_map(target));
            }
        }
        let starts: Vec<usize> = starts.into_iter().filter(|start| *start < count).collect();
        let block_of = |step: usize| starts.binary_search(&step).ok();
        for (at, start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(count);
            let last = &steps[end - 1];
            let mut next = Vec::new();
            let ends = last.effect() == Effect::Jump;
            if (!ends || last.guard.is_some()) && at + 1 < starts.len() {
                next.push(at + 1);
            }
            if last.op == Op::Bra {
                next.extend(last.from.iter().filter_map(target).filter_map(block_of));
            }
            let (live, inside, heads) = (Set::default(), None, None);
            graph.blocks.push(Block { start: *start, end, next, inside, heads, live });
        }
        graph.find_live(steps);
        graph.find_loops(steps);
        graph
    }

    fn find_live(&mut self, steps: &[Step]) {
        loop {
            let mut changed = false;
            for at in (0..self.blocks.len()).rev() {
                let mut live = Set::default();
                for next in self.blocks[at].next.clone() {
                    live.add(&self.blocks[next].live);
                }
                for step in steps[self.blocks[at].start..self.blocks[at].end].iter().rev() {
                    if step.guard.is_none() {
                        step.to.iter().for_each(|it| live.remove(*it as usize));
                    }
                    for operand in step.from.iter().chain(&step.guard) {
                        if let Operand::Register(it) | Operand::Negated(it) = operand {
                            live.insert(*it as usize);
                        }
                    }
                    // Without the guard's predicate, the old value is kept.
                    if step.guard.is_some() {
                        step.to.iter().for_each(|it| live.insert(*it as usize));
                    }
                }
                changed |= self.blocks[at].live.add(&live);
            }
            if !changed {
                return;
            }
        }
    }

    fn find_loops(&mut self, steps: &[Step]) {
        if self.blocks.is_empty() {
            return;
        }
        // Depth first: an edge to a block on the path leads back.
        let mut state = vec![0_u8; self.blocks.len()];
        let (mut path, mut backs) = (vec![(0, 0)], Vec::new());
        state[0] = 1;
        while let Some((block, at)) = path.last_mut() {
            let block = *block;
            if let Some(next) = self.blocks[block].next.get(*at).copied() {
                *at += 1;
                match state[next] {
                    0 => {
                        state[next] = 1;
                        path.push((next, 0));
                    }
                    1 => backs.push((block, next)),
                    _ => {}
                }
            } else {
                state[block] = 2;
                self.order.push(block);
                path.pop();
            }
        }
        self.order.reverse();
        let mut before = vec![Vec::new(); self.blocks.len()];
        for block in &self.order {
            for next in &self.blocks[*block].next {
                before[*next].push(*block);
            }
        }
        let headers: BTreeSet<usize> = backs.iter().map(|(_, header)| *header).collect();
        for header in headers {
            let mut inside = BTreeSet::from([header]);
            let mut open: Vec<usize> =
                backs.iter().filter(|(_, to)| *to == header).map(|(from, _)| *from).collect();
            while let Some(block) = open.pop() {
                if inside.insert(block) {
                    open.extend(&before[block]);
                }
            }
            let blocks: Vec<usize> =
                self.order.iter().copied().filter(|block| inside.contains(block)).collect();
            let own = blocks.iter().flat_map(|it| &steps[self.blocks[*it].start..self.blocks[*it].end]);
            let mut written: Vec<u32> = own.flat_map(|step| step.to.iter().copied()).collect();
            written.sort_unstable();
            written.dedup();
            let mut contained = Set::default();
            blocks.iter().for_each(|it| contained.insert(*it));
            self.loops.push(Loop { header, outer: None, blocks, contained, written });
        }
        // The smallest loop around a block is the innermost.
        self.loops.sort_by_key(|it| it.blocks.len());
        for index in 0..self.loops.len() {
            let header = self.loops[index].header;
            let around = |it: &Loop| it.header != header && it.contained.contains(header);
            self.blocks[header].heads = Some(index);
            self.loops[index].outer =
                self.loops[index + 1..].iter().find(|it| around(it)).map(|it| it.header);
            for block in self.loops[index].blocks.clone() {
                self.blocks[block].inside.get_or_insert(header);
            }
        }
    }

    pub(crate) fn loop_at(&self, header: usize) -> Option<&Loop> {
        self.blocks.get(header)?.heads.and_then(|index| self.loops.get(index))
    }
}
