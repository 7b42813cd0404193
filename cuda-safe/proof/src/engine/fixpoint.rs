//! Fixpoint iteration of loops.
//!
//! A loop is [unrolled](super::unroll) if each round decides by itself whether another follows. Otherwise one
//! pass stands for all rounds: the header's registers are claimed to be induction variables, or to lie in an
//! interval, and candidate invariants relate them. All of that holds before the loop, and is checked to be
//! inductive at each back edge of the very pass whose accesses count. What does not hold is weakened, by
//! widening or by dropping the candidate, and the next pass begins.

use std::rc::Rc;

use crate::domain::{Affine, State, Symbol, Test, Value, signed};
use crate::effort::WIDENING_DELAY;
use crate::engine::interpreter::{Ends, GaveUp, Interpreter};
use crate::engine::widening::{Claim, FAR, Invariant, LoopRegister, divided};
use crate::ir::{Loop, Op, Space, Step};

/// The distances that a register has in the next round, at a back edge, in terms of this round.
type Distances = Vec<Option<Affine>>;

impl Interpreter<'_, '_> {
    /// Goes through a loop. Returns the states at its exits.
    pub(crate) fn fixpoint(&mut self, it: &Loop, entry: State) -> Result<Ends, GaveUp> {
        if let Some(exits) = self.unroll(it, &entry)? {
            return Ok(exits);
        }
        let outer_tests = std::mem::take(&mut self.tests);
        let was_recording = std::mem::replace(&mut self.analysis.is_recording, false);
        let oldest = self.analysis.symbols.count();

        // First, how much do the registers change in a round of which nothing is known?
        let mut claimed = self.unknown(it, &entry);
        let state = self.header(&entry, it, &claimed);
        let (backs, _) = self.pass(&it.blocks, Some(it.header), vec![(it.header, state)])?;
        self.first_claims(&mut claimed.registers, &entry, &backs);
        let rounds = self.analysis.symbols.new_counter(FAR);
        claimed.rounds = Some(rounds);
        claimed.candidates = self.candidates(&entry, &mut claimed.registers, rounds, oldest);
        let (mut pass, mut is_narrowed) = (0, false);
        self.analysis.is_recording = was_recording;
        let exits = loop {
            pass += 1;
            let mark = self.analysis.accesses().len();
            let state = self.header(&entry, it, &claimed);
            let (backs, exits) = self.pass(&it.blocks, Some(it.header), vec![(it.header, state)])?;
            if self.is_inductive(&mut claimed, rounds, &entry, &backs, pass) {
                if is_narrowed
                    || !was_recording
                    || pass <= WIDENING_DELAY
                    || !self.narrow(&mut claimed.registers, &entry, &backs)
                {
                    break exits;
                }
                is_narrowed = true;
            }
            self.analysis.forget(mark);
        };
        self.tests = outer_tests;
        Ok(exits)
    }

    /// Returns the registers that a loop writes and its header needs, with symbols for how far they went.
    fn unknown(&mut self, it: &Loop, entry: &State) -> Invariant {
        let live = &self.graph.blocks[it.header].live;
        let mut registers = Vec::new();
        for register in it.written.iter().copied().filter(|register| live.contains(*register as usize)) {
            let Some(Value::Number(before)) = entry.registers.get(register as usize) else { continue };
            let (origin, at) = self.analysis.symbols.origin(before);
            let symbol = self.analysis.symbols.new_symbol(-FAR, FAR, origin, at);
            let is_unstable = self.analysis.symbols.is_unstable(before);
            let claim = if is_unstable { Claim::Unstable } else { Claim::Interval(before.clone(), 1, None) };
            let (bits, before, thresholds) = (self.analysis.bits(register), before.clone(), Vec::new());
            registers.push(LoopRegister {
                register,
                bits,
                before,
                claim,
                symbol,
                fallback: None,
                thresholds,
            });
        }
        Invariant { registers, candidates: Vec::new(), rounds: None }
    }

    /// Makes the state at the header, in any round.
    fn header(&mut self, entry: &State, it: &Loop, claimed: &Invariant) -> State {
        let mut state = entry.clone();
        if self.writes_stack(it) {
            state.kept.forget_stack(None);
        }
        for register in &it.written {
            if let Some(value) = state.registers.get_mut(*register as usize) {
                *value = match value {
                    Value::Test(_) => Value::Test(Rc::new(Test::Unknown)),
                    _ => Value::Unset,
                };
            }
        }
        let symbols = &mut self.analysis.symbols;
        for one in &claimed.registers {
            let own = Affine::symbol(one.symbol);
            let value = match (&one.claim, claimed.rounds) {
                (Claim::Induction(step), Some(rounds)) => one.before.plus(&Affine::symbol(rounds), *step),
                (Claim::Interval(from, factor, range), Some(_)) => {
                    let (low, high) = range.unwrap_or((-FAR, FAR));
                    symbols.assume(&mut state, &own, high);
                    if let Some(own) = own.times(-1) {
                        symbols.assume(&mut state, &own, -low);
                    }
                    from.plus(&own, *factor)
                }
                (Claim::Unstable, _) => None,
                (_, None) => one.before.plus(&own, 1),
            };
            let value = value.map_or(Value::Unset, Value::Number);
            if let Some(own) = state.registers.get_mut(one.register as usize) {
                *own = value;
            }
        }
        for (expr, bound) in &claimed.candidates {
            symbols.assume_candidate(&mut state, expr, *bound);
        }
        state
    }

    /// Returns whether a loop reads numbers from the stack that it does not write.
    pub(crate) fn reads_stack(&self, it: &Loop) -> bool {
        let is_load = |step: &Step| step.op == Op::Load && step.space == Space::Local;
        !self.writes_stack(it) && self.steps_of(it).any(is_load)
    }

    fn steps_of(&self, it: &Loop) -> impl Iterator<Item = &Step> {
        let blocks = it.blocks.iter().map(|block| &self.graph.blocks[*block]);
        blocks.flat_map(|block| &self.analysis.kernel.steps[block.start..block.end])
    }

    /// Returns whether a loop may write on the stack.
    fn writes_stack(&self, it: &Loop) -> bool {
        self.steps_of(it).any(Step::may_write_stack)
    }

    /// Checks at the back edges what the header claims. Weakens what does not hold, and returns whether
    /// everything held.
    fn is_inductive(
        &mut self,
        claimed: &mut Invariant,
        rounds: Symbol,
        entry: &State,
        backs: &[State],
        pass: u32,
    ) -> bool {
        if backs.is_empty() {
            return true;
        }
        let Invariant { registers, candidates, .. } = claimed;
        let mut holds = true;
        let mut next: Vec<Distances> = vec![Vec::new(); backs.len()];
        for one in registers.iter_mut() {
            let is_unstable = backs.iter().any(|state| self.is_unstable(state, one.register));
            if is_unstable && !matches!(one.claim, Claim::Unstable) {
                holds = false;
                one.claim = Claim::Unstable;
                candidates.retain(|(expr, _)| expr.coefficient(one.symbol) == 0);
            }
            let (is_step, found) = self.found(one, rounds, backs, &mut next);
            match &one.claim {
                // Any value is the expression plus some number.
                Claim::Unstable | Claim::Interval(_, _, None) => {}
                Claim::Interval(_, _, Some((low, high))) => {
                    if !found.is_some_and(|found| found.0 >= *low && found.1 <= *high) {
                        holds = false;
                        self.widen(one, found, pass);
                    }
                }
                Claim::Induction(_) if is_step => {}
                Claim::Induction(_) => {
                    holds = false;
                    let fallback = one.fallback.take();
                    one.claim = fallback.unwrap_or_else(|| self.start_interval(one, entry, 1));
                    if matches!(one.claim, Claim::Interval(_, _, None)) {
                        self.give_up_on(one);
                    }
                    // The symbol means another distance now.
                    candidates.retain(|(expr, _)| expr.coefficient(one.symbol) == 0);
                }
            }
        }
        let before = candidates.len();
        self.retain_inductive(candidates, registers, rounds, backs.iter().zip(&next));
        holds && candidates.len() == before
    }

    /// Returns whether a register is the induction variable that it is claimed to be, and the interval of its
    /// distances at the back edges. Adds the distance at each.
    fn found(
        &mut self,
        one: &LoopRegister,
        rounds: Symbol,
        backs: &[State],
        next: &mut [Distances],
    ) -> (bool, Option<(i128, i128)>) {
        let (mut is_step, mut range) = (true, None);
        for (state, next) in backs.iter().zip(next) {
            let distance = self.distance(one, state);
            next.push(match &one.claim {
                Claim::Induction(step) => {
                    let expected = Affine::symbol(rounds).times(*step).and_then(|it| it.add(*step));
                    let rest = distance.zip(expected).and_then(|(one, other)| one.plus(&other, -1));
                    is_step &=
                        rest.and_then(|it| it.as_constant()).is_some_and(|it| signed(it, one.bits) == 0);
                    None
                }
                Claim::Unstable => None,
                Claim::Interval(_, factor, claimed) => {
                    let distance = distance.and_then(|it| divided(&it, *factor));
                    let symbols = &mut self.analysis.symbols;
                    let own = distance.as_ref().and_then(|it| match claimed {
                        Some(claimed) if symbols.is_within(state, it, *claimed) => Some(*claimed),
                        _ => symbols.range(state, it),
                    });
                    range = match (range, own) {
                        (None, Some(own)) => Some(Some(own)),
                        (Some(Some((low, high))), Some(own)) => Some(Some((own.0.min(low), own.1.max(high)))),
                        _ => Some(None),
                    };
                    distance
                }
            });
        }
        (is_step, range.flatten())
    }

    /// Keeps the candidates that hold at each back edge for the values of the next round.
    fn retain_inductive<'n>(
        &mut self,
        candidates: &mut Vec<(Affine, i128)>,
        registers: &[LoopRegister],
        rounds: Symbol,
        backs: impl Iterator<Item = (&'n State, &'n Distances)> + Clone,
    ) {
        let has_no_range = |it: &&LoopRegister| matches!(it.claim, Claim::Interval(_, _, None));
        let gone: Vec<Symbol> = registers.iter().filter(has_no_range).map(|it| it.symbol).collect();
        candidates.retain(|(expr, bound)| {
            !gone.iter().any(|symbol| expr.coefficient(*symbol) != 0)
                && backs.clone().all(|(state, next)| {
                    // All at once: a distance is in terms of the others.
                    let mut after = Affine::constant(expr.constant);
                    for (symbol, factor) in &expr.terms {
                        let own = if *symbol == rounds {
                            Affine::symbol(rounds).add(1)
                        } else if let Some(at) = registers.iter().position(|it| it.symbol == *symbol) {
                            next.get(at).cloned().flatten()
                        } else {
                            Some(Affine::symbol(*symbol))
                        };
                        let Some(sum) = own.and_then(|own| after.plus(&own, *factor)) else { return false };
                        after = sum;
                    }
                    self.analysis.symbols.is_at_most(state, &after, *bound)
                })
        });
    }
}
