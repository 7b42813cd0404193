//! What is known at a point of a kernel: a value for each register, and constraints about the symbols in
//! them.
//!
//! A symbol stands for one whole number during one run of the kernel's code up to here. Each time the
//! analysis goes through a step, it makes new symbols, so a constraint about a symbol never goes out of date.
//! Symbols that are functions of other symbols (`Symbols::floor`) are shared: their ranges come from ranges
//! that hold everywhere, not from guards.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use smallvec::SmallVec;

use super::affine::{
    Affine, Mix, NewTerms, Symbol, Terms, coefficient, divisor, floor, remainder, sum, times,
};
use super::stack::Kept;
use super::witness::{Found, Witness};
use crate::ir::{Op, Origin};

/// What an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Region {
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
pub(super) struct SymbolInfo {
    pub(super) low: i128,
    pub(super) high: i128,
    pub(super) origin: Origin,
    /// File and line of the step that made it.
    pub(super) at: (u32, u32),
    /// Whether each use may see another value: nothing is ever assumed of it but its range.
    pub(super) is_unstable: bool,
    pub(super) definition: Definition,
}

/// What a symbol was made as.
#[derive(Debug)]
pub(super) enum Definition {
    /// A number of which nothing but the range is known.
    Number,
    /// An address: the place in the list of bases.
    Region(u16),
    /// The number of rounds of a loop.
    Rounds,
    /// The quotient of an expression, rounded down.
    Floor(Box<Quotient>),
    /// 1 where the test holds and else 0.
    Truth(Rc<Test>),
    /// The larger one of two numbers, or the smaller one.
    Extreme(Box<Extreme>),
    /// This multiple of it is negative, as a signed number of so many bits, where the test holds, and nowhere
    /// else.
    Sign(i128, u8, Rc<Test>),
    /// The bits of a float, of so many bits.
    Float(u8, Box<FloatBounds>),
}

/// The ends of a float that is no NaN. It may be infinite where an end is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FloatBounds {
    pub(crate) low: Option<Affine>,
    pub(crate) high: Option<Affine>,
}

/// An expression divided by a number, rounded down.
#[derive(Clone, Debug)]
pub(super) struct Quotient {
    pub(super) expr: Affine,
    pub(super) by: i128,
    /// `0 <= expression - by * quotient <= by - 1`.
    pub(super) constraints: SmallVec<[Constraint; 2]>,
}

/// Of which two numbers a symbol is the larger one, or the smaller one.
#[derive(Clone, Debug)]
pub(crate) struct Extreme {
    pub(crate) is_larger: bool,
    pub(crate) of: [Affine; 2],
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
        a: Affine,
        b: Affine,
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
    Number(Affine),
    Test(Rc<Test>),
}

/// `terms <= bound`.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) terms: Terms,
    pub(super) bound: i128,
    /// It holds for all values of the symbols, as the definition of a quotient does.
    pub(super) is_definition: bool,
    /// Its symbols and their signs.
    pub(super) signs: u64,
}

impl Constraint {
    pub(super) fn new(terms: Terms, bound: i128, is_definition: bool) -> Self {
        Self { signs: signs(&terms), terms, bound, is_definition }
    }
}

/// Returns the bit of a symbol in a set that may have others, too.
pub(super) fn mark(symbol: Symbol) -> u64 {
    1 << (symbol % 64)
}

/// Returns a bit for each symbol and its sign. Terms without a common bit have no common symbol and sign.
pub(super) fn signs(terms: &[(Symbol, i128)]) -> u64 {
    terms.iter().fold(0, |all, (symbol, factor)| all | 1 << ((symbol * 2 + u32::from(*factor > 0)) % 64))
}

/// Returns the bits of the same symbols with the other signs: each symbol has two bits.
pub(super) fn opposite(signs: u64) -> u64 {
    (signs & NEGATIVE) << 1 | (signs >> 1) & NEGATIVE
}

/// Returns the terms of an expression and its bound without their common divisor and the constant.
pub(super) fn reduced(expr: &Affine, bound: i128) -> (Terms, i128) {
    match expr.divisor() {
        0 | 1 => (expr.terms.clone(), bound),
        common => {
            let terms = expr.terms.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common)));
            (terms.collect(), floor(bound, common))
        }
    }
}

/// Among the bits of `signs`, those of negative factors.
const NEGATIVE: u64 = 0x5555_5555_5555_5555;

/// Why a constraint holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A test says so.
    Guard,
    /// A loop's header claims it.
    Claim,
}

/// The constraints are private: they change only by what [`Symbols`] assumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) registers: Vec<Value>,
    /// Ranges that are narrower than those of the symbols, by symbol.
    pub(super) intervals: Vec<(Symbol, i128, i128)>,
    /// A bit for each symbol that has such a range, and for others.
    pub(super) has_interval: u64,
    pub(super) constraints: Rc<Vec<Constraint>>,
    pub(crate) kept: Kept,
    /// States of one number have the same limits and constraints.
    pub(super) number: u64,
}

/// More constraints than these are forgotten: that is sound, and bounds the work.
pub(super) const CONSTRAINTS: usize = 48;
/// Symbols and bounds for which there is room from the start.
const MOST_EXPECTED: usize = 400;
/// Facts that a case may learn.
const ROOM: usize = 6;
/// Times that constraints are looked through for those that may be forgotten.
const MOST_SWEEPS: u32 = 200;
/// Combinations of constraints that one bound may try.
pub(super) const COMBINATIONS: u32 = 90;
/// Smaller or larger numbers within others that are divided.
pub(super) const MOST_EXTREMES: u32 = 6;

impl State {
    pub(crate) fn new(registers: Vec<Value>) -> Self {
        Self { registers, ..Self::default() }
    }

    /// Returns the constraints without the registers, for a case that is only looked into.
    pub(crate) fn case(&self) -> Self {
        Self {
            registers: Vec::new(),
            intervals: self.intervals.clone(),
            constraints: Rc::clone(&self.constraints),
            kept: Kept::default(),
            ..*self
        }
    }

    /// Returns the constraints, which this state alone has from now on.
    fn constraints_mut(&mut self) -> &mut Vec<Constraint> {
        if Rc::get_mut(&mut self.constraints).is_none() {
            let mut own = Vec::with_capacity(self.constraints.len() + 4);
            own.extend_from_slice(&self.constraints);
            self.constraints = Rc::new(own);
        }
        Rc::make_mut(&mut self.constraints)
    }

    /// States of one number have the same limits and constraints.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Takes the constraints of a case.
    pub(crate) fn set_constraints(&mut self, case: Self) {
        (self.intervals, self.has_interval) = (case.intervals, case.has_interval);
        (self.constraints, self.number) = (case.constraints, case.number);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub(super) known: Vec<SymbolInfo>,
    pub(super) regions: Vec<Region>,
    pub(super) quotients: HashMap<(Affine, i128), Symbol, BuildHasherDefault<Mix>>,
    /// Upper bounds of terms, by the number of the state and the depth of the search.
    pub(super) bounds: HashMap<(u64, u32, Terms), Found, BuildHasherDefault<Mix>>,
    /// The last number of a state.
    pub(super) states: u64,
    /// How many bounds were computed.
    pub(crate) work: u64,
    /// Quotients of smaller or larger numbers that are looked for, one for the other.
    pub(super) extremes: u32,
    pub(super) tries: u32,
    /// The point that was looked at last.
    pub(super) witness: Witness,
    /// How often constraints were looked through for unused ones.
    pub(super) sweeps: u32,
}

impl Symbols {
    /// Makes the symbols of a kernel of so many steps.
    pub(crate) fn new(steps: usize) -> Self {
        let bounds =
            HashMap::with_capacity_and_hasher(steps.min(MOST_EXPECTED), BuildHasherDefault::default());
        Self { bounds, known: Vec::with_capacity(steps.min(MOST_EXPECTED)), ..Self::default() }
    }

    pub(crate) fn new_symbol(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Symbol {
        // Bounds may cross where the constraints cannot hold. The symbol may outlive that place, where two
        // ways meet, and needs a value.
        let (low, high) = (low.min(high), high.max(low));
        self.known.push(SymbolInfo {
            low,
            high,
            origin,
            at,
            is_unstable: false,
            definition: Definition::Number,
        });
        Symbol::try_from(self.known.len() - 1).unwrap_or(Symbol::MAX)
    }

    pub(crate) fn fresh(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Affine {
        Affine::symbol(self.new_symbol(low, high, origin, at))
    }

    /// Makes a value in a range. Each use of an unstable one may see another value.
    pub(crate) fn new_value(
        &mut self,
        is_unstable: bool,
        (low, high): (i128, i128),
        (origin, at): (Origin, (u32, u32)),
    ) -> Affine {
        let symbol = self.new_symbol(low, high, origin, at);
        self.known[symbol as usize].is_unstable = is_unstable;
        Affine::symbol(symbol)
    }

    /// Makes the symbol of an address, which is in the range.
    pub(crate) fn new_region(&mut self, region: Region, low: i128, high: i128) -> Symbol {
        let symbol = self.new_symbol(low, high, Origin::Exact, (0, 0));
        self.known[symbol as usize].definition =
            Definition::Region(u16::try_from(self.regions.len()).unwrap_or(u16::MAX));
        self.regions.push(region);
        symbol
    }

    /// Makes the symbol of the number of a loop's rounds.
    pub(crate) fn new_counter(&mut self, most: i128) -> Symbol {
        let symbol = self.new_symbol(0, most, Origin::Exact, (0, 0));
        self.known[symbol as usize].definition = Definition::Rounds;
        symbol
    }

    pub(crate) fn counts_rounds(&self, symbol: Symbol) -> bool {
        matches!(self.known[symbol as usize].definition, Definition::Rounds)
    }

    pub(crate) fn set_truth(&mut self, symbol: Symbol, test: Rc<Test>) {
        self.known[symbol as usize].definition = Definition::Truth(test);
    }

    pub(crate) fn truth(&self, symbol: Symbol) -> Option<Rc<Test>> {
        match &self.known[symbol as usize].definition {
            Definition::Truth(test) => Some(Rc::clone(test)),
            _ => None,
        }
    }

    pub(crate) fn set_extreme(&mut self, symbol: Symbol, extreme: Extreme) {
        self.known[symbol as usize].definition = Definition::Extreme(Box::new(extreme));
    }

    pub(crate) fn set_sign(&mut self, (symbol, factor): (Symbol, i128), bits: u8, test: Rc<Test>) {
        self.known[symbol as usize].definition = Definition::Sign(factor, bits, test);
    }

    /// Returns the test of whether a multiple of a symbol is negative, if it was made with one.
    pub(crate) fn sign(&self, (symbol, factor): (Symbol, i128), bits: u8) -> Option<Rc<Test>> {
        match &self.known[symbol as usize].definition {
            Definition::Sign(own, own_bits, test) if (*own, *own_bits) == (factor, bits) => {
                Some(Rc::clone(test))
            }
            _ => None,
        }
    }

    pub(crate) fn set_float(&mut self, symbol: Symbol, bits: u8, known: FloatBounds) {
        self.known[symbol as usize].definition = Definition::Float(bits, Box::new(known));
    }

    /// Returns what is known of the float whose bits a symbol is. Half of its bits are no float.
    pub(crate) fn float(&self, symbol: Symbol, bits: u32) -> Option<&FloatBounds> {
        match &self.known[symbol as usize].definition {
            Definition::Float(own, known) if u32::from(*own) == bits => Some(known),
            _ => None,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn region(&self, symbol: Symbol) -> Option<Region> {
        match self.known[symbol as usize].definition {
            Definition::Region(at) => self.regions.get(usize::from(at)).copied(),
            _ => None,
        }
    }

    pub(super) fn is_region(&self, symbol: Symbol) -> bool {
        matches!(self.known[symbol as usize].definition, Definition::Region(_))
    }

    pub(crate) fn has_region(&self, expr: &Affine) -> bool {
        expr.terms.iter().any(|(symbol, _)| self.is_region(*symbol))
    }

    /// Returns the terms of an expression that are addresses of regions.
    pub(crate) fn region_part(&self, expr: &Affine) -> Affine {
        let terms = expr.terms.iter().copied().filter(|(symbol, _)| self.is_region(*symbol));
        Affine { constant: 0, terms: terms.collect() }
    }

    /// Returns whether two expressions count from the same.
    pub(crate) fn has_same_region(&self, a: &Affine, b: &Affine) -> bool {
        let is_in = |one: &Affine, other: &Affine| {
            let mut regions = one.terms.iter().filter(|(symbol, _)| self.is_region(*symbol));
            regions.all(|(symbol, factor)| other.coefficient(*symbol) == *factor)
        };
        is_in(a, b) && is_in(b, a)
    }

    pub(crate) fn is_unstable(&self, expr: &Affine) -> bool {
        expr.terms.iter().any(|(symbol, _)| self.known[*symbol as usize].is_unstable)
    }

    /// Returns the most doubtful origin among an expression's symbols, with its place.
    pub(crate) fn origin(&self, expr: &Affine) -> (Origin, (u32, u32)) {
        let origins = expr.terms.iter().map(|(symbol, _)| {
            let known = &self.known[*symbol as usize];
            (known.origin, known.at)
        });
        origins.max_by_key(|(origin, _)| *origin).unwrap_or((Origin::Exact, (0, 0)))
    }

    /// Returns the expression as one use sees it: unstable symbols have another value at each use.
    pub(crate) fn used(&mut self, expr: &Affine) -> Affine {
        if !self.is_unstable(expr) {
            return expr.clone();
        }
        let mut seen = Affine::constant(expr.constant);
        for (symbol, factor) in &expr.terms {
            let SymbolInfo { low, high, origin, at, is_unstable, ref definition } =
                self.known[*symbol as usize];
            // Whatever value it is, a float stays between the same numbers.
            let float = if let Definition::Float(bits, known) = definition {
                Some((*bits, known.clone()))
            } else {
                None
            };
            let own = if is_unstable {
                self.new_value(true, (low, high), (origin, at))
            } else {
                Affine::symbol(*symbol)
            };
            if let (true, Some((bits, known)), [(own, _)]) = (is_unstable, float, &own.terms[..]) {
                self.set_float(*own, bits, *known);
            }
            let Some(sum) = seen.plus(&own, *factor) else {
                return self.new_value(true, (-(1 << 95), 1 << 95), (origin, at));
            };
            seen = sum;
        }
        seen
    }

    pub(super) fn interval(&self, state: &State, symbol: Symbol) -> (i128, i128) {
        let known = &self.known[symbol as usize];
        if state.has_interval & mark(symbol) == 0 {
            return (known.low, known.high);
        }
        match state.intervals.binary_search_by_key(&symbol, |(own, ..)| *own) {
            Ok(at) => (state.intervals[at].1, state.intervals[at].2),
            Err(_) => (known.low, known.high),
        }
    }

    /// Gives a state a number of its own: its limits or constraints have changed.
    pub(super) fn changes(&mut self, state: &mut State) {
        self.states += 1;
        state.number = self.states;
    }

    /// Adds the constraint `expression <= bound`. Returns whether it can hold.
    pub(crate) fn assume(&mut self, state: &mut State, expr: &Affine, bound: i128) -> bool {
        self.add_constraint(state, expr, bound, Kind::Guard)
    }

    /// Adds the constraint `expression <= bound`, which is verified later.
    pub(crate) fn assume_candidate(&mut self, state: &mut State, expr: &Affine, bound: i128) {
        self.add_constraint(state, expr, bound, Kind::Claim);
    }

    fn add_constraint(&mut self, state: &mut State, expr: &Affine, bound: i128, kind: Kind) -> bool {
        let Some(bound) = bound.checked_sub(expr.constant) else { return true };
        let common = expr.divisor();
        if common == 0 {
            return 0 <= bound;
        }
        if self.is_unstable(expr) {
            return true;
        }
        let (terms, bound) = reduced(expr, bound);
        // What the ranges say is no news. Where paths join, it is found again.
        if self.by_ranges(state, &terms).is_some_and(|most| most <= bound) {
            return true;
        }
        if kind == Kind::Guard {
            // What contradicts the other constraints cannot hold.
            let opposite: NewTerms = terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
            self.tries = COMBINATIONS / 3;
            if self.upper_bound(state, &opposite, 2, -bound - 1).is_some_and(|most| most < -bound) {
                return false;
            }
        }
        if self.has_region(expr) {
            return true;
        }
        if let [(symbol, factor)] = terms[..] {
            let before = self.interval(state, symbol);
            return self.restrict(state, symbol, factor, bound)
                && (self.interval(state, symbol) == before || self.propagate_from(state, symbol));
        }
        let holds = self.propagate(state, &terms, bound) && self.propagate_to_quotients(state, &terms, bound);
        if holds {
            self.enter(state, Constraint::new(terms, bound, false));
        }
        holds
    }

    /// Enters a constraint in the list.
    pub(super) fn enter(&mut self, state: &mut State, new: Constraint) {
        if state.constraints.len() >= CONSTRAINTS {
            self.project(state);
        }
        let is_full = state.constraints.len() >= CONSTRAINTS;
        match state
            .constraints
            .iter()
            .position(|constraint| constraint.signs == new.signs && constraint.terms == new.terms)
        {
            Some(at) if state.constraints[at].bound <= new.bound => {}
            // Of a definition and a guard, the guard does not hold everywhere.
            Some(at) => {
                state.constraints_mut()[at] = new;
                self.changes(state);
            }
            None if !is_full => {
                state.constraints_mut().push(new);
                self.changes(state);
            }
            None => {}
        }
    }

    /// Makes room for the constraints of a step. Cases of it have no registers, so they do not know what is
    /// used.
    pub(crate) fn make_room(&mut self, state: &mut State) {
        if state.constraints.len() + ROOM > CONSTRAINTS {
            self.project(state);
        }
    }

    /// Forgets definitions of quotients that no register and no other constraint has: whoever divides again
    /// has them again.
    fn project(&mut self, state: &mut State) {
        if state.registers.is_empty() || self.sweeps == MOST_SWEEPS {
            return;
        }
        self.sweeps += 1;
        self.work += state.registers.len() as u64 / 8;
        let mut used = vec![false; self.known.len()];
        let mut mark = |terms: &Terms| terms.iter().for_each(|(symbol, _)| used[*symbol as usize] = true);
        let mut tests = Vec::new();
        state.kept.exprs().for_each(|expr| mark(&expr.terms));
        for value in &state.registers {
            match value {
                Value::Number(expr) => mark(&expr.terms),
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
        for symbol in (0..used.len())
            .rev()
            .filter(|symbol| matches!(self.known[*symbol].definition, Definition::Extreme(_)))
        {
            if let (true, Definition::Extreme(it)) = (used[symbol], &self.known[symbol].definition) {
                it.of.iter().flat_map(|it| &it.terms).for_each(|(symbol, _)| used[*symbol as usize] = true);
            }
        }
        let is_unused_extreme = |(symbol, _): &(Symbol, i128)| {
            !used[*symbol as usize]
                && matches!(self.known[*symbol as usize].definition, Definition::Extreme(_))
        };
        Rc::make_mut(&mut state.constraints).retain(|it| !it.terms.iter().any(is_unused_extreme));
        let is_quotient =
            |symbol: Symbol| matches!(self.known[symbol as usize].definition, Definition::Floor(_));
        let is_unused = |used: &[bool], symbol: Symbol| !used[symbol as usize] && is_quotient(symbol);
        // What a test says of such quotients alone is of no use either.
        let is_about_unused =
            |used: &[bool], it: &Constraint| it.terms.iter().all(|it| is_unused(used, it.0));
        Rc::make_mut(&mut state.constraints).retain(|it| !is_about_unused(&used, it));
        for constraint in state.constraints.iter().filter(|it| !it.is_definition) {
            constraint.terms.iter().for_each(|(symbol, _)| used[*symbol as usize] = true);
        }
        let is_definition_of_unused =
            |it: &Constraint| it.is_definition && it.terms.iter().any(|it| is_unused(&used, it.0));
        Rc::make_mut(&mut state.constraints).retain(|it| !is_definition_of_unused(it));
        self.changes(state);
    }

    /// Adds `factor * symbol <= bound`. Returns whether it can hold.
    pub(super) fn restrict(&mut self, state: &mut State, symbol: Symbol, factor: i128, bound: i128) -> bool {
        let (mut low, mut high) = self.interval(state, symbol);
        let before = (low, high);
        let most = floor(bound, factor.abs());
        if factor > 0 {
            high = high.min(most);
        } else {
            low = low.max(-most);
        }
        if (low, high) != before && low <= high {
            match state.intervals.binary_search_by_key(&symbol, |(own, ..)| *own) {
                Ok(at) => state.intervals[at] = (symbol, low, high),
                Err(at) => state.intervals.insert(at, (symbol, low, high)),
            }
            state.has_interval |= mark(symbol);
            self.changes(state);
        }
        low <= high
    }

    /// Limits each symbol of a constraint by the ranges of the others: whole numbers make the limit sharper
    /// than the constraint is. Returns whether the constraint can hold.
    fn propagate(&mut self, state: &mut State, terms: &Terms, bound: i128) -> bool {
        // What is left of the bound if all symbols have the values at which the sum is least: a symbol whose
        // term cannot grow by more keeps its range. A range changes at the other end only.
        let least = |sum, term: &(Symbol, i128)| self.down(state, sum, *term);
        let left = terms.iter().try_fold(0, least).and_then(|least| bound.checked_sub(least));
        for (symbol, factor) in terms {
            let (low, high) = self.interval(state, *symbol);
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
            if most.is_some_and(|most| !self.restrict(state, *symbol, *factor, most)) {
                return false;
            }
        }
        true
    }

    /// Adds a bound of an expression to the definitions of quotients with which most of its terms cancel.
    /// What is left has a common divisor, and whole numbers make the bound of that sharper than the sum is.
    /// Returns whether the constraints can hold.
    fn propagate_to_quotients(&mut self, state: &mut State, terms: &Terms, bound: i128) -> bool {
        let constraints = Rc::clone(&state.constraints);
        let opposite = opposite(signs(terms));
        // Either all terms but the quotient's cancel, or all of the definition's.
        let is_about = |constraint: &&Constraint| {
            let is_within = constraint.terms.len() < terms.len() && constraint.signs & !opposite == 0;
            let is_around = constraint.terms.len() == terms.len() + 1 && opposite & !constraint.signs == 0;
            constraint.is_definition && (is_within || is_around)
        };
        constraints.iter().filter(is_about).all(|constraint| {
            let (Some(left), Some(most)) =
                (sum(&constraint.terms, 1, terms, 1, terms.len() - 1), constraint.bound.checked_add(bound))
            else {
                return true;
            };
            let common = divisor(&left);
            match left[..] {
                [(symbol, factor)] => self.restrict(state, symbol, factor, most),
                [] => 0 <= most,
                _ if remainder(most, common) != 0 => {
                    let left =
                        left.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common))).collect();
                    self.enter(state, Constraint::new(left, floor(most, common), false));
                    true
                }
                _ => true,
            }
        })
    }

    /// Limits what stands with a symbol in a constraint by the new range of the symbol. Returns whether the
    /// constraints can hold.
    fn propagate_from(&mut self, state: &mut State, symbol: Symbol) -> bool {
        let own = signs(&[(symbol, 1), (symbol, -1)]);
        let constraints = Rc::clone(&state.constraints);
        constraints.iter().filter(|constraint| constraint.signs & own != 0).all(|constraint| {
            self.work += 1;
            coefficient(&constraint.terms, symbol) == 0
                || self.propagate(state, &constraint.terms, constraint.bound)
        })
    }
}
