//! What is known where two paths join: constraints that hold on both, and values that are one of two.

use std::rc::Rc;

use smallvec::SmallVec;

use super::affine::{Affine, Symbol, Terms, floor, gcd, remainder};
use super::constraint::{Constraint, mark, opposite};
use super::state::State;
use super::symbol::Symbols;
use crate::effort::{CONSTRAINTS, FEW_COMBINATIONS, LIGHT};

impl Symbols {
    /// Returns an expression for a value that is `a` where `one` holds and `b` where `other` does, with what
    /// is known of it in `state`, or `None` if nothing is. `is_unstable` says that each use may see the
    /// other.
    pub(crate) fn join_values(
        &mut self,
        state: &mut State,
        (one, a): (&State, &Affine),
        (other, b): (&State, &Affine),
        is_unstable: bool,
    ) -> Option<Affine> {
        let region = self.region_part(a);
        if region != self.region_part(b) {
            return None;
        }
        let (a, b) = (a.plus(&region, -1)?, b.plus(&region, -1)?);
        // One of the two may be right in both cases.
        let difference = a.plus(&b, -1)?;
        for (right, there) in [(&b, one), (&a, other)] {
            if self.is_within(there, &difference, (0, 0)) && !self.is_unstable(&difference) {
                return right.plus(&region, 1);
            }
        }
        if !is_unstable && let Some(value) = self.join_by_equality(state, (one, &a), (other, &b)) {
            return value.plus(&region, 1);
        }
        let (low, high) =
            (self.low(one, &a)?.min(self.low(other, &b)?), self.high(one, &a)?.max(self.high(other, &b)?));
        // What divides the difference of the two divides that of the value and `a`.
        let step = gcd(gcd(a.divisor(), b.divisor()), a.constant - b.constant);
        if step == 0 {
            return a.plus(&region, 1);
        }
        let (origin, at) = self.origin(&a).max(self.origin(&b));
        let from = |bound: i128| floor(bound - a.constant, step);
        let symbol = self.new_symbol(from(low), from(high), origin, at);
        self.known[symbol as usize].is_unstable = is_unstable || self.is_unstable(&a) || self.is_unstable(&b);
        let value = Affine::symbol(symbol).times(step)?.add(a.constant)?;
        for (near, far, there) in [(&a, &b, other), (&b, &a, one)] {
            if near.terms.is_empty() {
                continue;
            }
            let Some(difference) = far.plus(near, -1) else { continue };
            let Some(over) = value.plus(near, -1) else { continue };
            if let Some(most) = self.high(there, &difference) {
                self.assume(state, &over, most.max(0));
            }
            if let (Some(least), Some(under)) = (self.low(there, &difference), over.times(-1)) {
                self.assume(state, &under, -(least.min(0)));
            }
        }
        value.plus(&region, 1)
    }

    /// Returns an expression that is `a` where `one` holds and `b` where `other` does, if the two have a
    /// constant difference and follow terms that have one number here and another there: the rounds that are
    /// left of an unrolled loop, for example.
    fn join_by_equality(
        &mut self,
        state: &State,
        (one, a): (&State, &Affine),
        (other, b): (&State, &Affine),
    ) -> Option<Affine> {
        let difference = b.plus(a, -1)?.as_constant().filter(|it| *it != 0)?;
        if self.is_unstable(a) {
            return None;
        }
        self.work += 1 + (one.constraints.len() + one.intervals.len()) as u64 / 8;
        let of = |terms: Terms, here: i128, there: i128| {
            let step = there.saturating_sub(here);
            let divides = step != 0 && remainder(difference, step.abs()) == 0;
            divides.then(|| (Affine { constant: 0, terms }, here, there, difference / step))
        };
        let mut found = SmallVec::<[_; 4]>::new();
        for constraint in one.constraints.iter() {
            if let (Some(here), Some(there)) =
                (self.constant_of(one, constraint), self.constant_of(other, constraint))
            {
                found.extend(of(Terms::clone(&constraint.terms), here, there));
            }
        }
        for (symbol, here, high) in &one.intervals {
            if here == high
                && let (there, high) = self.interval(other, *symbol)
                && there == high
            {
                found.extend(of(Terms::from(&[(*symbol, 1)][..]), *here, there));
            }
        }
        // Where the paths join, the terms are known to lie between the two numbers.
        let (terms, here, .., times) = found.into_iter().find(|(terms, here, there, _)| {
            self.is_within_by(state, terms, LIGHT, (*here.min(there), *here.max(there)))
        })?;
        terms.add(-here)?.times(times)?.plus(a, 1)
    }

    /// Returns the number that the terms of a constraint have, if the ranges and the constraints about them
    /// say one.
    fn constant_of(&self, state: &State, constraint: &Constraint) -> Option<i128> {
        let terms: Terms = constraint.terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
        let most = |terms: &Terms, signs: u64| {
            let is_same = |it: &&Constraint| it.signs == signs && it.terms == *terms;
            let said = state.constraints.iter().find(is_same).map(|it| it.bound);
            said.into_iter().chain(self.by_ranges(state, terms)).min()
        };
        let high = most(&constraint.terms, constraint.signs)?;
        (most(&terms, opposite(constraint.signs))? == -high).then_some(high)
    }

    /// Adds to `both` a limit that holds in one state, as far as it holds in the other one.
    fn join_interval(&mut self, both: &mut State, other: &State, (symbol, low, high): (Symbol, i128, i128)) {
        let (all_low, all_high) = (self.known[symbol as usize].low, self.known[symbol as usize].high);
        let expr = Affine::symbol(symbol);
        let opposite = Affine { constant: 0, terms: Terms::from(&[(symbol, -1)][..]) };
        let least = self.high_or(other, &opposite, LIGHT, -low).map_or(all_low, |most| -most).min(low);
        let most = self.high_or(other, &expr, LIGHT, high).unwrap_or(all_high).max(high);
        if least > all_low || most < all_high {
            both.intervals.push((symbol, least, most));
            both.has_interval |= mark(symbol);
        }
    }

    /// Keeps of two states' constraints what holds in both. The registers are those of the first.
    pub(crate) fn join_constraints(&mut self, one: &State, other: &State) -> State {
        let mut both = State::default();
        self.work += (one.constraints.len() + other.constraints.len()) as u64 / 4;
        for (symbol, low, high) in &one.intervals {
            if let Ok(at) = other.intervals.binary_search_by_key(symbol, |(own, ..)| *own) {
                let (_, other_low, other_high) = other.intervals[at];
                both.intervals.push((*symbol, (*low).min(other_low), (*high).max(other_high)));
                both.has_interval |= mark(*symbol);
                continue;
            }
            self.join_interval(&mut both, other, (*symbol, *low, *high));
        }
        for limit in &other.intervals {
            if one.intervals.binary_search_by_key(&limit.0, |(own, ..)| *own).is_err() {
                self.join_interval(&mut both, one, *limit);
            }
        }
        both.intervals.sort_unstable_by_key(|(symbol, ..)| *symbol);
        let mut constraints: Vec<Constraint> =
            Vec::with_capacity(one.constraints.len().max(other.constraints.len()));
        for (from, to, is_first) in [(one, other, true), (other, one, false)] {
            for (at, constraint) in from.constraints.iter().enumerate() {
                let is_same = |it: &&Constraint| it.signs == constraint.signs && it.terms == constraint.terms;
                // Constraints from before the paths parted have one place.
                let same =
                    to.constraints.get(at).filter(is_same).or_else(|| to.constraints.iter().find(is_same));
                let bound = match same {
                    Some(_) if !is_first => continue,
                    Some(same) => Some(same.bound.max(constraint.bound)),
                    None if constraint.is_definition => Some(constraint.bound),
                    None => {
                        self.tries = FEW_COMBINATIONS;
                        self.upper_bound(to, &constraint.terms, LIGHT, constraint.bound)
                            .map(|bound| bound.max(constraint.bound))
                    }
                };
                let Some(bound) = bound else { continue };
                // A guard of the same terms says more than the definition, or it would not stand there: the
                // larger bound is the definition's.
                let is_definition = constraint.is_definition || same.is_some_and(|same| same.is_definition);
                let says_more = || self.by_ranges(&both, &constraint.terms).is_none_or(|known| bound < known);
                if constraints.len() < CONSTRAINTS && (is_definition || says_more()) {
                    constraints.push(Constraint { bound, is_definition, ..constraint.clone() });
                }
            }
        }
        both.constraints = Rc::new(constraints);
        self.changes(&mut both);
        both
    }
}
