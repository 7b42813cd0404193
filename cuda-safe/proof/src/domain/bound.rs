//! Searches for bounds of expressions: what the ranges of symbols and combinations of constraints say of a
//! expression.

use smallvec::SmallVec;

use super::affine::{Affine, NewTerms, Symbol, Terms, divisor, floor, gcd, sum, times};
use super::constraint::{opposite, signs};
use super::state::State;
use super::symbol::{Definition, Symbols};
use super::witness::{Found, Witness};
use crate::effort::{COMBINATIONS, MORE_TERMS, PARTS, QUOTIENTS, THOROUGH, USUAL};

/// A term of what a bound is searched of, with the range of its symbol and the largest value.
struct Ranged {
    symbol: Symbol,
    factor: i128,
    low: i128,
    high: i128,
    most: Option<i128>,
}

/// Returns the smallest factor of a constraint that removes one of the terms, as a fraction.
fn removing(terms: &[(Symbol, i128)], constraint: &[(Symbol, i128)]) -> Option<(i128, i128)> {
    let mut factor: Option<(i128, i128)> = None;
    let mut left = terms;
    for (symbol, own) in constraint {
        while let [(other, _), rest @ ..] = left
            && other < symbol
        {
            left = rest;
        }
        let Some((other, wanted)) = left.first() else { break };
        if other == symbol && (*wanted > 0) == (*own > 0) {
            let (above, below) = (wanted.abs(), own.abs());
            if factor.is_none_or(|(a, b)| {
                times(above, b).zip(times(a, below)).is_some_and(|(one, other)| one < other)
            }) {
                factor = Some((above, below));
            }
        }
    }
    let (above, below) = factor?;
    if above == 1 || below == 1 {
        return factor;
    }
    let common = gcd(above, below);
    Some((floor(above, common), floor(below, common)))
}

impl Symbols {
    /// Adds the largest value of a term to a sum.
    pub(super) fn up(&self, state: &State, sum: i128, (symbol, factor): (Symbol, i128)) -> Option<i128> {
        let (low, high) = self.interval(state, symbol);
        sum.checked_add(times(factor, if factor > 0 { high } else { low })?)
    }

    /// Adds the smallest value of a term to a sum.
    pub(super) fn down(&self, state: &State, sum: i128, (symbol, factor): (Symbol, i128)) -> Option<i128> {
        let (low, high) = self.interval(state, symbol);
        sum.checked_add(times(factor, if factor > 0 { low } else { high })?)
    }

    /// Returns the least and the largest value by the ranges of the symbols alone.
    pub(crate) fn ends(&self, state: &State, terms: &Terms) -> (Option<i128>, Option<i128>) {
        let least = terms.iter().try_fold(0, |sum, term| self.down(state, sum, *term));
        (least, self.by_ranges(state, terms))
    }

    /// Returns the largest value by the ranges of the symbols alone.
    pub(super) fn by_ranges(&self, state: &State, terms: &[(Symbol, i128)]) -> Option<i128> {
        terms.iter().try_fold(0, |sum, term| self.up(state, sum, *term))
    }

    /// Returns the largest value of `below * terms - above * other` by the ranges alone, or `None` if it is
    /// too large or the sum has more than two terms more than `terms`.
    fn sum_by_ranges(
        &self,
        state: &State,
        (terms, below): (&[Ranged], i128),
        (other, above): (&[(Symbol, i128)], i128),
    ) -> Option<i128> {
        let (mut sum, mut left, mut other) = (0_i128, terms.len() + MORE_TERMS, other);
        for term in terms {
            while let Some(((symbol, factor), rest)) =
                other.split_first().filter(|(it, _)| it.0 < term.symbol)
            {
                left = left.checked_sub(1)?;
                sum = self.up(state, sum, (*symbol, times(*factor, -above)?))?;
                other = rest;
            }
            match other.split_first() {
                Some(((symbol, factor), rest)) if *symbol == term.symbol => {
                    let factor = times(term.factor, below)?.checked_add(times(*factor, -above)?)?;
                    if factor != 0 {
                        left = left.checked_sub(1)?;
                        sum =
                            sum.checked_add(times(factor, if factor > 0 { term.high } else { term.low })?)?;
                    }
                    other = rest;
                }
                _ => {
                    left = left.checked_sub(1)?;
                    sum = sum.checked_add(times(term.most?, below)?)?;
                }
            }
        }
        for (symbol, factor) in other {
            left = left.checked_sub(1)?;
            sum = self.up(state, sum, (*symbol, times(*factor, -above)?))?;
        }
        Some(sum)
    }

    /// Returns an upper bound of the terms: the ranges of the symbols, and combinations of up to `depth`
    /// constraints, each with a factor that removes a symbol (Farkas). A bound that is no more than the goal
    /// is good enough.
    pub(super) fn upper_bound(
        &mut self,
        state: &State,
        terms: &[(Symbol, i128)],
        depth: u32,
        goal: i128,
    ) -> Option<i128> {
        let best = self.by_ranges(state, terms);
        if depth == 0 || best.is_some_and(|best| best <= goal) || self.has_witness(state, terms, depth) {
            self.work += 1 + terms.len() as u64 / 4;
            return best;
        }
        self.combine(state, terms, depth, goal, (usize::MAX, 0))
    }

    /// Returns whether a point is found at which the terms have the largest value that the ranges allow, and
    /// at which all constraints hold that a search as deep would combine: it would find no better bound.
    fn has_witness(&mut self, state: &State, terms: &[(Symbol, i128)], depth: u32) -> bool {
        self.work += state.constraints.len() as u64 / 16;
        let mut witness = std::mem::take(&mut self.witness);
        witness.clear(self.known.len());
        let aim = |(symbol, factor): &(Symbol, i128)| {
            self.aim(state, &mut witness, *symbol, *factor > 0, QUOTIENTS)
        };
        let is_reached = terms.iter().all(aim) && self.holds(state, &mut witness, signs(terms), depth);
        self.witness = witness;
        is_reached
    }

    /// Sets a symbol to an end of its range, if what it was made of lets it have that value.
    fn aim(&self, state: &State, witness: &mut Witness, symbol: Symbol, is_up: bool, depth: u32) -> bool {
        let (low, high) = self.interval(state, symbol);
        let end = if is_up { high } else { low };
        if let Some(value) = witness.get(symbol) {
            return value == end;
        }
        if let (Definition::Floor(quotient), 1..) = (&self.known[symbol as usize].definition, depth) {
            for (symbol, factor) in &quotient.expr.terms {
                self.aim(state, witness, *symbol, is_up == (*factor > 0), depth - 1);
            }
        }
        witness.set(symbol, end);
        true
    }

    /// Returns the value of a symbol at a point, which gets one if it has none.
    fn at(&self, state: &State, witness: &mut Witness, symbol: Symbol, depth: u32) -> i128 {
        if let Some(value) = witness.get(symbol) {
            return value;
        }
        let (low, high) = self.interval(state, symbol);
        let wanted = match (&self.known[symbol as usize].definition, depth) {
            (Definition::Floor(quotient), 1..) => {
                let sum =
                    quotient.expr.terms.iter().try_fold(quotient.expr.constant, |sum, (symbol, factor)| {
                        sum.checked_add(times(*factor, self.at(state, witness, *symbol, depth - 1))?)
                    });
                sum.map_or(0, |sum| floor(sum, quotient.by))
            }
            _ => 0,
        };
        let value = wanted.max(low).min(high);
        witness.set(symbol, value);
        value
    }

    /// Returns whether the constraints hold at a point that a search may use: those with a symbol and sign of
    /// the terms, then those with one of what is left, and so on.
    fn holds(&mut self, state: &State, witness: &mut Witness, signs: u64, depth: u32) -> bool {
        let (mut seen, mut open) = (0, signs);
        for _ in 0..depth {
            let mut next = 0;
            for constraint in
                state.constraints.iter().filter(|it| it.signs & open != 0 && it.signs & seen == 0)
            {
                let sum = constraint.terms.iter().try_fold(0_i128, |sum, (symbol, factor)| {
                    sum.checked_add(times(*factor, self.at(state, witness, *symbol, QUOTIENTS))?)
                });
                if sum.is_none_or(|sum| sum > constraint.bound) {
                    return false;
                }
                next |= opposite(constraint.signs);
            }
            seen |= open;
            open = next & !seen;
            if open == 0 {
                break;
            }
        }
        true
    }

    /// Searches further. Constraints behind the first one that could have been combined with the terms
    /// earlier, too, were: each set of constraints is looked at in one order.
    fn combine(
        &mut self,
        state: &State,
        terms: &[(Symbol, i128)],
        depth: u32,
        goal: i128,
        (first, earlier): (usize, u64),
    ) -> Option<i128> {
        self.work += 1 + terms.len() as u64 / 4;
        if terms.is_empty() {
            return Some(0);
        }
        let mut ranged = SmallVec::<[Ranged; 6]>::new();
        let mut best = Some(0_i128);
        for (symbol, factor) in terms.iter().copied() {
            let (low, high) = self.interval(state, symbol);
            let most = times(factor, if factor > 0 { high } else { low });
            best = best.and_then(|best| best.checked_add(most?));
            ranged.push(Ranged { symbol, factor, low, high, most });
        }
        if depth == 0 || self.tries == 0 || best.is_some_and(|best| best <= goal) {
            return best;
        }
        let common = divisor(terms);
        if common > 1 {
            let reduced: NewTerms =
                terms.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common))).collect();
            return self
                .combine(state, &reduced, depth, floor(goal, common), (first, earlier))?
                .checked_mul(common);
        }
        self.tries -= 1;
        self.work += state.constraints.len() as u64 / 8;
        let signs = signs(terms);
        // What was learnt last is tried first.
        for (at, constraint) in state.constraints.iter().enumerate().rev() {
            if constraint.signs & signs == 0 || at > first && constraint.signs & earlier != 0 {
                continue;
            }
            let Some((above, below)) = removing(terms, &constraint.terms) else { continue };
            let Some(own) = times(above, constraint.bound) else { continue };
            let rest = if depth == 1 {
                // Only the ranges are asked for: the sum of the terms need not be made.
                self.work += 1 + terms.len() as u64 / 4;
                self.sum_by_ranges(state, (&ranged, below), (&constraint.terms, above))
            } else {
                let wanted = times(goal, below).and_then(|goal| goal.checked_sub(own)).unwrap_or(i128::MIN);
                sum(terms, below, &constraint.terms, -above, terms.len() + MORE_TERMS)
                    .and_then(|rest| self.combine(state, &rest, depth - 1, wanted, (at, signs)))
            };
            let Some(sum) = rest.and_then(|rest| own.checked_add(rest)) else { continue };
            let found = floor(sum, below);
            best = Some(best.map_or(found, |best| best.min(found)));
            if found <= goal {
                break;
            }
        }
        best
    }

    pub(crate) fn high(&mut self, state: &State, expr: &Affine) -> Option<i128> {
        self.high_or(state, expr, USUAL, i128::MIN)
    }

    /// Returns a bound, the least one that is known if it is more than the goal.
    pub(crate) fn high_or(&mut self, state: &State, expr: &Affine, depth: u32, goal: i128) -> Option<i128> {
        let simple = self.by_ranges(state, &expr.terms).and_then(|it| it.checked_add(expr.constant));
        if depth == 0 || state.constraints.is_empty() || simple.is_some_and(|it| it <= goal) {
            self.work += 1;
            return simple;
        }
        let key = (state.number, depth, expr.terms.clone());
        let goal = goal.saturating_sub(expr.constant);
        let is_enough = |most: Option<i128>| most.is_some_and(|most| most <= goal);
        let found = self.bounds.get(&key).filter(|it| it.is_least || is_enough(it.most));
        let found = if let Some(found) = found {
            self.work += 1;
            found.most
        } else {
            self.tries = COMBINATIONS;
            let most = self.upper_bound(state, &expr.terms, depth, goal);
            self.bounds.insert(key, Found { most, is_least: !is_enough(most) });
            most
        };
        found?.checked_add(expr.constant)
    }

    /// Returns whether an expression is within the bounds.
    pub(crate) fn is_within(&mut self, state: &State, expr: &Affine, range: (i128, i128)) -> bool {
        self.is_within_by(state, expr, USUAL, range)
    }

    pub(crate) fn is_within_by(
        &mut self,
        state: &State,
        expr: &Affine,
        depth: u32,
        (low, high): (i128, i128),
    ) -> bool {
        if !self.is_at_most_by(state, expr, depth, high) {
            return false;
        }
        let least = self.ends(state, &expr.terms).0.and_then(|least| least.checked_add(expr.constant));
        if least.is_some_and(|least| least >= low) {
            self.work += 1;
            return true;
        }
        expr.times(-1).is_some_and(|opposite| self.is_at_most_by(state, &opposite, depth, -low))
    }

    /// Returns whether an expression is at most a number.
    pub(crate) fn is_at_most(&mut self, state: &State, expr: &Affine, bound: i128) -> bool {
        self.is_at_most_by(state, expr, USUAL, bound)
    }

    pub(crate) fn is_at_most_by(&mut self, state: &State, expr: &Affine, depth: u32, bound: i128) -> bool {
        self.high_or(state, expr, depth, bound).is_some_and(|most| most <= bound)
    }

    /// Returns a bound of an offset, as `high_or` does. That of a row and a column takes as many constraints
    /// as both do. So the terms with large factors, and those with small ones, are bounded by themselves,
    /// too: the sum of both bounds is a bound.
    pub(crate) fn high_in_parts(&mut self, state: &State, expr: &Affine, goal: i128) -> Option<i128> {
        let whole = self.high_or(state, expr, THOROUGH, goal);
        if expr.terms.len() < PARTS || whole.is_some_and(|whole| whole <= goal) {
            return whole;
        }
        // Three constraints at a time are enough for fewer.
        let signs = signs(&expr.terms);
        let guards = state
            .constraints
            .iter()
            .filter(|constraint| !constraint.is_definition && constraint.signs & signs != 0);
        if guards.count() < PARTS {
            return whole;
        }
        let mut factors: SmallVec<[i128; 8]> = expr.terms.iter().map(|(_, factor)| factor.abs()).collect();
        factors.sort_unstable();
        factors.dedup();
        let mut best = whole;
        for gap in factors.iter().take(factors.len() - 1).take(PARTS) {
            let part = |is_large: bool| Affine {
                constant: if is_large { expr.constant } else { 0 },
                terms: expr.terms.iter().copied().filter(|(_, it)| (it.abs() > *gap) == is_large).collect(),
            };
            let [large, small] = [true, false].map(|it| self.high_or(state, &part(it), THOROUGH, i128::MIN));
            if let Some(sum) = large.zip(small).and_then(|(large, small)| large.checked_add(small)) {
                best = Some(best.map_or(sum, |best| best.min(sum)));
            }
        }
        best
    }

    pub(crate) fn low(&mut self, state: &State, expr: &Affine) -> Option<i128> {
        self.high(state, &expr.times(-1)?)?.checked_neg()
    }

    /// Returns the range of an expression, if it has one. Where the constraints cannot hold, its ends may
    /// cross: it is returned from the lower to the higher one, because no value is there that it could lack.
    pub(crate) fn range(&mut self, state: &State, expr: &Affine) -> Option<(i128, i128)> {
        if state.constraints.is_empty() || expr.terms.is_empty() {
            return self.interval_of(state, expr);
        }
        let (low, high) = (self.low(state, expr)?, self.high(state, expr)?);
        Some((low.min(high), low.max(high)))
    }

    /// Returns the range of an expression by the intervals of its symbols alone.
    pub(crate) fn interval_of(&mut self, state: &State, expr: &Affine) -> Option<(i128, i128)> {
        self.work += if expr.terms.is_empty() { 0 } else { 2 };
        let (least, most) = self.ends(state, &expr.terms);
        Some((least?.checked_add(expr.constant)?, most?.checked_add(expr.constant)?))
    }
}
