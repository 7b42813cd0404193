//! Goes through loops.
//!
//! A loop is tried in two ways. If each round decides by itself whether another follows, the rounds are gone
//! through one by one. Otherwise all rounds are gone through at once: the header's registers are what they
//! were before the loop, plus their step times the number of rounds, or somewhere in a range. What is claimed
//! of the header is an invariant: it holds before the loop, and it is verified at each way back to the
//! header, in the very pass whose accesses count.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::domain::{Form, State, Symbol, Test, Value, gcd, range_of};
use crate::engine::interpreter::{Ends, GaveUp, Walk};
use crate::engine::transfer::signed;
use crate::ir::{Loop, Op, Space, Step};

/// Tests that are looked at for invariants of a loop.
const MOST_TESTS: u32 = 200;
/// Passes through a loop that take a range as it is found. Later ones take more, so that they come to an end.
const EXACT: u32 = 4;
/// Numbers that a register is compared with, of which the ranges of a loop make use.
const MOST_STOPS: usize = 4;
/// Registers of which any two may be the ends of a range.
const MOST_ENDS: usize = 4;
/// A displacement that a register cannot have.
const FAR: i128 = 1 << 66;

/// Returns a form divided by a number, if that leaves nothing over.
fn divided(form: &Form, by: i128) -> Option<Form> {
    (form.constant % by == 0 && form.divisor() % by == 0).then(|| Form {
        constant: form.constant / by,
        terms: form.terms.iter().map(|(symbol, own)| (*symbol, own / by)).collect(),
    })
}

/// What a loop does to a register.
#[derive(Clone, Debug)]
enum Change {
    /// It grows by the number in each round.
    Step(i128),
    /// It is the form, plus the factor times a number in the range.
    Range(Form, i128, Option<(i128, i128)>),
    /// Each use may see another value.
    Lost,
}

/// A register that a loop writes.
struct Changed {
    register: u32,
    bits: u8,
    /// Its value before the loop.
    before: Form,
    change: Change,
    /// The symbol that says how far it is from there, unless `change` is a step.
    symbol: Symbol,
    /// What is claimed if `change` does not hold.
    other: Option<Change>,
    /// Numbers that the loop compares it with: ends of ranges to claim.
    stops: Vec<i128>,
}

impl Changed {
    /// Keeps the number that a register is compared with, if its difference from the register is the form.
    fn note_stop(&mut self, form: Option<&Form>) {
        let (Some(form), Change::Range(..)) = (form, &self.change) else { return };
        let sign = form.coefficient(self.symbol);
        if sign.abs() != 1 || self.stops.len() >= MOST_STOPS {
            return;
        }
        let value = self.before.plus(&Form::symbol(self.symbol), 1);
        let number =
            form.times(sign).zip(value).and_then(|(form, value)| value.plus(&form, -1)?.as_constant());
        self.stops.extend(number);
    }
}

impl Walk<'_, '_> {
    /// Goes through a loop. Returns the states at its ways out.
    pub(crate) fn repeat(&mut self, it: &Loop, entry: State) -> Result<Ends, GaveUp> {
        if let Some(exits) = self.by_rounds(it, &entry)? {
            return Ok(exits);
        }
        let outer_tests = std::mem::take(&mut self.tests);
        let was_recording = std::mem::replace(&mut self.analysis.is_recording, false);
        let oldest = self.analysis.symbols.count();

        // First, how much do the registers change in a round?
        let mut changed = self.changed(it, &entry);
        let state = self.header(&entry, it, &changed, None, &[]);
        let (backs, _) = self.region(&it.blocks, Some(it.header), vec![(it.header, state)])?;
        for one in &mut changed {
            if !matches!(one.change, Change::Lost) {
                one.change = self.change(one, &entry, &backs, false);
                // A counter of 64 bits that is read as one of 32: in a round of which nothing is known, that
                // may wrap. A hope that it does not, which is verified like all else.
                if one.bits == 64 && matches!(one.change, Change::Range(..)) {
                    let hope = self.change(one, &entry, &backs, true);
                    if matches!(hope, Change::Step(_)) {
                        one.other = Some(std::mem::replace(&mut one.change, hope));
                    }
                }
            }
        }
        let rounds = self.analysis.symbols.new_counter(FAR);
        let mut facts = self.guesses(&entry, &mut changed, rounds, oldest);
        let (mut pass, mut is_narrowed) = (0, false);
        self.analysis.is_recording = was_recording;
        let exits = loop {
            pass += 1;
            let mark = self.analysis.accesses().len();
            let state = self.header(&entry, it, &changed, Some(rounds), &facts);
            let (backs, exits) = self.region(&it.blocks, Some(it.header), vec![(it.header, state)])?;
            if self.verify(&mut changed, &mut facts, &entry, &backs, rounds, pass) {
                if is_narrowed
                    || !was_recording
                    || pass <= EXACT
                    || !self.narrow(&mut changed, &entry, &backs)
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
    fn changed(&mut self, it: &Loop, entry: &State) -> Vec<Changed> {
        let needed = &self.graph.blocks[it.header].needed;
        let mut list = Vec::new();
        for register in it.written.iter().copied().filter(|register| needed.contains(*register as usize)) {
            let Some(Value::Number(before)) = entry.registers.get(register as usize) else { continue };
            let (origin, at) = self.analysis.symbols.origin(before);
            let symbol = self.analysis.symbols.new_symbol(-FAR, FAR, origin, at);
            let is_lost = self.analysis.symbols.is_unstable(before);
            let (bits, before) = (self.analysis.bits(register), Form::clone(before));
            let change = if is_lost { Change::Lost } else { Change::Range(before.clone(), 1, None) };
            list.push(Changed { register, bits, before, change, symbol, other: None, stops: Vec::new() });
        }
        list
    }

    /// Makes the state at the header, in any round.
    fn header(
        &mut self,
        entry: &State,
        it: &Loop,
        changed: &[Changed],
        rounds: Option<Symbol>,
        facts: &[(Form, i128)],
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
        for one in changed {
            let own = Form::symbol(one.symbol);
            let value = match (&one.change, rounds) {
                (Change::Step(step), Some(rounds)) => one.before.plus(&Form::symbol(rounds), *step),
                (Change::Range(from, factor, range), Some(_)) => {
                    let (low, high) = range.unwrap_or((-FAR, FAR));
                    symbols.assume(&mut state, &own, high);
                    if let Some(own) = own.times(-1) {
                        symbols.assume(&mut state, &own, -low);
                    }
                    from.plus(&own, *factor)
                }
                (Change::Lost, _) => None,
                (_, None) => one.before.plus(&own, 1),
            };
            let value = value.map_or(Value::Unset, Value::Number);
            if let Some(own) = state.registers.get_mut(one.register as usize) {
                *own = value;
            }
        }
        for (form, bound) in facts {
            symbols.claim(&mut state, form, *bound);
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

    /// Returns what a round does to a register, from the ways back of a round in which nothing was known.
    /// With `hopes`, multiples of `2^32` do not count.
    fn change(&mut self, one: &Changed, entry: &State, backs: &[State], hopes: bool) -> Change {
        if backs.iter().any(|state| self.is_lost(state, one.register)) {
            return Change::Lost;
        }
        let at_header = one.before.plus(&Form::symbol(one.symbol), 1);
        let (mut factor, mut constant) = (0, None);
        for state in backs {
            let Some(Value::Number(value)) = state.registers.get(one.register as usize) else {
                return self.range_from(one, entry, 1);
            };
            let difference = at_header.as_ref().and_then(|before| value.plus(before, -1));
            let Some(mut difference) = difference.filter(|it| !self.analysis.symbols.has_base(it)) else {
                return self.range_from(one, entry, 1);
            };
            if hopes {
                difference.terms.retain(|(_, own)| *own % (1 << 32) != 0);
            }
            factor = gcd(factor, gcd(difference.divisor(), difference.constant));
            let own = difference.as_constant().map(|value| signed(value, one.bits));
            constant = Some(constant.map_or(own, |known: Option<i128>| known.filter(|it| own == Some(*it))));
        }
        match constant {
            Some(Some(step)) => Change::Step(step),
            _ => self.range_from(one, entry, factor.max(1)),
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
    fn range_from(&mut self, one: &Changed, entry: &State, factor: i128) -> Change {
        let symbols = &mut self.analysis.symbols;
        if factor > 1 {
            return Change::Range(one.before.clone(), factor, Some((0, 0)));
        }
        let base = Form {
            constant: 0,
            terms: one
                .before
                .terms
                .iter()
                .copied()
                .filter(|(symbol, _)| symbols.base(*symbol).is_some())
                .collect(),
        };
        let rest = one.before.plus(&base, -1);
        let range = rest.and_then(|rest| symbols.range(entry, &rest, 2));
        Change::Range(base, 1, range)
    }

    /// Guesses invariants from the tests at branches, and keeps those that hold before the loop.
    fn guesses(
        &mut self,
        entry: &State,
        changed: &mut [Changed],
        rounds: Symbol,
        oldest: usize,
    ) -> Vec<(Form, i128)> {
        let count = Form::symbol(rounds);
        let mut forms: Vec<Form> = Vec::new();
        let mut open = std::mem::take(&mut self.tests);
        let mut left = MOST_TESTS;
        while let Some(test) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match &*test {
                Test::Not(one) => open.push(Rc::clone(one)),
                Test::And(one, other, _) => open.extend([Rc::clone(one), Rc::clone(other)]),
                Test::Compare { a, b, .. } => {
                    let mut form = a.plus(b, -1);
                    for one in &mut *changed {
                        one.note_stop(form.as_ref());
                        if let Change::Step(step) = one.change {
                            let distance = count.times(step);
                            form = form
                                .zip(distance)
                                .and_then(|(form, distance)| form.replace(one.symbol, &distance));
                        }
                    }
                    forms.extend(form);
                }
                _ => {}
            }
        }
        let own: BTreeSet<Symbol> =
            changed.iter().filter(|it| !matches!(it.change, Change::Step(_))).map(|it| it.symbol).collect();
        let mut facts: Vec<(Form, i128)> = Vec::new();
        let push = |form: Option<Form>, bound: i128, facts: &mut Vec<(Form, i128)>| {
            if let Some(form) = form.filter(|form| form.terms.len() <= 6)
                && !facts.iter().any(|it| (&it.0, it.1) == (&form, bound))
            {
                facts.push((form, bound));
            }
        };
        for form in &forms {
            let is_known =
                |symbol: Symbol| symbol == rounds || (symbol as usize) < oldest || own.contains(&symbol);
            // What was read of a register that may wrap is a form minus multiples of a power of two: guess
            // that it does not.
            let mut form = form.clone();
            form.terms.retain(|(symbol, own)| is_known(*symbol) || *own % (1 << 32) != 0);
            let factor = form.coefficient(rounds);
            if factor == 0
                || !form.terms.iter().all(|(symbol, _)| is_known(*symbol))
                || self.analysis.symbols.has_base(&form)
            {
                continue;
            }
            let step = form.divisor().max(1);
            let earlier = form.add(-factor);
            for form in [earlier, Some(form.clone())] {
                for sign in [1, -1] {
                    for bound in [-1, 0, -step] {
                        push(form.as_ref().and_then(|it| it.times(sign)), bound, &mut facts);
                    }
                }
            }
        }
        // Two ends of a range that come nearer: nobody compares them but at the way back.
        let ends: Vec<(Form, u8)> = changed
            .iter()
            .filter_map(|it| match &it.change {
                Change::Range(from, 1, Some(_)) => Some((from.plus(&Form::symbol(it.symbol), 1)?, it.bits)),
                _ => None,
            })
            .collect();
        if ends.len() <= MOST_ENDS {
            for ((one, bits), (other, _)) in
                ends.iter().flat_map(|one| ends.iter().map(move |other| (one, other)))
            {
                if one != other && ends.iter().all(|it| it.1 == *bits) {
                    push(one.plus(other, -1), -1, &mut facts);
                }
            }
        }
        facts.retain(|(form, bound)| {
            let start = self.at_entry(form, changed, rounds);
            start.is_some_and(|start| self.analysis.symbols.is_at_most(entry, &start, 2, *bound))
        });
        facts
    }

    /// Returns a form over the header's symbols as it is before the loop.
    fn at_entry(&self, form: &Form, changed: &[Changed], rounds: Symbol) -> Option<Form> {
        let mut form = form.replace(rounds, &Form::constant(0))?;
        for one in changed {
            if form.coefficient(one.symbol) == 0 {
                continue;
            }
            let distance = match &one.change {
                Change::Range(from, 1, _) => one.before.plus(from, -1)?,
                _ => Form::constant(0),
            };
            form = form.replace(one.symbol, &distance)?;
        }
        Some(form)
    }

    /// Checks at the ways back what the header claims. Weakens what does not hold, and returns whether
    /// everything held.
    fn verify(
        &mut self,
        changed: &mut [Changed],
        facts: &mut Vec<(Form, i128)>,
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
        let mut next: Vec<Vec<Option<Form>>> = vec![Vec::new(); backs.len()];
        for one in changed.iter_mut() {
            let mut range = None;
            let mut is_step = true;
            if !matches!(one.change, Change::Lost)
                && backs.iter().any(|state| self.is_lost(state, one.register))
            {
                holds = false;
                one.change = Change::Lost;
                let symbol = one.symbol;
                facts.retain(|(form, _)| form.coefficient(symbol) == 0);
            }
            for (state, next) in backs.iter().zip(&mut next) {
                let value = match state.registers.get(one.register as usize) {
                    Some(Value::Number(value)) => Some(value),
                    _ => None,
                };
                let from = match &one.change {
                    Change::Range(from, ..) => from,
                    _ => &one.before,
                };
                let distance = value.and_then(|value| value.plus(from, -1));
                let distance = distance.filter(|it| !self.analysis.symbols.has_base(it));
                match &one.change {
                    Change::Step(step) => {
                        let expected = Form::symbol(rounds).times(*step).and_then(|it| it.add(*step));
                        let rest =
                            distance.as_ref().zip(expected).and_then(|(one, other)| one.plus(&other, -1));
                        is_step &=
                            rest.and_then(|it| it.as_constant()).is_some_and(|it| signed(it, one.bits) == 0);
                        next.push(None);
                    }
                    Change::Lost => next.push(None),
                    Change::Range(_, factor, claimed) => {
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
            match &one.change {
                // Any value is the form plus some number.
                Change::Lost | Change::Range(_, _, None) => {}
                Change::Range(from, factor, Some((low, high))) => {
                    let found = range.flatten();
                    if found.is_some_and(|found| found.0 >= *low && found.1 <= *high) {
                        continue;
                    }
                    holds = false;
                    let widened = found.filter(|_| pass < 14).map(|found| {
                        let types = range_of(one.bits, true);
                        // Of a plain register, the range is that of its value.
                        let is_plain = *factor == 1 && from.as_constant() == Some(0);
                        let own = one.stops.iter().filter(|_| is_plain).flat_map(|it| [it - 1, *it, it + 1]);
                        let usual = [255, 256, 1023, 1024, 65_535, 65_536, types.1, 2 * types.1 + 1];
                        let (lower, upper) = if pass < EXACT {
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
                    one.change =
                        Change::Range(from.clone(), *factor, widened.filter(|it| it.0 > -FAR && it.1 < FAR));
                    if matches!(one.change, Change::Range(_, _, None)) {
                        self.give_up_on(one);
                    }
                }
                Change::Step(_) if is_step => {}
                _ => {
                    holds = false;
                    let other = one.other.take();
                    one.change = other.unwrap_or_else(|| self.range_from(one, entry, 1));
                    if matches!(one.change, Change::Range(_, _, None)) {
                        self.give_up_on(one);
                    }
                    // The symbol means another distance now.
                    let symbol = one.symbol;
                    facts.retain(|(form, _)| form.coefficient(symbol) == 0);
                }
            }
        }
        let before = facts.len();
        let gone: Vec<Symbol> = changed
            .iter()
            .filter(|it| matches!(it.change, Change::Range(_, _, None)))
            .map(|it| it.symbol)
            .collect();
        facts.retain(|(form, bound)| {
            !gone.iter().any(|symbol| form.coefficient(*symbol) != 0)
                && backs.iter().zip(&next).all(|(state, next)| {
                    // All at once: a distance is in terms of the others.
                    let mut after = Form::constant(form.constant);
                    for (symbol, factor) in &form.terms {
                        let own = if *symbol == rounds {
                            Form::symbol(rounds).add(1)
                        } else if let Some(at) = changed.iter().position(|it| it.symbol == *symbol) {
                            next.get(at).cloned().flatten()
                        } else {
                            Some(Form::symbol(*symbol))
                        };
                        let Some(sum) = own.and_then(|own| after.plus(&own, *factor)) else { return false };
                        after = sum;
                    }
                    self.analysis.symbols.is_at_most(state, &after, 2, *bound)
                })
        });
        holds && facts.len() == before
    }

    /// Claims less of ranges that hold, but were taken wider than they are found at the ways back. Returns
    /// whether there is one. The narrower claims are verified like all others.
    fn narrow(&mut self, changed: &mut [Changed], entry: &State, backs: &[State]) -> bool {
        let mut is_narrower = false;
        for one in changed {
            let Change::Range(from, factor, Some(claimed)) = one.change.clone() else { continue };
            let Change::Range(start_from, _, Some(start)) = self.range_from(one, entry, factor) else {
                continue;
            };
            let mut range = Some(start).filter(|_| start_from == from);
            for state in backs {
                let Some((low, high)) = range else { break };
                let own = match state.registers.get(one.register as usize) {
                    Some(Value::Number(value)) => value.plus(&from, -1).and_then(|it| divided(&it, factor)),
                    _ => None,
                };
                let own = own.filter(|it| !self.analysis.symbols.has_base(it));
                let own = own.and_then(|it| self.analysis.symbols.range(state, &it, 2));
                range = own.map(|own| (own.0.min(low), own.1.max(high)));
            }
            let Some((low, high)) = range else { continue };
            let narrower = (low.max(claimed.0), high.min(claimed.1));
            if narrower != claimed {
                one.change = Change::Range(from, factor, Some(narrower));
                is_narrower = true;
            }
        }
        is_narrower
    }

    /// Says of a register that it may have any value in the loop.
    fn give_up_on(&mut self, one: &mut Changed) {
        let from = if self.analysis.symbols.has_base(&one.before) {
            // Not even a multiple of an element is known of the distance.
            match &one.change {
                Change::Range(from, ..) => from.clone(),
                _ => one.before.clone(),
            }
        } else {
            Form::constant(0)
        };
        one.change = Change::Range(from, 1, None);
    }
}
