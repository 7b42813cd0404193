//! What is known at a point of a kernel: a value for each register, and facts about the symbols in them.
//!
//! A symbol stands for one whole number during one run of the kernel's code up to here. Each time the
//! analysis goes through a step, it makes new symbols, so a fact about a symbol never goes out of date.
//! Symbols that are functions of other symbols (`Symbols::floor`) are shared: their ranges come from ranges
//! that hold everywhere, not from guards.

mod bounds;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use smallvec::SmallVec;

use self::bounds::{Found, Point, opposite};
use crate::form::{
    Form, Mix, NewTerms, Symbol, Terms, coefficient, divisor, floor, gcd, remainder, sum, times,
};
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

#[derive(Debug)]
struct Known {
    low: i128,
    high: i128,
    origin: Origin,
    /// File and line of the step that made it.
    at: (u32, u32),
    /// Whether each use may see another value: nothing is ever assumed of it but its range.
    is_unstable: bool,
    made: Made,
}

/// What a symbol was made as.
#[derive(Debug)]
enum Made {
    /// A number of which nothing but the range is known.
    Number,
    /// An address: the place in the list of bases.
    Base(u16),
    /// The number of rounds of a loop.
    Rounds,
    /// The quotient of a form, rounded down.
    Floor(Box<Quotient>),
    /// 1 where the test holds and else 0.
    Truth(Rc<Test>),
    /// The larger one of two numbers, or the smaller one.
    Extreme(Box<Extreme>),
    /// This multiple of it is negative, as a signed number of so many bits, where the test holds, and nowhere else.
    Sign(i128, u8, Rc<Test>),
}

/// A form divided by a number, rounded down.
#[derive(Clone, Debug)]
struct Quotient {
    form: Form,
    by: i128,
    /// `0 <= form - by * quotient <= by - 1`.
    facts: SmallVec<[Fact; 2]>,
}

/// Of which two numbers a symbol is the larger one, or the smaller one.
#[derive(Clone, Debug)]
pub(crate) struct Extreme {
    pub(crate) is_larger: bool,
    pub(crate) of: [Form; 2],
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
        a: Form,
        b: Form,
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
    Number(Form),
    Test(Rc<Test>),
}

/// `terms <= bound`.
#[derive(Clone, Debug)]
struct Fact {
    terms: Terms,
    bound: i128,
    /// It holds for all values of the symbols, as the definition of a quotient does.
    is_definition: bool,
    /// Its symbols and their signs.
    signs: u64,
}

impl Fact {
    fn new(terms: Terms, bound: i128, is_definition: bool) -> Self {
        Self { signs: signs(&terms), terms, bound, is_definition }
    }
}

/// Returns the bit of a symbol in a set that may have others, too.
fn mark(symbol: Symbol) -> u64 {
    1 << (symbol % 64)
}

/// Returns a bit for each symbol and its sign. Terms without a common bit have no common symbol and sign.
fn signs(terms: &[(Symbol, i128)]) -> u64 {
    terms.iter().fold(0, |all, (symbol, factor)| all | 1 << ((symbol * 2 + u32::from(*factor > 0)) % 64))
}

/// Returns the terms of a form and its bound without their common divisor and the constant.
fn reduced(form: &Form, bound: i128) -> (Terms, i128) {
    match form.divisor() {
        0 | 1 => (form.terms.clone(), bound),
        common => {
            let terms = form.terms.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common)));
            (terms.collect(), floor(bound, common))
        }
    }
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
}

/// The facts are private: they change only by what [`Symbols`] assumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) registers: Vec<Value>,
    /// Ranges that are narrower than those of the symbols, by symbol.
    limits: Vec<(Symbol, i128, i128)>,
    /// A bit for each symbol that has such a range, and for others.
    limited: u64,
    facts: Rc<Vec<Fact>>,
    pub(crate) kept: Kept,
    /// States of one number have the same limits and facts.
    number: u64,
}

/// More facts than these are forgotten: that is sound, and bounds the work.
const MOST_FACTS: usize = 48;
/// Symbols and bounds for which there is room from the start.
const MOST_EXPECTED: usize = 400;
/// Facts that a case may learn.
const ROOM: usize = 6;
/// Times that facts are looked through for those that may be forgotten.
const MOST_SWEEPS: u32 = 200;
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

    /// Returns the facts, which this state alone has from now on.
    fn facts_mut(&mut self) -> &mut Vec<Fact> {
        if Rc::get_mut(&mut self.facts).is_none() {
            let mut own = Vec::with_capacity(self.facts.len() + 4);
            own.extend_from_slice(&self.facts);
            self.facts = Rc::new(own);
        }
        Rc::make_mut(&mut self.facts)
    }

    /// States of one number have the same limits and facts.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Takes the facts of a case.
    pub(crate) fn set_facts(&mut self, case: Self) {
        (self.limits, self.limited) = (case.limits, case.limited);
        (self.facts, self.number) = (case.facts, case.number);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    known: Vec<Known>,
    bases: Vec<Base>,
    quotients: HashMap<(Form, i128), Symbol, BuildHasherDefault<Mix>>,
    /// Upper bounds of terms, by the number of the state and the depth of the search.
    bounds: HashMap<(u64, u32, Terms), Found, BuildHasherDefault<Mix>>,
    /// The last number of a state.
    states: u64,
    /// How many bounds were computed.
    pub(crate) work: u64,
    tries: u32,
    /// The point that was looked at last.
    point: Point,
    /// How often facts were looked through for unused ones.
    sweeps: u32,
}

/// The range of a number of bits.
pub(crate) fn range_of(bits: u8, is_signed: bool) -> (i128, i128) {
    let all = 1_i128 << bits.min(64);
    if is_signed { (-all / 2, all / 2 - 1) } else { (0, all - 1) }
}

impl Symbols {
    /// Makes the symbols of a kernel of so many steps.
    pub(crate) fn new(steps: usize) -> Self {
        let bounds =
            HashMap::with_capacity_and_hasher(steps.min(MOST_EXPECTED), BuildHasherDefault::default());
        Self { bounds, known: Vec::with_capacity(steps.min(MOST_EXPECTED)), ..Self::default() }
    }

    pub(crate) fn new_symbol(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Symbol {
        // Bounds may cross where the facts cannot hold. The symbol may outlive that place, where two ways
        // meet, and needs a value.
        let (low, high) = (low.min(high), high.max(low));
        self.known.push(Known { low, high, origin, at, is_unstable: false, made: Made::Number });
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
        self.known[symbol as usize].made = Made::Base(u16::try_from(self.bases.len()).unwrap_or(u16::MAX));
        self.bases.push(base);
        symbol
    }

    /// Makes the symbol of the number of a loop's rounds.
    pub(crate) fn new_counter(&mut self, most: i128) -> Symbol {
        let symbol = self.new_symbol(0, most, Origin::Exact, (0, 0));
        self.known[symbol as usize].made = Made::Rounds;
        symbol
    }

    pub(crate) fn counts_rounds(&self, symbol: Symbol) -> bool {
        matches!(self.known[symbol as usize].made, Made::Rounds)
    }

    pub(crate) fn set_truth(&mut self, symbol: Symbol, test: Rc<Test>) {
        self.known[symbol as usize].made = Made::Truth(test);
    }

    pub(crate) fn truth(&self, symbol: Symbol) -> Option<Rc<Test>> {
        match &self.known[symbol as usize].made {
            Made::Truth(test) => Some(Rc::clone(test)),
            _ => None,
        }
    }

    pub(crate) fn set_extreme(&mut self, symbol: Symbol, extreme: Extreme) {
        self.known[symbol as usize].made = Made::Extreme(Box::new(extreme));
    }

    pub(crate) fn set_sign(&mut self, (symbol, factor): (Symbol, i128), bits: u8, test: Rc<Test>) {
        self.known[symbol as usize].made = Made::Sign(factor, bits, test);
    }

    /// Returns the test of whether a multiple of a symbol is negative, if it was made with one.
    pub(crate) fn sign(&self, (symbol, factor): (Symbol, i128), bits: u8) -> Option<Rc<Test>> {
        match &self.known[symbol as usize].made {
            Made::Sign(own, own_bits, test) if (*own, *own_bits) == (factor, bits) => Some(Rc::clone(test)),
            _ => None,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn base(&self, symbol: Symbol) -> Option<Base> {
        match self.known[symbol as usize].made {
            Made::Base(at) => self.bases.get(usize::from(at)).copied(),
            _ => None,
        }
    }

    fn is_base(&self, symbol: Symbol) -> bool {
        matches!(self.known[symbol as usize].made, Made::Base(_))
    }

    pub(crate) fn has_base(&self, form: &Form) -> bool {
        form.terms.iter().any(|(symbol, _)| self.is_base(*symbol))
    }

    /// Returns whether two forms count from the same.
    pub(crate) fn has_same_base(&self, a: &Form, b: &Form) -> bool {
        let is_in = |one: &Form, other: &Form| {
            let mut bases = one.terms.iter().filter(|(symbol, _)| self.is_base(*symbol));
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
    pub(crate) fn used(&mut self, form: &Form) -> Form {
        if !self.is_unstable(form) {
            return form.clone();
        }
        let mut seen = Form::constant(form.constant);
        for (symbol, factor) in &form.terms {
            let Known { low, high, origin, at, is_unstable, .. } = self.known[*symbol as usize];
            let own = if is_unstable { self.unstable(low, high, origin, at) } else { Form::symbol(*symbol) };
            let Some(sum) = seen.plus(&own, *factor) else {
                return self.unstable(-(1 << 95), 1 << 95, origin, at);
            };
            seen = sum;
        }
        seen
    }

    fn limits(&self, state: &State, symbol: Symbol) -> (i128, i128) {
        let known = &self.known[symbol as usize];
        if state.limited & mark(symbol) == 0 {
            return (known.low, known.high);
        }
        match state.limits.binary_search_by_key(&symbol, |(own, ..)| *own) {
            Ok(at) => (state.limits[at].1, state.limits[at].2),
            Err(_) => (known.low, known.high),
        }
    }

    /// Gives a state a number of its own: its limits or facts have changed.
    fn changes(&mut self, state: &mut State) {
        self.states += 1;
        state.number = self.states;
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
        let (terms, bound) = reduced(form, bound);
        // What the ranges say is no news. Where ways meet, it is found again.
        if self.by_ranges(state, &terms).is_some_and(|most| most <= bound) {
            return true;
        }
        if kind == Kind::Guard {
            // What contradicts the other facts cannot hold.
            let opposite: NewTerms = terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
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
        let holds = self.narrow(state, &terms, bound) && self.narrow_quotients(state, &terms, bound);
        if holds {
            self.enter(state, Fact::new(terms, bound, false));
        }
        holds
    }

    /// Enters a fact in the list.
    fn enter(&mut self, state: &mut State, new: Fact) {
        if state.facts.len() >= MOST_FACTS {
            self.forget_unused(state);
        }
        let is_full = state.facts.len() >= MOST_FACTS;
        match state.facts.iter().position(|fact| fact.signs == new.signs && fact.terms == new.terms) {
            Some(at) if state.facts[at].bound <= new.bound => {}
            // Of a definition and a guard, the guard does not hold everywhere.
            Some(at) => {
                state.facts_mut()[at] = new;
                self.changes(state);
            }
            None if !is_full => {
                state.facts_mut().push(new);
                self.changes(state);
            }
            None => {}
        }
    }

    /// Makes room for facts of cases, which have no registers and so do not know what is used.
    pub(crate) fn make_room(&mut self, state: &mut State) {
        if state.facts.len() + ROOM > MOST_FACTS {
            self.forget_unused(state);
        }
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
        state.kept.forms().for_each(|form| mark(&form.terms));
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
        // What a larger or smaller number is made of says how far it is from others.
        for symbol in
            (0..used.len()).rev().filter(|symbol| matches!(self.known[*symbol].made, Made::Extreme(_)))
        {
            if let (true, Made::Extreme(it)) = (used[symbol], &self.known[symbol].made) {
                it.of.iter().flat_map(|it| &it.terms).for_each(|(symbol, _)| used[*symbol as usize] = true);
            }
        }
        let is_unused_extreme = |(symbol, _): &(Symbol, i128)| {
            !used[*symbol as usize] && matches!(self.known[*symbol as usize].made, Made::Extreme(_))
        };
        Rc::make_mut(&mut state.facts).retain(|it| !it.terms.iter().any(is_unused_extreme));
        let is_quotient = |symbol: Symbol| matches!(self.known[symbol as usize].made, Made::Floor(_));
        let is_unused = |used: &[bool], symbol: Symbol| !used[symbol as usize] && is_quotient(symbol);
        // What a test says of such quotients alone is of no use either.
        let is_about_unused = |used: &[bool], it: &Fact| it.terms.iter().all(|it| is_unused(used, it.0));
        Rc::make_mut(&mut state.facts).retain(|it| !is_about_unused(&used, it));
        for fact in state.facts.iter().filter(|it| !it.is_definition) {
            fact.terms.iter().for_each(|(symbol, _)| used[*symbol as usize] = true);
        }
        let is_definition_of_unused =
            |it: &Fact| it.is_definition && it.terms.iter().any(|it| is_unused(&used, it.0));
        Rc::make_mut(&mut state.facts).retain(|it| !is_definition_of_unused(it));
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
            state.limited |= mark(symbol);
            self.changes(state);
        }
        low <= high
    }

    /// Limits each symbol of a fact by the ranges of the others: whole numbers make the limit sharper than
    /// the fact is. Returns whether the fact can hold.
    fn narrow(&mut self, state: &mut State, terms: &Terms, bound: i128) -> bool {
        // What is left of the bound if all symbols have the values at which the sum is least: a symbol whose
        // term cannot grow by more keeps its range. A range changes at the other end only.
        let least = |sum, term: &(Symbol, i128)| self.down(state, sum, *term);
        let left = terms.iter().try_fold(0, least).and_then(|least| bound.checked_sub(least));
        for (symbol, factor) in terms {
            let (low, high) = self.limits(state, *symbol);
            let width = high.checked_sub(low).and_then(|width| times(width, factor.abs()));
            let most = if let Some(left) = left {
                if width.is_some_and(|width| width <= left) {
                    continue;
                }
                self.down(state, left, (*symbol, *factor))
            } else {
                let mut others = terms.iter().filter(|(other, _)| other != symbol);
                let least = others.try_fold(0, |least, term| self.down(state, least, *term));
                least.and_then(|least| bound.checked_sub(least))
            };
            if most.is_some_and(|most| !self.limit(state, *symbol, *factor, most)) {
                return false;
            }
        }
        true
    }

    /// Adds a bound of a form to the definitions of quotients with which most of its terms cancel. What is left
    /// has a common divisor, and whole numbers make the bound of that sharper than the sum is. Returns whether
    /// the facts can hold.
    fn narrow_quotients(&mut self, state: &mut State, terms: &Terms, bound: i128) -> bool {
        let facts = Rc::clone(&state.facts);
        let opposite: NewTerms = terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
        let opposite = signs(&opposite);
        // Either all terms but the quotient's cancel, or all of the definition's.
        let is_about = |fact: &&Fact| {
            let is_within = fact.terms.len() < terms.len() && fact.signs & !opposite == 0;
            let is_around = fact.terms.len() == terms.len() + 1 && opposite & !fact.signs == 0;
            fact.is_definition && (is_within || is_around)
        };
        facts.iter().filter(is_about).all(|fact| {
            let (Some(left), Some(most)) =
                (sum(&fact.terms, 1, terms, 1, terms.len() - 1), fact.bound.checked_add(bound))
            else {
                return true;
            };
            let common = divisor(&left);
            match left[..] {
                [(symbol, factor)] => self.limit(state, symbol, factor, most),
                [] => 0 <= most,
                _ if remainder(most, common) != 0 => {
                    let left =
                        left.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common))).collect();
                    self.enter(state, Fact::new(left, floor(most, common), false));
                    true
                }
                _ => true,
            }
        })
    }

    /// Limits what stands with a symbol in a fact by the new range of the symbol. Returns whether the facts
    /// can hold.
    fn narrow_all(&mut self, state: &mut State, symbol: Symbol) -> bool {
        let own = signs(&[(symbol, 1), (symbol, -1)]);
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
        let is_multiple = |(_, factor): &&(Symbol, i128)| remainder(*factor, by) == 0;
        let whole =
            form.terms.iter().filter(is_multiple).map(|(symbol, factor)| (*symbol, floor(*factor, by)));
        let whole = Form { constant: floor(form.constant, by), terms: whole.collect() };
        let mut rest = form.clone();
        rest.terms.retain(|term| !is_multiple(&term));
        if rest.terms.is_empty() {
            return Some(whole);
        }
        // floor((g * x + c) / (g * d)) = floor((x + floor(c / g)) / d)
        let common = gcd(rest.divisor(), by);
        rest.constant = floor(remainder(rest.constant, by), common);
        if common > 1 {
            rest.terms =
                rest.terms.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common))).collect();
        }
        let mut by = floor(by, common);
        // floor((floor(x / d) + c) / e) = floor((x + c * d) / (d * e))
        let mut outer = None;
        if let [(symbol, 1)] = rest.terms[..]
            && let Made::Floor(quotient) = &self.known[symbol as usize].made
        {
            outer = Some((rest.clone(), by));
            rest = quotient.form.add(rest.constant.checked_mul(quotient.by)?)?;
            by = by.checked_mul(quotient.by).filter(|it| *it < 1 << 80)?;
        }
        let key = (rest, by);
        if let Some(quotient) = self.quotients.get(&key).copied() {
            self.define(state, outer.as_ref(), quotient)?;
            let (low, high) = self.range(state, &Form::symbol(quotient), 2)?;
            if low == high {
                return whole.add(low);
            }
            self.confine(state, quotient, (low, high));
            return whole.plus(&Form::symbol(quotient), 1);
        }
        let (rest, by) = key;
        if let Some(quotient) = self.quotient_of_extreme(state, &rest, by) {
            return whole.plus(&quotient, 1);
        }
        let (low, high) = self.range(state, &rest, 2)?;
        let here = (floor(low, by), floor(high, by));
        if here.0 == here.1 {
            return whole.add(here.0);
        }
        if self.is_unstable(&rest) {
            let (origin, at) = self.origin(&rest);
            return whole.plus(&self.unstable(here.0, here.1, origin, at), 1);
        }
        // A range that holds wherever the symbols of the form are known.
        let (low, high) = self.range(&State::default(), &rest, 0)?;
        let (origin, at) = self.origin(&rest);
        let symbol = self.new_symbol(floor(low, by), floor(high, by), origin, at);
        let facts = self.facts_of(symbol, &rest, by)?;
        self.quotients.insert((rest.clone(), by), symbol);
        self.known[symbol as usize].made = Made::Floor(Box::new(Quotient { form: rest, by, facts }));
        self.define(state, outer.as_ref(), symbol)?;
        self.confine(state, symbol, here);
        whole.plus(&Form::symbol(symbol), 1)
    }

    /// Keeps the range of a quotient, which took two facts: a bound of a form with it needs them no more.
    fn confine(&mut self, state: &mut State, quotient: Symbol, (low, high): (i128, i128)) {
        self.limit(state, quotient, 1, high);
        self.limit(state, quotient, -1, -low);
    }

    /// Returns the quotient of a form with the larger one of two numbers in it, or the smaller one, if it is known
    /// which of the two quotients that is: the quotient of the larger number is the larger quotient.
    fn quotient_of_extreme(&mut self, state: &mut State, form: &Form, by: i128) -> Option<Form> {
        let (symbol, factor, extreme) =
            form.terms.iter().find_map(|(symbol, factor)| match &self.known[*symbol as usize].made {
                Made::Extreme(it) if factor.abs() == 1 => Some((*symbol, *factor, Extreme::clone(it))),
                _ => None,
            })?;
        let [a, b] = extreme.of.map(|it| form.replace(symbol, &it));
        let (a, b) = (self.floor(state, &a?, by)?, self.floor(state, &b?, by)?);
        let (low, high) = self.range(state, &a.plus(&b, -1)?, 2)?;
        // Of numbers that are subtracted, the larger one makes the smaller difference.
        match extreme.is_larger == (factor > 0) {
            true if low >= 0 => Some(a),
            true if high <= 0 => Some(b),
            false if low >= 0 => Some(b),
            false if high <= 0 => Some(a),
            _ => None,
        }
    }

    /// Returns the facts that define a quotient: `0 <= form - by * quotient <= by - 1`.
    fn facts_of(&self, quotient: Symbol, form: &Form, by: i128) -> Option<SmallVec<[Fact; 2]>> {
        let left = form.plus(&Form::symbol(quotient), -by)?;
        let sides = [(left.clone(), by - 1), (left.times(-1)?, 0)];
        let facts = sides.into_iter().filter_map(|(left, bound)| {
            let bound = bound.checked_sub(left.constant)?;
            let (terms, bound) = reduced(&left, bound);
            let says = !self.is_unstable(&left) && !self.has_base(&left);
            says.then(|| Fact::new(terms, bound, true))
        });
        Some(facts.collect())
    }

    /// Adds what is known of a quotient: of the form that it was made of, and of the quotient that was divided
    /// again.
    fn define(&mut self, state: &mut State, outer: Option<&(Form, i128)>, quotient: Symbol) -> Option<()> {
        let own = match &self.known[quotient as usize].made {
            Made::Floor(own) => own.facts.clone(),
            _ => SmallVec::new(),
        };
        own.into_iter().for_each(|fact| self.enter(state, fact));
        if let Some((rest, by)) = outer {
            self.facts_of(quotient, rest, *by)?.into_iter().for_each(|fact| self.enter(state, fact));
        }
        Some(())
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
            terms: form.terms.iter().copied().filter(|(symbol, _)| self.is_base(*symbol)).collect(),
        };
        let base = only_base(a);
        if base != only_base(b) {
            return None;
        }
        let (a, b) = (a.plus(&base, -1)?, b.plus(&base, -1)?);
        // One of the two may be right in both cases.
        let difference = a.plus(&b, -1)?;
        for (right, there) in [(&b, one), (&a, other)] {
            if self.is_within(there, &difference, 2, (0, 0)) && !self.is_unstable(&difference) {
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
        self.work += 1 + (one.facts.len() + one.limits.len()) as u64 / 8;
        let of = |terms: Terms, here: i128, there: i128| {
            let step = there.saturating_sub(here);
            let divides = step != 0 && remainder(difference, step.abs()) == 0;
            divides.then(|| (Form { constant: 0, terms }, here, there, difference / step))
        };
        let mut found = SmallVec::<[_; 4]>::new();
        for fact in one.facts.iter() {
            if let (Some(here), Some(there)) = (self.number_of(one, fact), self.number_of(other, fact)) {
                found.extend(of(Terms::clone(&fact.terms), here, there));
            }
        }
        for (symbol, here, high) in &one.limits {
            if here == high
                && let (there, high) = self.limits(other, *symbol)
                && there == high
            {
                found.extend(of(Terms::from(&[(*symbol, 1)][..]), *here, there));
            }
        }
        // Where the ways meet, the terms are known to lie between the two numbers.
        let (terms, here, .., times) = found.into_iter().find(|(terms, here, there, _)| {
            self.is_within(state, terms, 1, (*here.min(there), *here.max(there)))
        })?;
        terms.add(-here)?.times(times)?.plus(a, 1)
    }

    /// Returns the number that the terms of a fact have, if the ranges and the facts about them say one.
    fn number_of(&self, state: &State, fact: &Fact) -> Option<i128> {
        let terms: Terms = fact.terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
        let most = |terms: &Terms, signs: u64| {
            let is_same = |it: &&Fact| it.signs == signs && it.terms == *terms;
            let said = state.facts.iter().find(is_same).map(|it| it.bound);
            said.into_iter().chain(self.by_ranges(state, terms)).min()
        };
        let high = most(&fact.terms, fact.signs)?;
        (most(&terms, opposite(fact.signs))? == -high).then_some(high)
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
        let opposite = Form { constant: 0, terms: Terms::from(&[(symbol, -1)][..]) };
        let least = self.high_or(other, &opposite, 1, -low).map_or(all_low, |most| -most).min(low);
        let most = self.high_or(other, &form, 1, high).unwrap_or(all_high).max(high);
        if least > all_low || most < all_high {
            both.limits.push((symbol, least, most));
            both.limited |= mark(symbol);
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
                both.limited |= mark(*symbol);
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
                let is_same = |it: &&Fact| it.signs == fact.signs && it.terms == fact.terms;
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
                let says_more = || self.by_ranges(&both, &fact.terms).is_none_or(|known| bound < known);
                if facts.len() < MOST_FACTS && (is_definition || says_more()) {
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
