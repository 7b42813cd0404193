//! Goes through loops.
//!
//! A loop is tried in two ways. If each round decides by itself whether another follows, the rounds are gone
//! through one by one. Otherwise all rounds are gone through at once: the header's registers are what they
//! were before the loop, plus their step times the number of rounds, or somewhere in a range. What is claimed
//! of the header is an invariant: it holds before the loop, and it is verified at each back edge to the
//! header, in the very pass whose accesses count.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::domain::{Affine, State, Symbol, Test, Value, gcd, range_of, signed};
use crate::engine::interpreter::{Ends, GaveUp, Interpreter};
use crate::ir::{Loop, Op, Space, Step};

/// Tests that are looked at for invariants of a loop.
const MOST_TESTS: u32 = 200;
/// Passes through a loop that take a range as it is found. Later ones take more, so that they come to an end.
const WIDENING_DELAY: u32 = 4;
/// Numbers that a register is compared with, of which the ranges of a loop make use.
const THRESHOLDS: usize = 4;
/// Registers of which any two may be the ends of a range.
const MOST_ENDS: usize = 4;
/// A displacement that a register cannot have.
const FAR: i128 = 1 << 66;

/// Returns an expression divided by a number, if that leaves nothing over.
fn divided(expr: &Affine, by: i128) -> Option<Affine> {
    (expr.constant % by == 0 && expr.divisor() % by == 0).then(|| Affine {
        constant: expr.constant / by,
        terms: expr.terms.iter().map(|(symbol, own)| (*symbol, own / by)).collect(),
    })
}

/// What a loop does to a register.
#[derive(Clone, Debug)]
enum Claim {
    /// It grows by the number in each round.
    Step(i128),
    /// It is the expression, plus the factor times a number in the range.
    Range(Affine, i128, Option<(i128, i128)>),
    /// Each use may see another value.
    Lost,
}

/// A register that a loop writes.
struct LoopRegister {
    register: u32,
    bits: u8,
    /// Its value before the loop.
    before: Affine,
    claim: Claim,
    /// The symbol that says how far it is from there, unless `change` is a step.
    symbol: Symbol,
    /// What is claimed if `change` does not hold.
    other: Option<Claim>,
    /// Numbers that the loop compares it with: ends of ranges to claim.
    thresholds: Vec<i128>,
}

impl LoopRegister {
    /// Keeps the number that a register is compared with, if its difference from the register is the
    /// expression.
    fn note_threshold(&mut self, expr: Option<&Affine>) {
        let (Some(expr), Claim::Range(..)) = (expr, &self.claim) else { return };
        let sign = expr.coefficient(self.symbol);
        if sign.abs() != 1 || self.thresholds.len() >= THRESHOLDS {
            return;
        }
        let value = self.before.plus(&Affine::symbol(self.symbol), 1);
        let number =
            expr.times(sign).zip(value).and_then(|(expr, value)| value.plus(&expr, -1)?.as_constant());
        self.thresholds.extend(number);
    }
}

impl Interpreter<'_, '_> {
    /// Goes through a loop. Returns the states at its exits.
    pub(crate) fn fixpoint(&mut self, it: &Loop, entry: State) -> Result<Ends, GaveUp> {
        if let Some(exits) = self.unroll(it, &entry)? {
            return Ok(exits);
        }
        let outer_tests = std::mem::take(&mut self.tests);
        let was_recording = std::mem::replace(&mut self.analysis.is_recording, false);
        let oldest = self.analysis.symbols.count();

        // First, how much do the registers change in a round?
        let mut registers = self.loop_registers(it, &entry);
        let state = self.header(&entry, it, &registers, None, &[]);
        let (backs, _) = self.pass(&it.blocks, Some(it.header), vec![(it.header, state)])?;
        for one in &mut registers {
            if !matches!(one.claim, Claim::Lost) {
                one.claim = self.first_claim(one, &entry, &backs, false);
                // A counter of 64 bits that is read as one of 32: in a round of which nothing is known, that
                // may wrap. A hope that it does not, which is verified like all else.
                if one.bits == 64 && matches!(one.claim, Claim::Range(..)) {
                    let hope = self.first_claim(one, &entry, &backs, true);
                    if matches!(hope, Claim::Step(_)) {
                        one.other = Some(std::mem::replace(&mut one.claim, hope));
                    }
                }
            }
        }
        let rounds = self.analysis.symbols.new_counter(FAR);
        let mut constraints = self.candidates(&entry, &mut registers, rounds, oldest);
        let (mut pass, mut is_narrowed) = (0, false);
        self.analysis.is_recording = was_recording;
        let exits = loop {
            pass += 1;
            let mark = self.analysis.accesses().len();
            let state = self.header(&entry, it, &registers, Some(rounds), &constraints);
            let (backs, exits) = self.pass(&it.blocks, Some(it.header), vec![(it.header, state)])?;
            if self.is_inductive(&mut registers, &mut constraints, &entry, &backs, rounds, pass) {
                if is_narrowed
                    || !was_recording
                    || pass <= WIDENING_DELAY
                    || !self.narrow(&mut registers, &entry, &backs)
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
    fn loop_registers(&mut self, it: &Loop, entry: &State) -> Vec<LoopRegister> {
        let live = &self.graph.blocks[it.header].live;
        let mut list = Vec::new();
        for register in it.written.iter().copied().filter(|register| live.contains(*register as usize)) {
            let Some(Value::Number(before)) = entry.registers.get(register as usize) else { continue };
            let (origin, at) = self.analysis.symbols.origin(before);
            let symbol = self.analysis.symbols.new_symbol(-FAR, FAR, origin, at);
            let is_lost = self.analysis.symbols.is_unstable(before);
            let (bits, before) = (self.analysis.bits(register), Affine::clone(before));
            let claim = if is_lost { Claim::Lost } else { Claim::Range(before.clone(), 1, None) };
            list.push(LoopRegister {
                register,
                bits,
                before,
                claim,
                symbol,
                other: None,
                thresholds: Vec::new(),
            });
        }
        list
    }

    /// Makes the state at the header, in any round.
    fn header(
        &mut self,
        entry: &State,
        it: &Loop,
        registers: &[LoopRegister],
        rounds: Option<Symbol>,
        constraints: &[(Affine, i128)],
    ) -> State {
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
        for one in registers {
            let own = Affine::symbol(one.symbol);
            let value = match (&one.claim, rounds) {
                (Claim::Step(step), Some(rounds)) => one.before.plus(&Affine::symbol(rounds), *step),
                (Claim::Range(from, factor, range), Some(_)) => {
                    let (low, high) = range.unwrap_or((-FAR, FAR));
                    symbols.assume(&mut state, &own, high);
                    if let Some(own) = own.times(-1) {
                        symbols.assume(&mut state, &own, -low);
                    }
                    from.plus(&own, *factor)
                }
                (Claim::Lost, _) => None,
                (_, None) => one.before.plus(&own, 1),
            };
            let value = value.map_or(Value::Unset, Value::Number);
            if let Some(own) = state.registers.get_mut(one.register as usize) {
                *own = value;
            }
        }
        for (expr, bound) in constraints {
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

    /// Returns what a round does to a register, from the back edges of a round in which nothing was known.
    /// With `hopes`, multiples of `2^32` do not count.
    fn first_claim(&mut self, one: &LoopRegister, entry: &State, backs: &[State], hopes: bool) -> Claim {
        if backs.iter().any(|state| self.is_lost(state, one.register)) {
            return Claim::Lost;
        }
        let at_header = one.before.plus(&Affine::symbol(one.symbol), 1);
        let (mut factor, mut constant) = (0, None);
        for state in backs {
            let Some(Value::Number(value)) = state.registers.get(one.register as usize) else {
                return self.start_interval(one, entry, 1);
            };
            let difference = at_header.as_ref().and_then(|before| value.plus(before, -1));
            let Some(mut difference) = difference.filter(|it| !self.analysis.symbols.has_region(it)) else {
                return self.start_interval(one, entry, 1);
            };
            if hopes {
                difference.terms.retain(|(_, own)| *own % (1 << 32) != 0);
            }
            factor = gcd(factor, gcd(difference.divisor(), difference.constant));
            let own = difference.as_constant().map(|value| signed(value, one.bits));
            constant = Some(constant.map_or(own, |known: Option<i128>| known.filter(|it| own == Some(*it))));
        }
        match constant {
            Some(Some(step)) => Claim::Step(step),
            _ => self.start_interval(one, entry, factor.max(1)),
        }
    }

    /// Returns whether a register may have another value at each use.
    fn is_lost(&self, state: &State, register: u32) -> bool {
        match state.registers.get(register as usize) {
            Some(Value::Number(value)) => self.analysis.symbols.is_unstable(value),
            _ => true,
        }
    }

    /// Returns the range that a register has before the loop, as a first guess.
    fn start_interval(&mut self, one: &LoopRegister, entry: &State, factor: i128) -> Claim {
        let symbols = &mut self.analysis.symbols;
        if factor > 1 {
            return Claim::Range(one.before.clone(), factor, Some((0, 0)));
        }
        let region = Affine {
            constant: 0,
            terms: one
                .before
                .terms
                .iter()
                .copied()
                .filter(|(symbol, _)| symbols.region(*symbol).is_some())
                .collect(),
        };
        let rest = one.before.plus(&region, -1);
        let range = rest.and_then(|rest| symbols.range(entry, &rest, 2));
        Claim::Range(region, 1, range)
    }

    /// Guesses invariants from the tests at branches, and keeps those that hold before the loop.
    fn candidates(
        &mut self,
        entry: &State,
        registers: &mut [LoopRegister],
        rounds: Symbol,
        oldest: usize,
    ) -> Vec<(Affine, i128)> {
        let count = Affine::symbol(rounds);
        let mut exprs: Vec<Affine> = Vec::new();
        let mut open = std::mem::take(&mut self.tests);
        let mut left = MOST_TESTS;
        while let Some(test) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match &*test {
                Test::Not(one) => open.push(Rc::clone(one)),
                Test::And(one, other, _) => open.extend([Rc::clone(one), Rc::clone(other)]),
                Test::Compare { a, b, .. } => {
                    let mut expr = a.plus(b, -1);
                    for one in &mut *registers {
                        one.note_threshold(expr.as_ref());
                        if let Claim::Step(step) = one.claim {
                            let distance = count.times(step);
                            expr = expr
                                .zip(distance)
                                .and_then(|(expr, distance)| expr.replace(one.symbol, &distance));
                        }
                    }
                    exprs.extend(expr);
                }
                _ => {}
            }
        }
        let own: BTreeSet<Symbol> =
            registers.iter().filter(|it| !matches!(it.claim, Claim::Step(_))).map(|it| it.symbol).collect();
        let mut constraints: Vec<(Affine, i128)> = Vec::new();
        let push = |expr: Option<Affine>, bound: i128, constraints: &mut Vec<(Affine, i128)>| {
            if let Some(expr) = expr.filter(|expr| expr.terms.len() <= 6)
                && !constraints.iter().any(|it| (&it.0, it.1) == (&expr, bound))
            {
                constraints.push((expr, bound));
            }
        };
        for expr in &exprs {
            let is_known =
                |symbol: Symbol| symbol == rounds || (symbol as usize) < oldest || own.contains(&symbol);
            // What was read of a register that may wrap is an expression minus multiples of a power of two:
            // guess that it does not.
            let mut expr = expr.clone();
            expr.terms.retain(|(symbol, own)| is_known(*symbol) || *own % (1 << 32) != 0);
            let factor = expr.coefficient(rounds);
            if factor == 0
                || !expr.terms.iter().all(|(symbol, _)| is_known(*symbol))
                || self.analysis.symbols.has_region(&expr)
            {
                continue;
            }
            let step = expr.divisor().max(1);
            let earlier = expr.add(-factor);
            for expr in [earlier, Some(expr.clone())] {
                for sign in [1, -1] {
                    for bound in [-1, 0, -step] {
                        push(expr.as_ref().and_then(|it| it.times(sign)), bound, &mut constraints);
                    }
                }
            }
        }
        // Two ends of a range that come nearer: nobody compares them but at the back edge.
        let ends: Vec<(Affine, u8)> = registers
            .iter()
            .filter_map(|it| match &it.claim {
                Claim::Range(from, 1, Some(_)) => Some((from.plus(&Affine::symbol(it.symbol), 1)?, it.bits)),
                _ => None,
            })
            .collect();
        if ends.len() <= MOST_ENDS {
            for ((one, bits), (other, _)) in
                ends.iter().flat_map(|one| ends.iter().map(move |other| (one, other)))
            {
                if one != other && ends.iter().all(|it| it.1 == *bits) {
                    push(one.plus(other, -1), -1, &mut constraints);
                }
            }
        }
        constraints.retain(|(expr, bound)| {
            let start = self.at_entry(expr, registers, rounds);
            start.is_some_and(|start| self.analysis.symbols.is_at_most(entry, &start, 2, *bound))
        });
        constraints
    }

    /// Returns an expression over the header's symbols as it is before the loop.
    fn at_entry(&self, expr: &Affine, registers: &[LoopRegister], rounds: Symbol) -> Option<Affine> {
        let mut expr = expr.replace(rounds, &Affine::constant(0))?;
        for one in registers {
            if expr.coefficient(one.symbol) == 0 {
                continue;
            }
            let distance = match &one.claim {
                Claim::Range(from, 1, _) => one.before.plus(from, -1)?,
                _ => Affine::constant(0),
            };
            expr = expr.replace(one.symbol, &distance)?;
        }
        Some(expr)
    }

    /// Checks at the back edges what the header claims. Weakens what does not hold, and returns whether
    /// everything held.
    fn is_inductive(
        &mut self,
        registers: &mut [LoopRegister],
        constraints: &mut Vec<(Affine, i128)>,
        entry: &State,
        backs: &[State],
        rounds: Symbol,
        pass: u32,
    ) -> bool {
        if backs.is_empty() {
            return true;
        }
        let mut holds = true;
        // The distances in the next round, in the terms of this one.
        let mut next: Vec<Vec<Option<Affine>>> = vec![Vec::new(); backs.len()];
        for one in registers.iter_mut() {
            let mut range = None;
            let mut is_step = true;
            if !matches!(one.claim, Claim::Lost)
                && backs.iter().any(|state| self.is_lost(state, one.register))
            {
                holds = false;
                one.claim = Claim::Lost;
                let symbol = one.symbol;
                constraints.retain(|(expr, _)| expr.coefficient(symbol) == 0);
            }
            for (state, next) in backs.iter().zip(&mut next) {
                let value = match state.registers.get(one.register as usize) {
                    Some(Value::Number(value)) => Some(value),
                    _ => None,
                };
                let from = match &one.claim {
                    Claim::Range(from, ..) => from,
                    _ => &one.before,
                };
                let distance = value.and_then(|value| value.plus(from, -1));
                let distance = distance.filter(|it| !self.analysis.symbols.has_region(it));
                match &one.claim {
                    Claim::Step(step) => {
                        let expected = Affine::symbol(rounds).times(*step).and_then(|it| it.add(*step));
                        let rest =
                            distance.as_ref().zip(expected).and_then(|(one, other)| one.plus(&other, -1));
                        is_step &=
                            rest.and_then(|it| it.as_constant()).is_some_and(|it| signed(it, one.bits) == 0);
                        next.push(None);
                    }
                    Claim::Lost => next.push(None),
                    Claim::Range(_, factor, claimed) => {
                        let distance = distance.and_then(|it| divided(&it, *factor));
                        let symbols = &mut self.analysis.symbols;
                        let own = distance.as_ref().and_then(|it| match claimed {
                            Some(claimed) if symbols.is_within(state, it, 2, *claimed) => Some(*claimed),
                            _ => symbols.range(state, it, 2),
                        });
                        range = match (range, own) {
                            (None, Some(own)) => Some(Some(own)),
                            (Some(Some((low, high))), Some(own)) => {
                                Some(Some((own.0.min(low), own.1.max(high))))
                            }
                            _ => Some(None),
                        };
                        next.push(distance);
                    }
                }
            }
            match &one.claim {
                // Any value is the expression plus some number.
                Claim::Lost | Claim::Range(_, _, None) => {}
                Claim::Range(from, factor, Some((low, high))) => {
                    let found = range.flatten();
                    if found.is_some_and(|found| found.0 >= *low && found.1 <= *high) {
                        continue;
                    }
                    holds = false;
                    let widened = found.filter(|_| pass < 14).map(|found| {
                        let types = range_of(one.bits, true);
                        // Of a plain register, the range is that of its value.
                        let is_plain = *factor == 1 && from.as_constant() == Some(0);
                        let own =
                            one.thresholds.iter().filter(|_| is_plain).flat_map(|it| [it - 1, *it, it + 1]);
                        let usual = [255, 256, 1023, 1024, 65_535, 65_536, types.1, 2 * types.1 + 1];
                        let (lower, upper) = if pass < WIDENING_DELAY {
                            found
                        } else {
                            // An end that has held so far stays.
                            let lower =
                                own.clone().chain([0, -1, types.0, *low]).filter(|it| *it <= found.0).max();
                            let upper = own.chain(usual).chain([*high]).filter(|it| *it >= found.1).min();
                            (lower.unwrap_or(-FAR), upper.unwrap_or(FAR))
                        };
                        (lower.min(*low), upper.max(*high))
                    });
                    one.claim =
                        Claim::Range(from.clone(), *factor, widened.filter(|it| it.0 > -FAR && it.1 < FAR));
                    if matches!(one.claim, Claim::Range(_, _, None)) {
                        self.give_up_on(one);
                    }
                }
                Claim::Step(_) if is_step => {}
                _ => {
                    holds = false;
                    let other = one.other.take();
                    one.claim = other.unwrap_or_else(|| self.start_interval(one, entry, 1));
                    if matches!(one.claim, Claim::Range(_, _, None)) {
                        self.give_up_on(one);
                    }
                    // The symbol means another distance now.
                    let symbol = one.symbol;
                    constraints.retain(|(expr, _)| expr.coefficient(symbol) == 0);
                }
            }
        }
        let before = constraints.len();
        let gone: Vec<Symbol> = registers
            .iter()
            .filter(|it| matches!(it.claim, Claim::Range(_, _, None)))
            .map(|it| it.symbol)
            .collect();
        constraints.retain(|(expr, bound)| {
            !gone.iter().any(|symbol| expr.coefficient(*symbol) != 0)
                && backs.iter().zip(&next).all(|(state, next)| {
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
                    self.analysis.symbols.is_at_most(state, &after, 2, *bound)
                })
        });
        holds && constraints.len() == before
    }

    /// Claims less of ranges that hold, but were taken wider than they are found at the back edges. Returns
    /// whether there is one. The narrower claims are verified like all others.
    fn narrow(&mut self, registers: &mut [LoopRegister], entry: &State, backs: &[State]) -> bool {
        let mut is_narrower = false;
        for one in registers {
            let Claim::Range(from, factor, Some(claimed)) = one.claim.clone() else { continue };
            let Claim::Range(start_from, _, Some(start)) = self.start_interval(one, entry, factor) else {
                continue;
            };
            let mut range = Some(start).filter(|_| start_from == from);
            for state in backs {
                let Some((low, high)) = range else { break };
                let own = match state.registers.get(one.register as usize) {
                    Some(Value::Number(value)) => value.plus(&from, -1).and_then(|it| divided(&it, factor)),
                    _ => None,
                };
                let own = own.filter(|it| !self.analysis.symbols.has_region(it));
                let own = own.and_then(|it| self.analysis.symbols.range(state, &it, 2));
                range = own.map(|own| (own.0.min(low), own.1.max(high)));
            }
            let Some((low, high)) = range else { continue };
            let narrower = (low.max(claimed.0), high.min(claimed.1));
            if narrower != claimed {
                one.claim = Claim::Range(from, factor, Some(narrower));
                is_narrower = true;
            }
        }
        is_narrower
    }

    /// Says of a register that it may have any value in the loop.
    fn give_up_on(&mut self, one: &mut LoopRegister) {
        let from = if self.analysis.symbols.has_region(&one.before) {
            // Not even a multiple of an element is known of the distance.
            match &one.claim {
                Claim::Range(from, ..) => from.clone(),
                _ => one.before.clone(),
            }
        } else {
            Affine::constant(0)
        };
        one.claim = Claim::Range(from, 1, None);
    }
}
