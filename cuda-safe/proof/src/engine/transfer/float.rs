//! Floating-point numbers between whole ones: the smaller and the larger one of two, sums, conversions.
//!
//! A clamped number that becomes an index needs no more than this: `min` and `max` of a number and a NaN are
//! the number, and roundings keep the order of numbers and leave whole ones as they are. So a float between
//! two whole numbers becomes an integer between them, however it is rounded.

use crate::domain::{Affine, FloatBounds, State, range_of};
use crate::engine::analysis::Analysis;
use crate::ir::{Op, Origin, Step};

/// Up to this, floats of a number of bits have all whole numbers.
fn exact(bits: u32) -> i128 {
    if bits == 32 { 1 << 24 } else { 1 << 53 }
}

/// Returns the whole numbers below and above the float that some bits are, if it is finite and not too large.
fn around(value: i128, bits: u32) -> Option<(i128, i128)> {
    let (digits, bias) = if bits == 32 { (23, 127) } else { (52, 1023) };
    let value = value.rem_euclid(1 << bits);
    let (fraction, exponent) = (value % (1 << digits), value >> digits & (2 * bias + 1));
    if exponent == 2 * bias + 1 {
        return None;
    }
    let digit = if exponent == 0 { 0 } else { 1 << digits };
    let (whole, shift) = (fraction + digit, exponent.max(1) - bias - digits);
    let (low, high) = if shift >= 0 {
        let value = whole << u32::try_from(shift).ok().filter(|shift| *shift < 40)?;
        (value, value)
    } else {
        let unit = 1_i128 << u32::try_from(-shift).ok()?.min(100);
        (whole / unit, (whole + unit - 1) / unit)
    };
    Some(if value >> (bits - 1) == 0 { (low, high) } else { (-high, -low) })
}

impl Analysis<'_> {
    /// Returns the result of a step that computes with floats or makes one, of operands with these bits.
    pub(crate) fn float(&mut self, state: &mut State, step: &Step, operands: &[Affine]) -> Option<Affine> {
        let (bits, size) = (u32::from(step.bits), step.size);
        let is_unstable = operands.iter().any(|it| self.symbols.is_unstable(it));
        let of = |at: usize| operands.get(at).and_then(|it| self.between(it, size));
        let (first, second) = if step.op == Op::FromInteger { (None, None) } else { (of(0), of(1)) };
        let known = match (step.op, first, second) {
            (Op::FromInteger, ..) => {
                let from = u8::try_from(size).ok()?;
                let value = self.symbols.reading(state, operands.first()?, from, step.is_signed);
                let value = Some(value).filter(|it| self.is_exact(state, it, bits));
                value.map(|value| FloatBounds { low: Some(value.clone()), high: Some(value) })
            }
            (Op::FloatCvt, Some(FloatBounds { mut low, mut high }), _) => {
                for end in [&mut low, &mut high] {
                    *end = end.take().filter(|it| size <= bits || self.is_exact(state, it, bits));
                }
                Some(FloatBounds { low, high })
            }
            // Infinities of both signs have no sum.
            (Op::FloatAdd, Some(first), Some(second)) => {
                let mut sum = |a: Option<Affine>, b: Option<Affine>| {
                    a?.plus(&b?, 1).filter(|it| self.is_exact(state, it, bits))
                };
                match (sum(first.low, second.low), sum(first.high, second.high)) {
                    (Some(low), Some(high)) => Some(FloatBounds { low: Some(low), high: Some(high) }),
                    _ => None,
                }
            }
            (Op::FloatMin, Some(first), Some(second)) => Some(FloatBounds {
                low: self.outer(state, first.low, second.low, -1),
                high: self.inner(state, first.high, second.high, -1),
            }),
            (Op::FloatMax, Some(first), Some(second)) => Some(FloatBounds {
                low: self.inner(state, first.low, second.low, 1),
                high: self.outer(state, first.high, second.high, 1),
            }),
            // The other one may be a NaN. With `.NaN`, so is the result.
            (Op::FloatMin, Some(one), None) | (Op::FloatMin, None, Some(one)) if !step.flag => {
                Some(FloatBounds { low: None, high: one.high })
            }
            (Op::FloatMax, Some(one), None) | (Op::FloatMax, None, Some(one)) if !step.flag => {
                Some(FloatBounds { low: one.low, high: None })
            }
            (Op::ToInteger, float, _) => return self.rounded(state, step, float, is_unstable),
            _ => None,
        };
        let range = range_of(step.bits, true);
        let number = self.symbols.new_value(is_unstable, range, (Origin::Float, step.at));
        if let (Some(known), [(symbol, _)]) = (known, &number.terms[..]) {
            let keep = |end: Option<Affine>| {
                end.filter(|it| !self.symbols.is_unstable(it) && !self.symbols.has_region(it))
            };
            let known = FloatBounds { low: keep(known.low), high: keep(known.high) };
            self.symbols.set_float(*symbol, step.bits, known);
        }
        Some(number)
    }

    /// Makes the integer that a float becomes, rounded in some way. What is out of the type's range becomes
    /// the end of it, and a NaN becomes zero.
    fn rounded(
        &mut self,
        state: &mut State,
        step: &Step,
        float: Option<FloatBounds>,
        is_unstable: bool,
    ) -> Option<Affine> {
        let (least, most) = range_of(step.bits, step.is_signed);
        let FloatBounds { low, high } = float.unwrap_or_default();
        // A bound on the other side of the type's range says nothing of its end.
        let low = low.filter(|it| self.symbols.is_at_most(state, it, most));
        let high = high.filter(|it| self.symbols.is_within(state, it, (least, i128::MAX)));
        let from = low.as_ref().and_then(|it| self.symbols.low(state, it)).map_or(least, |it| it.max(least));
        let to = high.as_ref().and_then(|it| self.symbols.high(state, it)).map_or(most, |it| it.min(most));
        if from == to {
            return Some(Affine::constant(from));
        }
        let result = self.symbols.new_value(is_unstable, (from, to), (Origin::Float, step.at));
        for (over, under) in [(low.as_ref(), Some(&result)), (Some(&result), high.as_ref())] {
            if let (Some(over), Some(under)) = (over, under) {
                self.symbols.assume(state, &over.plus(under, -1)?, 0);
            }
        }
        Some(result)
    }

    /// Returns what is known of the float that a register's bits are.
    fn between(&self, expr: &Affine, bits: u32) -> Option<FloatBounds> {
        if let Some(value) = expr.as_constant() {
            let (low, high) = around(value, bits)?;
            return Some(FloatBounds {
                low: Some(Affine::constant(low)),
                high: Some(Affine::constant(high)),
            });
        }
        match (&expr.terms[..], expr.constant) {
            ([(symbol, 1)], 0) => self.symbols.float(*symbol, bits).cloned(),
            _ => None,
        }
    }

    /// Returns whether a whole number is one of a type that has all of its size, so that it is not rounded.
    fn is_exact(&mut self, state: &State, expr: &Affine, bits: u32) -> bool {
        self.symbols.is_within(state, expr, (-exact(bits), exact(bits)))
    }

    /// Of two bounds that both hold, returns the better one: the smaller one for -1, the larger one for 1.
    fn inner(&mut self, state: &State, a: Option<Affine>, b: Option<Affine>, sign: i128) -> Option<Affine> {
        let (Some(a), Some(b)) = (&a, &b) else { return a.or(b) };
        Some(if self.is_ordered(state, a, b, sign) { b.clone() } else { a.clone() })
    }

    /// Of two bounds of which one holds, returns the weaker one, if it is known which one that is.
    fn outer(&mut self, state: &State, a: Option<Affine>, b: Option<Affine>, sign: i128) -> Option<Affine> {
        let (a, b) = (a?, b?);
        if self.is_ordered(state, &a, &b, sign) {
            return Some(b);
        }
        self.is_ordered(state, &b, &a, sign).then_some(a)
    }

    /// Returns whether the second number is known to be no smaller than the first, or no larger for -1.
    fn is_ordered(&mut self, state: &State, a: &Affine, b: &Affine, sign: i128) -> bool {
        let over = a.plus(b, -1).and_then(|it| it.times(sign));
        over.is_some_and(|over| self.symbols.is_at_most(state, &over, 0))
    }
}
