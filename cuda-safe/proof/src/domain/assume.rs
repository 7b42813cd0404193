//! What a guard adds to a state: constraints, and the intervals that follow from them by propagation.

use std::rc::Rc;

use super::affine::{Affine, NewTerms, Symbol, Terms, coefficient, divisor, floor, remainder, sum, times};
use super::constraint::{Constraint, mark, opposite, reduced, signs};
use super::state::State;
use super::symbol::Symbols;
use crate::effort::{CONSTRAINTS, FEW_COMBINATIONS, USUAL};

/// Why a constraint holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A test says so.
    Guard,
    /// A loop's header claims it.
    Claim,
}

impl Symbols {
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
            self.tries = FEW_COMBINATIONS;
            if self.upper_bound(state, &opposite, USUAL, -bound - 1).is_some_and(|most| most < -bound) {
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

    /// Narrows the interval of each symbol of a constraint by those of the others: whole numbers make it
    /// sharper than the constraint is. Returns whether the constraint can hold.
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

    /// Narrows the intervals of what stands with a symbol in a constraint by the new one of the symbol.
    /// Returns whether the constraints can hold.
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
