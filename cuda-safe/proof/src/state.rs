//! What is known at a point of a kernel: a value for each register, and facts about the symbols in them.
//!
//! A symbol stands for one whole number during one run of the kernel's code up to here. Each time the
//! analysis goes through a step, it makes new symbols, so a fact about a symbol never goes out of date.
//! Symbols that are functions of other symbols (`Symbols::floor`) are shared: their ranges come from ranges
//! that hold everywhere, not from guards.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

use smallvec::SmallVec;

use crate::form::{Form, Symbol, Terms, coefficient, divisor, floor, gcd, merge, plus, remainder, times};
use crate::kept::Kept;
use crate::slice::{Op, Origin};

/// What an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Base {
    /// The pointer in a parameter, at an offset.
    Parameter(usize, u64),
    /// An object of the kernel, in its own space.
    Object(u32),
    /// The generic address of an object that is not in global memory.
    Generic(u32),
    /// What the driver gives a cooperative launch for the barrier of its grid.
    Workspace,
}

#[derive(Clone, Debug)]
struct Known {
    low: i128,
    high: i128,
    origin: Origin,
    /// File and line of the step that made it.
    at: (u32, u32),
    base: Option<Base>,
    /// Whether each use may see another value: nothing is ever assumed of it but its range.
    is_unstable: bool,
    /// Whether it is the number of rounds of a loop.
    counts_rounds: bool,
    /// If it is the quotient of a form, rounded down.
    floor: Option<(Form, i128)>,
    /// The test, if it is 1 where the test holds and else 0.
    truth: Option<Rc<Test>>,
}

/// A predicate.
#[derive(Debug, PartialEq)]
pub(crate) enum Test {
    Unknown,
    Is(bool),
    /// The operation is `Eq` to `Ge`.
    Compare {
        op: Op,
        bits: u8,
        is_signed: bool,
        a: Rc<Form>,
        b: Rc<Form>,
    },
    Not(Rc<Self>),
    /// Both hold; how many tests stand one within another.
    And(Rc<Self>, Rc<Self>, u8),
}

/// The value of a register.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// It may not have been written: each use may see another value.
    Unset,
    Number(Rc<Form>),
    Test(Rc<Test>),
}

/// `terms <= bound`.
#[derive(Clone, Debug)]
struct Fact {
    terms: Rc<Terms>,
    bound: i128,
    /// It holds for all values of the symbols, as the definition of a quotient does.
    is_definition: bool,
    /// Its symbols and their signs.
    signs: u64,
}

impl Fact {
    fn new(terms: Rc<Terms>, bound: i128, is_definition: bool) -> Self {
        Self { signs: signs(&terms), terms, bound, is_definition }
    }
}

/// Returns a bit for each symbol and its sign. Terms without a common bit have no common symbol and sign.
fn signs(terms: &Terms) -> u64 {
    terms.iter().fold(0, |all, (symbol, factor)| all | 1 << ((symbol * 2 + u32::from(*factor > 0)) % 64))
}

/// Among the bits of `signs`, those of negative factors.
const NEGATIVE: u64 = 0x5555_5555_5555_5555;

/// Why a fact holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A test says so.
    Guard,
    /// A loop's header claims it.
    Claim,
    /// It holds for all values of the symbols.
    Definition,
}

/// The facts are private: they change only by what [`Symbols`] assumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) registers: Vec<Value>,
    /// Ranges that are narrower than those of the symbols, by symbol.
    limits: Vec<(Symbol, i128, i128)>,
    facts: Rc<Vec<Fact>>,
    pub(crate) kept: Kept,
    /// States of one number have the same limits and facts.
    number: u64,
}

/// More facts than these are forgotten: that is sound, and bounds the work.
const MOST_FACTS: usize = 48;
/// Times that facts are looked through for those that may be forgotten.
const MOST_SWEEPS: u32 = 200;
/// Ways to part an offset into a row and a column.
const MOST_GAPS: usize = 4;
/// Combinations of facts that one bound may try.
const TRIES: u32 = 90;

impl State {
    pub(crate) fn new(registers: Vec<Value>) -> Self {
        Self { registers, ..Self::default() }
    }

    /// Returns the facts without the registers, for a case that is only looked into.
    pub(crate) fn case(&self) -> Self {
        Self {
            registers: Vec::new(),
            limits: self.limits.clone(),
            facts: Rc::clone(&self.facts),
            kept: Kept::default(),
            ..*self
        }
    }

    /// Takes the facts of a case.
    pub(crate) fn set_facts(&mut self, case: Self) {
        (self.limits, self.facts, self.number) = (case.limits, case.facts, case.number);
    }
}

/// Upper bounds of terms.
type Bounds = SmallVec<[(Terms, Option<i128>); 1]>;

/// A hash of numbers that the analysis makes itself: nobody chooses them to collide.
#[derive(Clone, Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.chunks(8).for_each(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        });
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_i128(&mut self, value: i128) {
        // Longer numbers are few.
        self.write_u64(u64::try_from(value & i128::from(u64::MAX)).unwrap_or(0));
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    known: Vec<Known>,
    floors: HashMap<(Form, i128), Symbol, BuildHasherDefault<Mix>>,
    /// Upper bounds of terms, by the number of the state, the depth of the search, and a hash of the terms.
    bounds: HashMap<(u64, u32, u64), Bounds, BuildHasherDefault<Mix>>,
    /// The last number of a state.
    states: u64,
    /// How many bounds were computed.
    pub(crate) work: u64,
    tries: u32,
    /// How often facts were looked through for unused ones.
    sweeps: u32,
}

/// The range of a number of bits.
pub(crate) fn range_of(bits: u8, is_signed: bool) -> (i128, i128) {
    let all = 1_i128 << bits.min(64);
    if is_signed { (-all / 2, all / 2 - 1) } else { (0, all - 1) }
}

impl Symbols {
    pub(crate) fn new_symbol(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Symbol {
        let (is_unstable, base) = (false, None);
        // Bounds may cross where the facts cannot hold. The symbol may outlive that place, where two ways
        // meet, and needs a value.
        let (low, high) = (low.min(high), high.max(low));
        self.known.push(Known {
            low,
            high,
            origin,
            at,
            base,
            is_unstable,
            counts_rounds: false,
            floor: None,
            truth: None,
        });
        Symbol::try_from(self.known.len() - 1).unwrap_or(Symbol::MAX)
    }

    pub(crate) fn fresh(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Form {
        Form::symbol(self.new_symbol(low, high, origin, at))
    }

    pub(crate) fn unstable(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Form {
        let symbol = self.new_symbol(low, high, origin, at);
        self.known[symbol as usize].is_unstable = true;
        Form::symbol(symbol)
    }

    /// Makes the symbol of an address, which is in the range.
    pub(crate) fn new_base(&mut self, base: Base, low: i128, high: i128) -> Symbol {
        let symbol = self.new_symbol(low, high, Origin::Exact, (0, 0));
        self.known[symbol as usize].base = Some(base);
        symbol
    }

    /// Makes the symbol of the number of a loop's rounds.
    pub(crate) fn new_counter(&mut self, most: i128) -> Symbol {
        let symbol = self.new_symbol(0, most, Origin::Exact, (0, 0));
        self.known[symbol as usize].counts_rounds = true;
        symbol
    }

    pub(crate) fn counts_rounds(&self, symbol: Symbol) -> bool {
        self.known[symbol as usize].counts_rounds
    }

    pub(crate) fn set_truth(&mut self, symbol: Symbol, test: Rc<Test>) {
        self.known[symbol as usize].truth = Some(test);
    }

    pub(crate) fn truth(&self, symbol: Symbol) -> Option<Rc<Test>> {
        self.known[symbol as usize].truth.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn base(&self, symbol: Symbol) -> Option<Base> {
        self.known[symbol as usize].base
    }

    pub(crate) fn has_base(&self, form: &Form) -> bool {
        form.terms.iter().any(|(symbol, _)| self.base(*symbol).is_some())
    }

    /// Returns whether two forms count from the same.
    pub(crate) fn has_same_base(&self, a: &Form, b: &Form) -> bool {
        let is_in = |one: &Form, other: &Form| {
            let mut bases = one.terms.iter().filter(|(symbol, _)| self.base(*symbol).is_some());
            bases.all(|(symbol, factor)| other.coefficient(*symbol) == *factor)
        };
        is_in(a, b) && is_in(b, a)
    }

    pub(crate) fn is_unstable(&self, form: &Form) -> bool {
        form.terms.iter().any(|(symbol, _)| self.known[*symbol as usize].is_unstable)
    }

    /// Returns the most doubtful origin among a form's symbols, with its place.
    pub(crate) fn origin(&self, form: &Form) -> (Origin, (u32, u32)) {
        let origins = form.terms.iter().map(|(symbol, _)| {
            let known = &self.known[*symbol as usize];
            (known.origin, known.at)
        });
        origins.max_by_key(|(origin, _)| *origin).unwrap_or((Origin::Exact, (0, 0)))
    }

    /// Returns the form as one use sees it: unstable symbols have another value at each use.
    pub(crate) fn used(&mut self, form: &Rc<Form>) -> Rc<Form> {
        if !self.is_unstable(form) {
            return Rc::clone(form);
        }
        let mut seen = Form::constant(form.constant);
        for (symbol, factor) in &form.terms {
            let Known { low, high, origin, at, is_unstable, .. } = self.known[*symbol as usize];
            let own = if is_unstable { self.unstable(low, high, origin, at) } else { Form::symbol(*symbol) };
            let Some(sum) = seen.plus(&own, *factor) else {
                return Rc::new(self.unstable(-(1 << 95), 1 << 95, origin, at));
            };
            seen = sum;
        }
        Rc::new(seen)
    }

    fn limits(&self, state: &State, symbol: Symbol) -> (i128, i128) {
        match state.limits.binary_search_by_key(&symbol, |(own, ..)| *own) {
            Ok(at) => (state.limits[at].1, state.limits[at].2),
            Err(_) => (self.known[symbol as usize].low, self.known[symbol as usize].high),
        }
    }

    /// Returns the largest value by the ranges of the symbols alone.
    fn by_ranges(&self, state: &State, terms: &Terms) -> Option<i128> {
        terms.iter().try_fold(0_i128, |sum, (symbol, factor)| {
            let (low, high) = self.limits(state, *symbol);
            sum.checked_add(times(*factor, if *factor > 0 { high } else { low })?)
        })
    }

    /// Returns the largest value of `a * x + b * y` by the ranges alone, or `None` if it is too large or
    /// the sum has more than two terms more than `x`.
    fn sum_by_ranges(&self, state: &State, (x, a): (&Terms, i128), (y, b): (&Terms, i128)) -> Option<i128> {
        let (mut sum, mut left) = (0_i128, x.len() + 2);
        merge(x, a, y, b, |symbol, factor| {
            left = left.checked_sub(1)?;
            let (low, high) = self.limits(state, symbol);
            sum = sum.checked_add(times(factor, if factor > 0 { high } else { low })?)?;
            Some(())
        })?;
        Some(sum)
    }

    /// Returns an upper bound of the terms: the ranges of the symbols, and combinations of up to `depth`
    /// facts, each with a factor that removes a symbol (Farkas). A bound that is no more than the goal is
    /// good enough.
    fn largest(&mut self, state: &State, terms: &Terms, depth: u32, goal: i128) -> Option<i128> {
        self.work += 1 + terms.len() as u64 / 4;
        if terms.is_empty() {
            return Some(0);
        }
        let mut best = self.by_ranges(state, terms);
        if depth == 0 || self.tries == 0 || best.is_some_and(|best| best <= goal) {
            return best;
        }
        let common = divisor(terms);
        if common > 1 {
            let reduced = terms.iter().map(|(symbol, factor)| (*symbol, factor / common)).collect();
            return self.largest(state, &reduced, depth, floor(goal, common))?.checked_mul(common);
        }
        self.tries -= 1;
        self.work += state.facts.len() as u64 / 8;
        let signs = signs(terms);
        for fact in state.facts.iter().filter(|fact| fact.signs & signs != 0) {
            // The smallest factor that removes a symbol, as a fraction.
            let mut factor: Option<(i128, i128)> = None;
            for (symbol, own) in fact.terms.iter() {
                let wanted = coefficient(terms, *symbol);
                if wanted != 0 && (wanted > 0) == (*own > 0) {
                    let (above, below) = (wanted.abs(), own.abs());
                    if factor.is_none_or(|(a, b)| {
                        times(above, b).zip(times(a, below)).is_some_and(|(one, other)| one < other)
                    }) {
                        factor = Some((above, below));
                    }
                }
            }
            let Some((above, below)) = factor else { continue };
            let (above, below) = match (above, below) {
                (1, _) | (_, 1) => (above, below),
                _ => (above / gcd(above, below), below / gcd(above, below)),
            };
            let Some(own) = times(above, fact.bound) else { continue };
            if depth == 1 {
                // Only the ranges are asked for: the sum of the terms need not be made.
                self.work += 1 + terms.len() as u64 / 4;
                let Some(sum) = self.sum_by_ranges(state, (terms, below), (&fact.terms, -above)) else {
                    continue;
                };
                let Some(sum) = own.checked_add(sum) else { continue };
                let found = floor(sum, below);
                best = Some(best.map_or(found, |best| best.min(found)));
                if found <= goal {
                    break;
                }
                continue;
            }
            let Some(rest) = plus(terms, below, &fact.terms, -above) else { continue };
            if rest.len() > terms.len() + 2 {
                continue;
            }
            let wanted = times(goal, below).and_then(|goal| goal.checked_sub(own)).unwrap_or(i128::MIN);
            let Some(rest) = self.largest(state, &rest, depth - 1, wanted) else { continue };
            let Some(sum) = own.checked_add(rest) else { continue };
            let found = floor(sum, below);
            best = Some(best.map_or(found, |best| best.min(found)));
            if found <= goal {
                break;
            }
        }
        best
    }

    pub(crate) fn high(&mut self, state: &State, form: &Form, depth: u32) -> Option<i128> {
        self.high_or(state, form, depth, i128::MIN)
    }

    /// Returns a bound, the least one that is known if it is more than the goal.
    pub(crate) fn high_or(&mut self, state: &State, form: &Form, depth: u32, goal: i128) -> Option<i128> {
        let simple = self.by_ranges(state, &form.terms).and_then(|it| it.checked_add(form.constant));
        if depth == 0 || state.facts.is_empty() || simple.is_some_and(|it| it <= goal) {
            self.work += 1;
            return simple;
        }
        let mut hash = Mix::default();
        form.terms.hash(&mut hash);
        let key = (state.number, depth, hash.finish());
        let known = self.bounds.get(&key).and_then(|all| all.iter().find(|(terms, _)| *terms == form.terms));
        let found = if let Some((_, found)) = known {
            self.work += 1;
            *found
        } else {
            self.tries = TRIES;
            let goal = goal.saturating_sub(form.constant);
            let found = self.largest(state, &form.terms, depth, goal);
            // A bound that is good enough for one goal is not the least one.
            if found.is_none_or(|found| found > goal) {
                self.bounds.entry(key).or_default().push((form.terms.clone(), found));
            }
            found
        };
        found?.checked_add(form.constant)
    }

    /// Gives a state a number of its own: its limits or facts have changed.
    fn changes(&mut self, state: &mut State) {
        self.states += 1;
        state.number = self.states;
    }

    /// Returns whether a form is within the bounds.
    pub(crate) fn is_within(
        &mut self,
        state: &State,
        form: &Form,
        depth: u32,
        (low, high): (i128, i128),
    ) -> bool {
        self.high_or(state, form, depth, high).is_some_and(|most| most <= high)
            && form.times(-1).is_some_and(|opposite| {
                self.high_or(state, &opposite, depth, -low).is_some_and(|most| most <= -low)
            })
    }

    /// Returns whether a form is at most a number.
    pub(crate) fn is_at_most(&mut self, state: &State, form: &Form, depth: u32, bound: i128) -> bool {
        self.high_or(state, form, depth, bound).is_some_and(|most| most <= bound)
    }

    /// Returns a bound of an offset, as `high_or` does. That of a row and a column takes as many facts as
    /// both do. So the terms with large factors, and those with small ones, are bounded by themselves, too:
    /// the sum of both bounds is a bound.
    pub(crate) fn high_in_parts(&mut self, state: &State, form: &Form, goal: i128) -> Option<i128> {
        let whole = self.high_or(state, form, 3, goal);
        if form.terms.len() < 4 || whole.is_some_and(|whole| whole <= goal) {
            return whole;
        }
        // Three facts at a time are enough for fewer.
        let signs = signs(&form.terms);
        let guards = state.facts.iter().filter(|fact| !fact.is_definition && fact.signs & signs != 0);
        if guards.count() < 4 {
            return whole;
        }
        let mut factors: SmallVec<[i128; 8]> = form.terms.iter().map(|(_, factor)| factor.abs()).collect();
        factors.sort_unstable();
        factors.dedup();
        let mut best = whole;
        for gap in factors.iter().take(factors.len() - 1).take(MOST_GAPS) {
            let part = |is_large: bool| Form {
                constant: if is_large { form.constant } else { 0 },
                terms: form.terms.iter().copied().filter(|(_, it)| (it.abs() > *gap) == is_large).collect(),
            };
            let parts = self.high(state, &part(true), 3).zip(self.high(state, &part(false), 3));
            if let Some(sum) = parts.and_then(|(large, small)| large.checked_add(small)) {
                best = Some(best.map_or(sum, |best| best.min(sum)));
            }
        }
        best
    }

    pub(crate) fn low(&mut self, state: &State, form: &Form, depth: u32) -> Option<i128> {
        self.high(state, &form.times(-1)?, depth)?.checked_neg()
    }

    /// Returns the range of a form, if it has one.
    pub(crate) fn range(&mut self, state: &State, form: &Form, depth: u32) -> Option<(i128, i128)> {
        if let Some(value) = form.as_constant() {
            return Some((value, value));
        }
        Some((self.low(state, form, depth)?, self.high(state, form, depth)?))
    }

    /// Adds the fact `form <= bound`. Returns whether it can hold.
    pub(crate) fn assume(&mut self, state: &mut State, form: &Form, bound: i128) -> bool {
        self.add_fact(state, form, bound, Kind::Guard)
    }

    /// Adds the fact `form <= bound`, which is verified later.
    pub(crate) fn claim(&mut self, state: &mut State, form: &Form, bound: i128) {
        self.add_fact(state, form, bound, Kind::Claim);
    }

    fn add_fact(&mut self, state: &mut State, form: &Form, bound: i128, kind: Kind) -> bool {
        let Some(bound) = bound.checked_sub(form.constant) else { return true };
        let common = form.divisor();
        if common == 0 {
            return 0 <= bound;
        }
        if self.is_unstable(form) {
            return true;
        }
        let bound = floor(bound, common);
        let terms: Terms = form.terms.iter().map(|(symbol, factor)| (*symbol, factor / common)).collect();
        if kind == Kind::Guard {
            // What contradicts the other facts cannot hold.
            let opposite: Terms = terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
            self.tries = TRIES / 3;
            if self.largest(state, &opposite, 2, -bound - 1).is_some_and(|most| most < -bound) {
                return false;
            }
        }
        if self.has_base(form) {
            return true;
        }
        if let [(symbol, factor)] = terms[..] {
            let before = self.limits(state, symbol);
            return self.limit(state, symbol, factor, bound)
                && (self.limits(state, symbol) == before || self.narrow_all(state, symbol));
        }
        let is_definition = kind == Kind::Definition;
        if !is_definition && !self.narrow(state, &terms, bound) {
            return false;
        }
        if !is_definition && !self.narrow_quotients(state, &terms, bound) {
            return false;
        }
        if state.facts.len() >= MOST_FACTS {
            self.forget_unused(state);
        }
        let is_full = state.facts.len() >= MOST_FACTS;
        let own = signs(&terms);
        match state.facts.iter().position(|fact| fact.signs == own && *fact.terms == terms) {
            Some(at) if state.facts[at].bound <= bound => {}
            // Of a definition and a guard, the guard does not hold everywhere.
            Some(at) => {
                let fact = &mut Rc::make_mut(&mut state.facts)[at];
                (fact.bound, fact.is_definition) = (bound, is_definition);
                self.changes(state);
            }
            None if !is_full => {
                let fact = Fact::new(Rc::new(terms), bound, is_definition);
                Rc::make_mut(&mut state.facts).push(fact);
                self.changes(state);
            }
            None => {}
        }
        true
    }

    /// Forgets definitions of quotients that no register and no other fact has: whoever divides again has
    /// them again.
    fn forget_unused(&mut self, state: &mut State) {
        if state.registers.is_empty() || self.sweeps == MOST_SWEEPS {
            return;
        }
        self.sweeps += 1;
        self.work += state.registers.len() as u64 / 8;
        let mut used = vec![false; self.known.len()];
        let mut mark = |terms: &Terms| terms.iter().for_each(|(symbol, _)| used[*symbol as usize] = true);
        let mut tests = Vec::new();
        for value in &state.registers {
            match value {
                Value::Number(form) => mark(&form.terms),
                Value::Test(test) => tests.push(&**test),
                Value::Unset => {}
            }
        }
        while let Some(test) = tests.pop() {
            match test {
                Test::Compare { a, b, .. } => [a, b].iter().for_each(|it| mark(&it.terms)),
                Test::Not(one) => tests.push(one),
                Test::And(one, other, _) => tests.extend([&**one, &**other]),
                Test::Unknown | Test::Is(_) => {}
            }
        }
        state.facts.iter().filter(|it| !it.is_definition).for_each(|it| mark(&it.terms));
        let is_unused = |(symbol, _): &(Symbol, i128)| {
            !used[*symbol as usize] && self.known[*symbol as usize].floor.is_some()
        };
        Rc::make_mut(&mut state.facts).retain(|it| !it.is_definition || !it.terms.iter().any(is_unused));
        self.changes(state);
    }

    /// Adds `factor * symbol <= bound`. Returns whether it can hold.
    fn limit(&mut self, state: &mut State, symbol: Symbol, factor: i128, bound: i128) -> bool {
        let (mut low, mut high) = self.limits(state, symbol);
        let before = (low, high);
        let most = floor(bound, factor.abs());
        if factor > 0 {
            high = high.min(most);
        } else {
            low = low.max(-most);
        }
        if (low, high) != before && low <= high {
            match state.limits.binary_search_by_key(&symbol, |(own, ..)| *own) {
                Ok(at) => state.limits[at] = (symbol, low, high),
                Err(at) => state.limits.insert(at, (symbol, low, high)),
            }
            self.changes(state);
        }
        low <= high
    }

    /// Limits each symbol of a fact by the ranges of the others: whole numbers make the limit sharper than
    /// the fact is. Returns whether the fact can hold.
    fn narrow(&mut self, state: &mut State, terms: &Terms, bound: i128) -> bool {
        terms.iter().all(|(symbol, factor)| {
            let others = terms.iter().filter(|(other, _)| other != symbol);
            let opposite: Terms = others.map(|(other, factor)| (*other, -factor)).collect();
            let most = self.by_ranges(state, &opposite).and_then(|most| most.checked_add(bound));
            most.is_none_or(|most| self.limit(state, *symbol, *factor, most))
        })
    }

    /// Limits the quotients of a form by a bound of the form: whole numbers make the limit sharper than the
    /// sum of the facts is. Returns whether the facts can hold.
    fn narrow_quotients(&mut self, state: &mut State, terms: &Terms, bound: i128) -> bool {
        let facts = Rc::clone(&state.facts);
        facts.iter().filter(|fact| fact.is_definition && fact.terms.len() == terms.len() + 1).all(|fact| {
            match plus(&fact.terms, 1, terms, 1).as_deref() {
                Some([(symbol, factor)]) => {
                    fact.bound.checked_add(bound).is_none_or(|most| self.limit(state, *symbol, *factor, most))
                }
                _ => true,
            }
        })
    }

    /// Limits what stands with a symbol in a fact by the new range of the symbol. Returns whether the facts
    /// can hold.
    fn narrow_all(&mut self, state: &mut State, symbol: Symbol) -> bool {
        let own = signs(&SmallVec::from_slice(&[(symbol, 1), (symbol, -1)]));
        let facts = Rc::clone(&state.facts);
        facts.iter().filter(|fact| fact.signs & own != 0).all(|fact| {
            self.work += 1;
            coefficient(&fact.terms, symbol) == 0 || self.narrow(state, &fact.terms, fact.bound)
        })
    }

    /// Returns the quotient of a form and a positive number, rounded down.
    pub(crate) fn floor(&mut self, state: &mut State, form: &Form, by: i128) -> Option<Form> {
        if by == 1 {
            return Some(form.clone());
        }
        let mut whole = Form::constant(floor(form.constant, by));
        let mut rest = Form::constant(remainder(form.constant, by));
        for (symbol, factor) in &form.terms {
            let part =
                if remainder(*factor, by) == 0 { (&mut whole, factor / by) } else { (&mut rest, *factor) };
            part.0.terms.push((*symbol, part.1));
        }
        if rest.terms.is_empty() {
            return Some(whole);
        }
        // floor((g * x + c) / (g * d)) = floor((x + floor(c / g)) / d)
        let common = gcd(rest.divisor(), by);
        let mut by = by / common;
        rest.constant = floor(rest.constant, common);
        rest.terms.iter_mut().for_each(|(_, factor)| *factor /= common);
        // floor((floor(x / d) + c) / e) = floor((x + c * d) / (d * e))
        let mut outer = None;
        if let [(symbol, 1)] = rest.terms[..]
            && let Some((inner, inner_by)) = self.known[symbol as usize].floor.clone()
        {
            outer = Some((rest.clone(), by));
            rest = inner.add(rest.constant.checked_mul(inner_by)?)?;
            by = by.checked_mul(inner_by).filter(|it| *it < 1 << 80)?;
        }
        let key = (rest, by);
        if let Some(quotient) = self.floors.get(&key).copied() {
            return self.quotient(state, &whole, (&key, outer.as_ref()), quotient);
        }
        let (rest, by) = key;
        let (low, high) = self.range(state, &rest, 2)?;
        if floor(low, by) == floor(high, by) {
            return whole.add(floor(low, by));
        }
        if self.is_unstable(&rest) {
            let (origin, at) = self.origin(&rest);
            return whole.plus(&self.unstable(floor(low, by), floor(high, by), origin, at), 1);
        }
        // A range that holds wherever the symbols of the form are known.
        let (low, high) = self.range(&State::default(), &rest, 0)?;
        let (origin, at) = self.origin(&rest);
        let symbol = self.new_symbol(floor(low, by), floor(high, by), origin, at);
        let key = (rest, by);
        self.known[symbol as usize].floor = Some(key.clone());
        self.floors.insert(key.clone(), symbol);
        self.quotient(state, &whole, (&key, outer.as_ref()), symbol)
    }

    /// Returns a form and the quotient that a symbol is, with what is known of it: of the form that it was
    /// made of, and of the quotient that was divided again.
    fn quotient(
        &mut self,
        state: &mut State,
        whole: &Form,
        (own, outer): (&(Form, i128), Option<&(Form, i128)>),
        quotient: Symbol,
    ) -> Option<Form> {
        // 0 <= rest - by * quotient <= by - 1
        for (rest, by) in std::iter::once(own).chain(outer) {
            let left = rest.plus(&Form::symbol(quotient), -by)?;
            self.add_fact(state, &left, by - 1, Kind::Definition);
            self.add_fact(state, &left.times(-1)?, 0, Kind::Definition);
        }
        let quotient = Form::symbol(quotient);
        match self.range(state, &quotient, 2)? {
            (low, high) if low == high => whole.add(low),
            _ => whole.plus(&quotient, 1),
        }
    }

    /// Returns the whole number that the lowest bits of a form are, read as signed or unsigned. If the form
    /// may lie outside of the type's range, the result is the form minus a multiple of `2^bits`, or a symbol
    /// of which nothing but the type's range is known.
    pub(crate) fn reading(&mut self, state: &mut State, form: &Form, bits: u8, is_signed: bool) -> Form {
        let (least, most) = range_of(bits, is_signed);
        if self.is_within(state, form, 2, (least, most)) {
            return form.clone();
        }
        let found = (|| {
            if self.is_unstable(form) {
                return None;
            }
            let all = 1_i128 << bits.min(64);
            let quotient = self.floor(state, &form.add(-least)?, all)?;
            form.plus(&quotient, -all)
        })();
        found.unwrap_or_else(|| {
            let (origin, at) = self.origin(form);
            let origin = origin.max(Origin::Computed);
            if self.is_unstable(form) {
                self.unstable(least, most, origin, at)
            } else {
                self.fresh(least, most, origin, at)
            }
        })
    }

    /// Returns a form for a value that is `a` where `one` holds and `b` where `other` does, with what is
    /// known of it in `state`, or `None` if nothing is.
    pub(crate) fn choice(
        &mut self,
        state: &mut State,
        (one, a): (&State, &Form),
        (other, b): (&State, &Form),
    ) -> Option<Form> {
        let only_base = |form: &Form| Form {
            constant: 0,
            terms: form.terms.iter().copied().filter(|(symbol, _)| self.base(*symbol).is_some()).collect(),
        };
        let base = only_base(a);
        if base != only_base(b) {
            return None;
        }
        let (a, b) = (a.plus(&base, -1)?, b.plus(&base, -1)?);
        // One of the two may be right in both cases.
        let difference = a.plus(&b, -1)?;
        for (right, there) in [(&b, one), (&a, other)] {
            if self.range(there, &difference, 2) == Some((0, 0)) && !self.is_unstable(&difference) {
                return right.plus(&base, 1);
            }
        }
        if let Some(value) = self.follow(state, (one, &a), (other, &b)) {
            return value.plus(&base, 1);
        }
        let (low, high) = (
            self.low(one, &a, 2)?.min(self.low(other, &b, 2)?),
            self.high(one, &a, 2)?.max(self.high(other, &b, 2)?),
        );
        // What divides the difference of the two divides that of the value and `a`.
        let step = gcd(gcd(a.divisor(), b.divisor()), a.constant - b.constant);
        if step == 0 {
            return a.plus(&base, 1);
        }
        let (origin, at) = self.origin(&a).max(self.origin(&b));
        let from = |bound: i128| floor(bound - a.constant, step);
        let symbol = self.new_symbol(from(low), from(high), origin, at);
        self.known[symbol as usize].is_unstable = self.is_unstable(&a) || self.is_unstable(&b);
        let value = Form::symbol(symbol).times(step)?.add(a.constant)?;
        for (near, far, there) in [(&a, &b, other), (&b, &a, one)] {
            if near.terms.is_empty() {
                continue;
            }
            let Some(difference) = far.plus(near, -1) else { continue };
            let Some(over) = value.plus(near, -1) else { continue };
            if let Some(most) = self.high(there, &difference, 2) {
                self.assume(state, &over, most.max(0));
            }
            if let (Some(least), Some(under)) = (self.low(there, &difference, 2), over.times(-1)) {
                self.assume(state, &under, -(least.min(0)));
            }
        }
        value.plus(&base, 1)
    }

    /// Returns a form that is `a` where `one` holds and `b` where `other` does, if the two have a constant
    /// difference and follow terms that have one number here and another there: the rounds that are left of
    /// an unrolled loop, for example.
    fn follow(
        &mut self,
        state: &State,
        (one, a): (&State, &Form),
        (other, b): (&State, &Form),
    ) -> Option<Form> {
        let difference = b.plus(a, -1)?.as_constant().filter(|it| *it != 0)?;
        if self.is_unstable(a) {
            return None;
        }
        self.work += 1 + one.facts.len() as u64 / 8;
        for fact in one.facts.iter() {
            let (Some(here), Some(there)) = (self.number_of(one, fact), self.number_of(other, fact)) else {
                continue;
            };
            let step = there.saturating_sub(here);
            if step == 0 || remainder(difference, step.abs()) != 0 {
                continue;
            }
            let terms = Form { constant: 0, terms: Terms::clone(&fact.terms) };
            // Where the ways meet, the terms are known to lie between the two numbers.
            if self.is_within(state, &terms, 1, (here.min(there), here.max(there))) {
                return terms.add(-here)?.times(difference / step)?.plus(a, 1);
            }
        }
        None
    }

    /// Returns the number that the terms of a fact have, if the ranges and the facts about them say one.
    fn number_of(&self, state: &State, fact: &Fact) -> Option<i128> {
        let opposite: Terms = fact.terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
        let most = |terms: &Terms, signs: u64| {
            let is_same = |it: &&Fact| it.signs == signs && *it.terms == *terms;
            let said = state.facts.iter().find(is_same).map(|it| it.bound);
            said.into_iter().chain(self.by_ranges(state, terms)).min()
        };
        let high = most(&fact.terms, fact.signs)?;
        // Each symbol has two bits, one for each sign.
        let signs = (fact.signs & NEGATIVE) << 1 | (fact.signs >> 1) & NEGATIVE;
        (most(&opposite, signs)? == -high).then_some(high)
    }

    /// Returns the product of two forms that are not constant.
    pub(crate) fn product(&mut self, state: &mut State, a: &Form, b: &Form) -> Option<Form> {
        if self.has_base(a) || self.has_base(b) {
            return None;
        }
        let ((al, ah), (bl, bh)) = (self.range(state, a, 2)?, self.range(state, b, 2)?);
        let corners = [al.checked_mul(bl)?, al.checked_mul(bh)?, ah.checked_mul(bl)?, ah.checked_mul(bh)?];
        let (low, high) =
            corners.iter().fold((corners[0], corners[0]), |(low, high), it| (low.min(*it), high.max(*it)));
        let (origin, at) = self.origin(a).max(self.origin(b));
        if self.is_unstable(a) || self.is_unstable(b) {
            return Some(self.unstable(low, high, origin, at));
        }
        let product = self.fresh(low, high, origin, at);
        // (a - al)(b - bl) >= 0 and its three siblings (McCormick).
        for (x, y, sign) in [(al, bl, 1), (ah, bh, 1), (al, bh, -1), (ah, bl, -1)] {
            let rest = a.times(y).zip(b.times(x)).and_then(|(a, b)| a.plus(&b, 1));
            let fact = rest.and_then(|rest| rest.plus(&product, -1)).and_then(|it| it.times(sign));
            if let (Some(fact), Some(bound)) = (fact, x.checked_mul(y)) {
                self.assume(state, &fact, bound * sign);
            }
        }
        Some(product)
    }

    /// Adds to `both` a limit that holds in one state, as far as it holds in the other one.
    fn limit_by_facts(&mut self, both: &mut State, other: &State, (symbol, low, high): (Symbol, i128, i128)) {
        let (all_low, all_high) = (self.known[symbol as usize].low, self.known[symbol as usize].high);
        let form = Form::symbol(symbol);
        let opposite = Form { constant: 0, terms: SmallVec::from_slice(&[(symbol, -1)]) };
        let least = self.high_or(other, &opposite, 1, -low).map_or(all_low, |most| -most).min(low);
        let most = self.high_or(other, &form, 1, high).unwrap_or(all_high).max(high);
        if least > all_low || most < all_high {
            both.limits.push((symbol, least, most));
        }
    }

    /// Keeps of two states' facts what holds in both. The registers are those of the first.
    pub(crate) fn common_facts(&mut self, one: &State, other: &State) -> State {
        let mut both = State::default();
        self.work += (one.facts.len() + other.facts.len()) as u64 / 4;
        for (symbol, low, high) in &one.limits {
            if let Ok(at) = other.limits.binary_search_by_key(symbol, |(own, ..)| *own) {
                let (_, other_low, other_high) = other.limits[at];
                both.limits.push((*symbol, (*low).min(other_low), (*high).max(other_high)));
                continue;
            }
            self.limit_by_facts(&mut both, other, (*symbol, *low, *high));
        }
        for limit in &other.limits {
            if one.limits.binary_search_by_key(&limit.0, |(own, ..)| *own).is_err() {
                self.limit_by_facts(&mut both, one, *limit);
            }
        }
        both.limits.sort_unstable_by_key(|(symbol, ..)| *symbol);
        let mut facts: Vec<Fact> = Vec::with_capacity(one.facts.len().max(other.facts.len()));
        for (from, to, is_first) in [(one, other, true), (other, one, false)] {
            for (at, fact) in from.facts.iter().enumerate() {
                let is_same = |it: &&Fact| {
                    it.signs == fact.signs && (Rc::ptr_eq(&it.terms, &fact.terms) || it.terms == fact.terms)
                };
                // Facts from before the ways parted have one place.
                let same = to.facts.get(at).filter(is_same).or_else(|| to.facts.iter().find(is_same));
                let bound = match same {
                    Some(_) if !is_first => continue,
                    Some(same) => Some(same.bound.max(fact.bound)),
                    None if fact.is_definition => Some(fact.bound),
                    None => {
                        self.tries = TRIES / 3;
                        self.largest(to, &fact.terms, 1, fact.bound).map(|bound| bound.max(fact.bound))
                    }
                };
                let Some(bound) = bound else { continue };
                let is_definition = fact.is_definition || same.is_some_and(|same| same.is_definition);
                let says_more = self.by_ranges(&both, &fact.terms).is_none_or(|known| bound < known);
                if (is_definition || says_more) && facts.len() < MOST_FACTS {
                    let is_definition = fact.is_definition && same.is_none_or(|same| same.is_definition);
                    facts.push(Fact { bound, is_definition, ..fact.clone() });
                }
            }
        }
        both.facts = Rc::new(facts);
        self.changes(&mut both);
        both
    }
}
