//! Numbers that are made of others: quotients, readings of a number of bits, products.

use smallvec::SmallVec;

use super::affine::{Form, Symbol, floor, gcd, remainder};
use super::state::{Extreme, Fact, MOST_EXTREMES, Made, Quotient, State, Symbols, range_of, reduced};
use crate::ir::Origin;

impl Symbols {
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

    /// Returns the quotient of a form with the larger one of two numbers in it, or the smaller one, if it is
    /// known which of the two quotients that is: the quotient of the larger number is the larger quotient.
    fn quotient_of_extreme(&mut self, state: &mut State, form: &Form, by: i128) -> Option<Form> {
        let (symbol, factor, extreme) =
            form.terms.iter().find_map(|(symbol, factor)| match &self.known[*symbol as usize].made {
                Made::Extreme(it) if factor.abs() == 1 => Some((*symbol, *factor, Extreme::clone(it))),
                _ => None,
            })?;
        if self.extremes == MOST_EXTREMES {
            return None;
        }
        self.extremes += 1;
        let sides = extreme.of.map(|it| self.floor(state, &form.replace(symbol, &it)?, by));
        self.extremes -= 1;
        let [a, b] = sides;
        let (a, b) = (a?, b?);
        let (low, high) = self.range(state, &a.plus(&b, -1)?, 2)?;
        // Of numbers that are subtracted, the larger one makes the smaller difference.
        let quotient = match extreme.is_larger == (factor > 0) {
            true if low >= 0 => a,
            true if high <= 0 => b,
            false if low >= 0 => b,
            false if high <= 0 => a,
            _ => return None,
        };
        // It is defined by another form, and divides this one as well.
        let left = form.plus(&quotient, -by)?;
        self.assume(state, &left, by - 1);
        self.assume(state, &left.times(-1)?, 0);
        Some(quotient)
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

    /// Adds what is known of a quotient: of the form that it was made of, and of the quotient that was
    /// divided again.
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
}
