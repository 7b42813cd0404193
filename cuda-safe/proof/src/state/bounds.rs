//! Searches for bounds of forms: what the ranges of symbols and combinations of facts say of a form.

use smallvec::SmallVec;

use super::{State, Symbols, TRIES, signs};
use crate::form::{Form, NewTerms, Symbol, Terms, divisor, floor, gcd, sum, times};

/// Ways to part an offset into a row and a column.
const MOST_GAPS: usize = 4;

/// A term of what a bound is searched of, with the range of its symbol and the largest value.
struct Ranged {
    symbol: Symbol,
    factor: i128,
    low: i128,
    high: i128,
    most: Option<i128>,
}

/// Returns the smallest factor of a fact that removes one of the terms, as a fraction.
fn removing(terms: &[(Symbol, i128)], fact: &[(Symbol, i128)]) -> Option<(i128, i128)> {
    let mut factor: Option<(i128, i128)> = None;
    let mut left = terms;
    for (symbol, own) in fact {
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
        let (low, high) = self.limits(state, symbol);
        sum.checked_add(times(factor, if factor > 0 { high } else { low })?)
    }

    /// Adds the smallest value of a term to a sum.
    pub(super) fn down(&self, state: &State, sum: i128, (symbol, factor): (Symbol, i128)) -> Option<i128> {
        let (low, high) = self.limits(state, symbol);
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
        let (mut sum, mut left, mut other) = (0_i128, terms.len() + 2, other);
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
    /// facts, each with a factor that removes a symbol (Farkas). A bound that is no more than the goal is
    /// good enough.
    pub(super) fn largest(
        &mut self,
        state: &State,
        terms: &[(Symbol, i128)],
        depth: u32,
        goal: i128,
    ) -> Option<i128> {
        self.work += 1 + terms.len() as u64 / 4;
        if terms.is_empty() {
            return Some(0);
        }
        let mut ranged = SmallVec::<[Ranged; 6]>::new();
        let mut best = Some(0_i128);
        for (symbol, factor) in terms.iter().copied() {
            let (low, high) = self.limits(state, symbol);
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
            return self.largest(state, &reduced, depth, floor(goal, common))?.checked_mul(common);
        }
        self.tries -= 1;
        self.work += state.facts.len() as u64 / 8;
        let signs = signs(terms);
        for fact in state.facts.iter().rev().filter(|fact| fact.signs & signs != 0) {
            let Some((above, below)) = removing(terms, &fact.terms) else { continue };
            let Some(own) = times(above, fact.bound) else { continue };
            let rest = if depth == 1 {
                // Only the ranges are asked for: the sum of the terms need not be made.
                self.work += 1 + terms.len() as u64 / 4;
                self.sum_by_ranges(state, (&ranged, below), (&fact.terms, above))
            } else {
                let wanted = times(goal, below).and_then(|goal| goal.checked_sub(own)).unwrap_or(i128::MIN);
                sum(terms, below, &fact.terms, -above, terms.len() + 2)
                    .and_then(|rest| self.largest(state, &rest, depth - 1, wanted))
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
        let key = (state.number, depth, form.terms.clone());
        let found = if let Some(found) = self.bounds.get(&key) {
            self.work += 1;
            *found
        } else {
            self.tries = TRIES;
            let goal = goal.saturating_sub(form.constant);
            let found = self.largest(state, &form.terms, depth, goal);
            // A bound that is good enough for one goal is not the least one.
            if found.is_none_or(|found| found > goal) {
                self.bounds.insert(key, found);
            }
            found
        };
        found?.checked_add(form.constant)
    }

    /// Returns whether a form is within the bounds.
    pub(crate) fn is_within(
        &mut self,
        state: &State,
        form: &Form,
        depth: u32,
        (low, high): (i128, i128),
    ) -> bool {
        if !self.is_at_most(state, form, depth, high) {
            return false;
        }
        let least = self.ends(state, &form.terms).0.and_then(|least| least.checked_add(form.constant));
        if least.is_some_and(|least| least >= low) {
            self.work += 1;
            return true;
        }
        form.times(-1).is_some_and(|opposite| self.is_at_most(state, &opposite, depth, -low))
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
        if depth == 0 || state.facts.is_empty() {
            self.work += 2;
            let (least, most) = self.ends(state, &form.terms);
            return Some((least?.checked_add(form.constant)?, most?.checked_add(form.constant)?));
        }
        Some((self.low(state, form, depth)?, self.high(state, form, depth)?))
    }
}
