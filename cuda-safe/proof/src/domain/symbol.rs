//! Symbols: each stands for one whole number during one run of the kernel's code up to here.
//!
//! Each time the analysis goes through a step, it makes new symbols, so a constraint about a symbol never
//! goes out of date. Symbols that are functions of other symbols (`Symbols::floor`) are shared: their
//! intervals come from intervals that hold everywhere, not from guards.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use smallvec::SmallVec;

use super::affine::{Affine, Mix, Symbol, Terms};
use super::constraint::{Constraint, mark};
use super::predicate::Test;
use super::state::State;
use super::witness::{Found, Witness};
use crate::effort::EXPECTED;
use crate::ir::Origin;

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
        let bounds = HashMap::with_capacity_and_hasher(steps.min(EXPECTED), BuildHasherDefault::default());
        Self { bounds, known: Vec::with_capacity(steps.min(EXPECTED)), ..Self::default() }
    }

    pub(crate) fn new_symbol(&mut self, low: i128, high: i128, origin: Origin, at: (u32, u32)) -> Symbol {
        // Bounds may cross where the constraints cannot hold. The symbol may outlive that place, where two
        // paths join, and needs a value.
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
        let length = expr.terms.len() as u64;
        self.work += 1 + length * length / 4;
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

    /// Gives a state a number of its own: its intervals or constraints have changed.
    pub(super) fn changes(&mut self, state: &mut State) {
        self.states += 1;
        state.number = self.states;
    }
}
