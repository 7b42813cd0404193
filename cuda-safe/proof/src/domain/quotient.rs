//! Numbers that are made of others: quotients, readings of a number of bits, products.

use smallvec::SmallVec;

use super::affine::{Affine, Symbol, floor, gcd, remainder};
use super::constraint::{Constraint, reduced};
use super::interval::range_of;
use super::state::State;
use super::symbol::{Definition, Extreme, Quotient, Symbols};
use crate::effort::EXTREMES;
use crate::ir::Origin;

impl Symbols {
    /// Returns the quotient of an expression and a positive number, rounded down.
    pub(crate) fn floor(&mut self, state: &mut State, expr: &Affine, by: i128) -> Option<Affine> {
        if by == 1 {
            return Some(expr.clone());
        }
        let is_multiple = |(_, factor): &&(Symbol, i128)| remainder(*factor, by) == 0;
        let whole =
            expr.terms.iter().filter(is_multiple).map(|(symbol, factor)| (*symbol, floor(*factor, by)));
        let whole = Affine { constant: floor(expr.constant, by), terms: whole.collect() };
        let mut rest = expr.clone();
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
            && let Definition::Floor(quotient) = &self.known[symbol as usize].definition
        {
            outer = Some((rest.clone(), by));
            rest = quotient.expr.add(rest.constant.checked_mul(quotient.by)?)?;
            by = by.checked_mul(quotient.by).filter(|it| *it < 1 << 80)?;
        }
        let key = (rest, by);
        if let Some(quotient) = self.quotients.get(&key).copied() {
            self.define(state, outer.as_ref(), quotient)?;
            let (low, high) = self.range(state, &Affine::symbol(quotient))?;
            if low == high {
                return whole.add(low);
            }
            self.confine(state, quotient, (low, high));
            return whole.plus(&Affine::symbol(quotient), 1);
        }
        let (rest, by) = key;
        if let Some(quotient) = self.quotient_of_extreme(state, &rest, by) {
            return whole.plus(&quotient, 1);
        }
        let (low, high) = self.range(state, &rest)?;
        let here = (floor(low, by), floor(high, by));
        if here.0 == here.1 {
            return whole.add(here.0);
        }
        if self.is_unstable(&rest) {
            let origin = self.origin(&rest);
            return whole.plus(&self.new_value(true, here, origin), 1);
        }
        // A range that holds wherever the symbols of the expression are known.
        let (low, high) = self.interval_of(&State::default(), &rest)?;
        let (origin, at) = self.origin(&rest);
        let symbol = self.new_symbol(floor(low, by), floor(high, by), origin, at);
        let constraints = self.definition_of(symbol, &rest, by)?;
        self.quotients.insert((rest.clone(), by), symbol);
        self.known[symbol as usize].definition =
            Definition::Floor(Box::new(Quotient { expr: rest, by, constraints }));
        self.define(state, outer.as_ref(), symbol)?;
        self.confine(state, symbol, here);
        whole.plus(&Affine::symbol(symbol), 1)
    }

    /// Keeps the range of a quotient, which took two constraints: a bound of an expression with it needs them
    /// no more.
    fn confine(&mut self, state: &mut State, quotient: Symbol, (low, high): (i128, i128)) {
        self.restrict(state, quotient, 1, high);
        self.restrict(state, quotient, -1, -low);
    }

    /// Returns the quotient of an expression with the larger one of two numbers in it, or the smaller one, if
    /// it is known which of the two quotients that is: the quotient of the larger number is the larger
    /// quotient.
    fn quotient_of_extreme(&mut self, state: &mut State, expr: &Affine, by: i128) -> Option<Affine> {
        let (symbol, factor, extreme) = expr.terms.iter().find_map(|(symbol, factor)| {
            match &self.known[*symbol as usize].definition {
                Definition::Extreme(it) if factor.abs() == 1 => Some((*symbol, *factor, Extreme::clone(it))),
                _ => None,
            }
        })?;
        if self.extremes == EXTREMES {
            return None;
        }
        self.extremes += 1;
        let sides = extreme.of.map(|it| self.floor(state, &expr.replace(symbol, &it)?, by));
        self.extremes -= 1;
        let [a, b] = sides;
        let (a, b) = (a?, b?);
        let (low, high) = self.range(state, &a.plus(&b, -1)?)?;
        // Of numbers that are subtracted, the larger one makes the smaller difference.
        let quotient = match extreme.is_larger == (factor > 0) {
            true if low >= 0 => a,
            true if high <= 0 => b,
            false if low >= 0 => b,
            false if high <= 0 => a,
            _ => return None,
        };
        // It is defined by another expression, and divides this one as well.
        let left = expr.plus(&quotient, -by)?;
        self.assume(state, &left, by - 1);
        self.assume(state, &left.times(-1)?, 0);
        Some(quotient)
    }

    /// Returns the constraints that define a quotient: `0 <= expression - by * quotient <= by - 1`.
    fn definition_of(&self, quotient: Symbol, expr: &Affine, by: i128) -> Option<SmallVec<[Constraint; 2]>> {
        let left = expr.plus(&Affine::symbol(quotient), -by)?;
        let sides = [(left.clone(), by - 1), (left.times(-1)?, 0)];
        let constraints = sides.into_iter().filter_map(|(left, bound)| {
            let bound = bound.checked_sub(left.constant)?;
            let (terms, bound) = reduced(&left, bound);
            let says = !self.is_unstable(&left) && !self.has_region(&left);
            says.then(|| Constraint::new(terms, bound, true))
        });
        Some(constraints.collect())
    }

    /// Adds what is known of a quotient: of the expression that it was made of, and of the quotient that was
    /// divided again.
    fn define(&mut self, state: &mut State, outer: Option<&(Affine, i128)>, quotient: Symbol) -> Option<()> {
        let own = match &self.known[quotient as usize].definition {
            Definition::Floor(own) => own.constraints.clone(),
            _ => SmallVec::new(),
        };
        own.into_iter().for_each(|constraint| self.enter(state, constraint));
        if let Some((rest, by)) = outer {
            self.definition_of(quotient, rest, *by)?
                .into_iter()
                .for_each(|constraint| self.enter(state, constraint));
        }
        Some(())
    }

    /// Returns the whole number that the lowest bits of an expression are, read as signed or unsigned. If the
    /// expression may lie outside of the type's range, the result is the expression minus a multiple of
    /// `2^bits`, or a symbol of which nothing but the type's range is known.
    pub(crate) fn reading(&mut self, state: &mut State, expr: &Affine, bits: u8, is_signed: bool) -> Affine {
        let (least, most) = range_of(bits, is_signed);
        if self.is_within(state, expr, (least, most)) {
            return expr.clone();
        }
        let found = (|| {
            if self.is_unstable(expr) {
                return None;
            }
            let all = 1_i128 << bits.min(64);
            let quotient = self.floor(state, &expr.add(-least)?, all)?;
            expr.plus(&quotient, -all)
        })();
        found.unwrap_or_else(|| {
            let (origin, at) = self.origin(expr);
            let origin = origin.max(Origin::Computed);
            self.new_value(self.is_unstable(expr), (least, most), (origin, at))
        })
    }

    /// Returns the product of two expressions that are not constant.
    pub(crate) fn product(&mut self, state: &mut State, a: &Affine, b: &Affine) -> Option<Affine> {
        if self.has_region(a) || self.has_region(b) {
            return None;
        }
        let ((al, ah), (bl, bh)) = (self.range(state, a)?, self.range(state, b)?);
        let corners = [al.checked_mul(bl)?, al.checked_mul(bh)?, ah.checked_mul(bl)?, ah.checked_mul(bh)?];
        let (low, high) =
            corners.iter().fold((corners[0], corners[0]), |(low, high), it| (low.min(*it), high.max(*it)));
        let is_unstable = self.is_unstable(a) || self.is_unstable(b);
        let product = self.new_value(is_unstable, (low, high), self.origin(a).max(self.origin(b)));
        // (a - al)(b - bl) >= 0 and its three siblings (McCormick).
        for (x, y, sign) in [(al, bl, 1), (ah, bh, 1), (al, bh, -1), (ah, bl, -1)] {
            let rest = a.times(y).zip(b.times(x)).and_then(|(a, b)| a.plus(&b, 1));
            let constraint = rest.and_then(|rest| rest.plus(&product, -1)).and_then(|it| it.times(sign));
            if let (Some(constraint), Some(bound)) = (constraint, x.checked_mul(y)) {
                self.assume(state, &constraint, bound * sign);
            }
        }
        Some(product)
    }
}
