//! The abstract interpreter: one pass over the blocks of the kernel, or of a loop.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::domain::{State, Test, Value};
use crate::effort::{LOOP_DEPTH, PARTITIONED, SPLITS};
use crate::engine::analysis::{Analysis, Doubt};
use crate::ir::{Effect, Graph, Loop, Op, Origin, Step};

/// Why the analysis gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// More work than the budget.
    Budget,
    /// A loop that is entered at two places.
    Irreducible(usize),
    /// A step is refused, or no memory suffices for an access.
    Refused,
}

/// States at the starts of blocks.
pub(crate) type Ends = Vec<(usize, State)>;

pub(crate) struct Interpreter<'w, 'a> {
    pub(crate) analysis: &'w mut Analysis<'a>,
    pub(crate) graph: &'w Graph,
    /// Loops whose rounds are not gone through one by one.
    pub(crate) not_unrolled: BTreeSet<usize>,
    pub(crate) round_steps: u64,
    /// Loops that are open.
    depth: u32,
    /// The tests at branches, for candidate invariants.
    pub(crate) tests: Vec<Rc<Test>>,
    /// The tests at branches out of a loop, or at the end of the thread, with their blocks.
    pub(crate) leaving: Vec<(usize, Rc<Test>)>,
    /// Whether a try without partitions would go another way: states arrived that differ in a flag or in what
    /// an address counts from, or floating-point numbers are compared.
    pub(crate) could_partition: bool,
}

/// Returns the state at each of the blocks.
fn to_each(blocks: &[usize], state: State) -> Ends {
    let Some((last, others)) = blocks.split_last() else { return Ends::new() };
    let mut ends: Ends = others.iter().map(|block| (*block, state.clone())).collect();
    ends.push((*last, state));
    ends
}

impl<'w, 'a> Interpreter<'w, 'a> {
    pub(crate) fn new(analysis: &'w mut Analysis<'a>, graph: &'w Graph) -> Self {
        let (not_unrolled, tests, leaving) = (BTreeSet::new(), Vec::new(), Vec::new());
        let could_partition = analysis.kernel.steps.iter().any(Step::compares_floats);
        Self { analysis, graph, not_unrolled, round_steps: 0, depth: 0, tests, leaving, could_partition }
    }

    /// Goes through the whole kernel.
    pub(crate) fn run(&mut self) -> Result<(), GaveUp> {
        if self.graph.blocks.is_empty() {
            return Ok(());
        }
        let registers = vec![Value::Unset; self.analysis.kernel.registers.len()];
        let start = State::new(registers);
        let graph = self.graph;
        self.pass(&graph.order, None, vec![(0, start)])?;
        self.spend()
    }

    /// Counts the work of a copy of a state, or of a look at all of its registers.
    pub(super) fn count_registers(&mut self) {
        self.analysis.symbols.work += self.analysis.kernel.registers.len() as u64 / 16;
    }

    /// Returns whether the budget is used up: what is done until the next [`spend`](Self::spend) is in vain.
    pub(super) fn is_spent(&self) -> bool {
        // A part of the work is left for the other way.
        let is_part = self.analysis.is_partitioned && self.could_partition;
        self.analysis.spent() > if is_part { self.analysis.limit / PARTITIONED } else { self.analysis.limit }
    }

    fn spend(&self) -> Result<(), GaveUp> {
        if self.analysis.doubt.is_some() || self.analysis.beyond.is_some() {
            return Err(GaveUp::Refused);
        }
        if self.is_spent() { Err(GaveUp::Budget) } else { Ok(()) }
    }

    /// Goes through the blocks of a loop or of the kernel, each once. Returns the states at the back edges to
    /// the header, and at the exits.
    pub(crate) fn pass(
        &mut self,
        order: &[usize],
        header: Option<usize>,
        entry: Ends,
    ) -> Result<(Vec<State>, Ends), GaveUp> {
        let graph = self.graph;
        self.analysis.symbols.work += 1 + graph.blocks.len() as u64 / 16;
        // The states that wait at blocks. They are few.
        let mut open = Ends::new();
        let (mut backs, mut exits) = (Vec::new(), Vec::new());
        let mut arrivals = entry;
        let mut is_entry = true;
        let mut done = vec![false; graph.blocks.len()];
        for at in std::iter::once(None).chain(order.iter().copied().map(Some)) {
            if let Some(block) = at {
                done[block] = true;
                let states = open.extract_if(.., |(at, _)| *at == block).map(|(_, state)| state).collect();
                for state in self.partition(states, block) {
                    match graph.loop_at(block).filter(|_| header != Some(block)) {
                        Some(_) if self.depth == LOOP_DEPTH => return Err(GaveUp::Budget),
                        Some(inner) => {
                            self.depth += 1;
                            arrivals.extend(self.fixpoint(inner, state)?);
                            self.depth -= 1;
                        }
                        None => self.steps(block, graph.blocks[block].start, state, SPLITS, &mut arrivals)?,
                    }
                }
            }
            for (block, mut state) in arrivals.drain(..) {
                let own = graph.blocks[block].inside;
                let is_inner_header =
                    |it: &Loop| it.outer == header && it.header != header.unwrap_or(usize::MAX);
                let is_outside = header
                    .is_some_and(|it| graph.loop_at(it).is_some_and(|it| !it.contained.contains(block)));
                if header == Some(block) && !is_entry {
                    backs.push(state);
                } else if is_outside {
                    exits.push((block, state));
                } else if (own == header || graph.loop_at(block).is_some_and(is_inner_header)) && !done[block]
                {
                    let live = &graph.blocks[block].live;
                    self.analysis.symbols.work += 1 + state.registers.len() as u64 / 64;
                    for (own, mut kept) in state.registers.chunks_mut(64).zip(live.words()) {
                        for value in own {
                            if kept & 1 == 0 && !matches!(value, Value::Unset) {
                                *value = Value::Unset;
                            }
                            kept >>= 1;
                        }
                    }
                    open.push((block, state));
                } else {
                    return Err(GaveUp::Irreducible(graph.blocks[block].start));
                }
            }
            is_entry = false;
        }
        Ok((backs, exits))
    }

    /// Goes through the steps of a block from one on. Adds the states at the blocks that follow.
    fn steps(
        &mut self,
        block: usize,
        start: usize,
        mut state: State,
        splits: u32,
        ends: &mut Ends,
    ) -> Result<(), GaveUp> {
        let graph = self.graph;
        let kernel = self.analysis.kernel;
        for index in start..graph.blocks[block].end {
            self.spend()?;
            let step = &kernel.steps[index];
            let guard = step.guard.map(|guard| self.analysis.test(&state, guard));
            if step.effect() == Effect::Jump {
                ends.extend(self.branch(block, index, state, guard));
                return Ok(());
            }
            // A pointer that is chosen: one case after the other.
            if let Some((test, on, off)) = self.analysis.chosen_pointers(&state, step) {
                self.could_partition = true;
                if self.analysis.is_partitioned && splits > 0 {
                    for (outcome, pointer) in [(true, on), (false, off)] {
                        self.count_registers();
                        let mut case = state.clone();
                        if self.analysis.assume(&mut case, &test, outcome) {
                            self.analysis.set(&mut case, step.to[0], Value::Number(pointer));
                            self.steps(block, index + 1, case, splits - 1, ends)?;
                        }
                    }
                    return Ok(());
                }
            }
            let Some(guard) = guard else {
                self.analysis.step(&mut state, index);
                continue;
            };
            self.count_registers();
            let (mut on, mut off) = (state.clone(), state);
            let is_on = self.analysis.assume(&mut on, &guard, true);
            let is_off = self.analysis.assume(&mut off, &guard, false);
            if is_on {
                self.analysis.step(&mut on, index);
            }
            state = match (is_on, is_off) {
                (true, true) => self.join(&on, &off, None, guard.is_unstable()),
                (true, false) => on,
                (false, true) => off,
                (false, false) => return Ok(()),
            };
        }
        ends.extend(graph.blocks[block].next.first().map(|next| (*next, state)));
        Ok(())
    }

    fn branch(&mut self, block: usize, index: usize, state: State, guard: Option<Rc<Test>>) -> Ends {
        let next = &self.graph.blocks[block].next;
        let is_exit = self.analysis.kernel.steps[index].op == Op::Exit;
        let Some(guard) = guard else {
            return if is_exit { Ends::new() } else { to_each(next, state) };
        };
        self.tests.push(Rc::clone(&guard));
        let own = self.graph.blocks[block].inside;
        if own.is_some() && (is_exit || next.iter().any(|next| self.graph.blocks[*next].inside != own)) {
            self.leaving.push((block, Rc::clone(&guard)));
        }
        self.count_registers();
        let (mut taken, mut passed) = (state.clone(), state);
        let is_last = self.graph.blocks[block].end == self.analysis.kernel.steps.len();
        let (through, targets) =
            if is_last { (None, &next[..]) } else { (next.first(), &next[1.min(next.len())..]) };
        let mut ends = Ends::new();
        if self.analysis.assume(&mut passed, &guard, false) {
            ends.extend(through.map(|next| (*next, passed)));
        }
        if !is_exit && self.analysis.assume(&mut taken, &guard, true) {
            ends.extend(to_each(targets, taken));
        }
        ends
    }

    /// Returns why the analysis gave up, unless an access is outside of all memory: the words for that need
    /// the names of the arguments.
    pub(crate) fn doubt(&self, why: GaveUp) -> Option<Doubt> {
        let kernel = self.analysis.kernel;
        let (step, reason) = match why {
            GaveUp::Refused => return self.analysis.doubt.clone(),
            GaveUp::Irreducible(step) => (step, "a loop is entered at two places"),
            GaveUp::Budget => (0, "the proof takes more work than its budget"),
        };
        let at = kernel.steps.get(step).map_or((0, 0), |step| step.at);
        Some(Doubt { at, reason: reason.to_owned(), origin: (Origin::Exact, at) })
    }
}
