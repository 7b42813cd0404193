//! Transfer functions of integer operations.
//!
//! Sums and products with constants are exact. What depends on the bits of an operand takes its reading
//! first. A result that is no expression becomes a symbol in an interval.

use super::guard::or;
use crate::domain::{Affine, Region, State, Test, gcd, range_of, signed};
use crate::effort::LIGHT;
use crate::engine::analysis::Analysis;
use crate::ir::{Op, Origin, Space, Step};

type Pair<'p> = (&'p Affine, &'p Affine);

impl Analysis<'_> {
    /// Returns the value of a step of two operands, or `None` if its expression became too large.
    pub(super) fn binary(&mut self, state: &mut State, step: &Step, pair: Pair<'_>) -> Option<Affine> {
        let (a, b) = pair;
        match step.op {
            Op::Add => a.plus(b, 1),
            Op::Sub => a.plus(b, -1),
            Op::Mul | Op::MulWide | Op::MulHi | Op::Mul24 => Some(self.multiply(state, step, pair)),
            Op::Min | Op::Max => {
                let a = self.symbols.reading(state, a, step.bits, step.is_signed);
                let b = self.symbols.reading(state, b, step.bits, step.is_signed);
                self.extreme(state, step, a, b)
            }
            Op::Shl | Op::Shr => self.shift(state, step, pair),
            Op::And if step.flag && !self.is_partitioned => Some(self.within(pair, step, step.bits, None)),
            Op::And | Op::Or | Op::Xor => self.bitwise(state, step, pair),
            Op::Div | Op::Rem => self.divide(state, step, pair),
            _ => Some(self.within(pair, step, self.result_bits(step), None)),
        }
    }

    /// Makes a value of so many bits, computed from two others: in the interval, if that is narrower.
    fn within(&mut self, (a, b): Pair<'_>, step: &Step, bits: u8, range: Option<(i128, i128)>) -> Affine {
        let origin = match self.symbols.origin(a).max(self.symbols.origin(b)) {
            (Origin::Exact, _) => (Origin::Computed, step.at),
            other => other,
        };
        let is_unstable = self.symbols.is_unstable(a) || self.symbols.is_unstable(b);
        let (least, most) = range_of(bits, true);
        let range = range.filter(|(low, high)| low <= high && high - low <= most - least);
        self.symbols.new_value(is_unstable, range.unwrap_or((least, most)), origin)
    }

    fn product(&mut self, state: &mut State, a: &Affine, b: &Affine) -> Option<Affine> {
        match (a.as_constant(), b.as_constant()) {
            (Some(factor), _) => b.times(factor),
            (_, Some(factor)) => a.times(factor),
            _ => self.symbols.product(state, a, b),
        }
    }

    fn multiply(&mut self, state: &mut State, step: &Step, pair: Pair<'_>) -> Affine {
        let ((a, b), &Step { bits, is_signed, .. }) = (pair, step);
        let product = match step.op {
            Op::Mul => self.product(state, a, b),
            Op::Mul24 => {
                let range = range_of(24, is_signed);
                let fits = [a, b].iter().all(|it| self.symbols.is_within(state, it, range));
                if fits { self.product(state, a, b) } else { None }
            }
            _ => {
                let a = self.symbols.reading(state, a, bits, is_signed);
                let b = self.symbols.reading(state, b, bits, is_signed);
                match (step.op, self.product(state, &a, &b)) {
                    (Op::MulHi, Some(product)) => self.symbols.floor(state, &product, 1 << bits),
                    (_, product) => product,
                }
            }
        };
        let is_wide = matches!(step.op, Op::MulWide | Op::MulHi);
        let bits = if is_wide { self.result_bits(step) } else { bits };
        product.unwrap_or_else(|| self.within(pair, step, bits, None))
    }

    fn shift(&mut self, state: &mut State, step: &Step, pair: Pair<'_>) -> Option<Affine> {
        let ((a, b), bits) = (pair, step.bits);
        let amount = if let Some(amount) = b.as_constant() {
            let amount = amount.rem_euclid(1 << 32);
            Some((amount, amount))
        } else {
            let amount = self.symbols.reading(state, b, 32, false);
            self.symbols.range(state, &amount)
        };
        let all = i128::from(bits);
        let Some((least, most)) = amount.map(|(low, high)| (low.clamp(0, all), high.clamp(0, all))) else {
            return Some(self.within(pair, step, bits, None));
        };
        if step.op == Op::Shl && least == most {
            return if least == all { Some(Affine::constant(0)) } else { a.times(1 << least) };
        }
        let value = self.symbols.reading(state, a, bits, step.is_signed);
        if step.op == Op::Shr && least == most {
            return self.symbols.floor(state, &value, 1 << least);
        }
        let Some((low, high)) = self.symbols.range(state, &value).filter(|(low, _)| *low >= 0) else {
            return Some(self.within(pair, step, bits, None));
        };
        if step.op == Op::Shr {
            let result = self.within(pair, step, bits, Some((low >> most, high >> least)));
            self.symbols.assume(state, &result.plus(&value, -1)?, 0);
            return Some(result);
        }
        let high = high.checked_mul(1 << most).filter(|high| *high <= range_of(bits, false).1);
        Some(self.within(pair, step, bits, high.map(|high| (low << least, high))))
    }

    fn bitwise(&mut self, state: &mut State, step: &Step, (a, b): Pair<'_>) -> Option<Affine> {
        let (op, bits) = (step.op, step.bits);
        let (x, y) = if a.as_constant().is_some() { (b, a) } else { (a, b) };
        // All bits of the sign: the other value, or zero.
        for (x, y) in [(x, y), (y, x)] {
            if op == Op::And
                && x.as_constant().is_none()
                && !self.symbols.is_unstable(x)
                && self.symbols.is_within_by(state, x, LIGHT, (-1, 0))
            {
                let zero = Affine::constant(0);
                let test = Test::Compare { op: Op::Lt, bits, is_signed: true, a: x.clone(), b: zero.clone() };
                return self.choose(state, &test, y, &zero);
            }
        }
        if let (Some(x), Some(y)) = (x.as_constant(), y.as_constant()) {
            let (x, y) = (signed(x, bits), signed(y, bits));
            return Some(Affine::constant(match op {
                Op::And => x & y,
                Op::Or => x | y,
                _ => x ^ y,
            }));
        }
        if let Some(constant) = y.as_constant() {
            let mask = constant.rem_euclid(1 << bits);
            if op == Op::Xor && mask == (1 << bits) - 1 {
                return x.times(-1)?.add(-1);
            }
            // Ones from one bit to another: two quotients.
            let lowest = 1_i128 << mask.trailing_zeros().min(100);
            let above = mask + lowest;
            if op == Op::And && mask != 0 && above & mask == 0 && !self.symbols.is_unstable(x) {
                let low = self.symbols.floor(state, x, lowest)?.times(lowest)?;
                if above == 1 << bits {
                    return Some(low);
                }
                let high = self.symbols.floor(state, x, above)?.times(above)?;
                return low.plus(&high, -1);
            }
            if op == Op::And && mask == 0 {
                return Some(Affine::constant(0));
            }
        }
        if op != Op::And {
            // Bits that do not meet are added.
            for (x, y) in [(x, y), (y, x)] {
                let lowest = lowest_bit(x);
                if lowest > 0 && self.symbols.is_within(state, y, (0, lowest - 1)) {
                    return x.plus(y, 1);
                }
            }
        }
        self.bits_in_range(state, step, (a, b), (x, y))
    }

    /// Returns a symbol for the bits that two numbers make, as far as their intervals and lowest bits say.
    fn bits_in_range(
        &mut self,
        state: &mut State,
        step: &Step,
        (a, b): Pair<'_>,
        (x, y): Pair<'_>,
    ) -> Option<Affine> {
        let (op, bits) = (step.op, step.bits);
        let x = self.symbols.reading(state, x, bits, false);
        let y = self.symbols.reading(state, y, bits, false);
        let (Some((xl, xh)), Some((yl, yh))) = (self.symbols.range(state, &x), self.symbols.range(state, &y))
        else {
            return Some(self.within((a, b), step, bits, None));
        };
        // The lowest bits that are zero in both stay zero, and for `and` those that are zero in one.
        let (one, other) = (lowest_bit(&x).max(1), lowest_bit(&y).max(1));
        let unit = if op == Op::And { one.max(other) } else { one.min(other) };
        let ones = |value: i128| (1_i128 << (128 - value.max(0).leading_zeros()).min(100)) - 1;
        let (low, high) = match op {
            Op::And => (0, xh.min(yh)),
            Op::Or => (xl.max(yl), ones(xh.max(yh))),
            _ => (0, ones(xh.max(yh))),
        };
        let result = self.within((a, b), step, bits, Some((low / unit, high / unit))).times(unit)?;
        // `if (x >= 0 && y >= 0)` is compiled to a test of the sign of `x | y`.
        if let (Op::Or, [term], 0) = (op, &result.terms[..], result.constant)
            && !self.symbols.is_unstable(&result)
        {
            let negative = or(&self.is_negative(a, bits), &self.is_negative(b, bits));
            self.symbols.set_sign(*term, bits, negative);
        }
        Some(result)
    }

    fn divide(&mut self, state: &mut State, step: &Step, pair: Pair<'_>) -> Option<Affine> {
        let &Step { op, bits, is_signed, .. } = step;
        let a = self.symbols.reading(state, pair.0, bits, is_signed);
        let b = self.symbols.reading(state, pair.1, bits, is_signed);
        let (Some((al, ah)), Some((bl, bh))) = (self.symbols.range(state, &a), self.symbols.range(state, &b))
        else {
            return Some(self.within(pair, step, bits, None));
        };
        if let (Some(by), true) = (b.as_constant().filter(|by| *by > 0), al >= 0) {
            let quotient = self.symbols.floor(state, &a, by)?;
            return if op == Op::Div { Some(quotient) } else { a.plus(&quotient.times(by)?, -1) };
        }
        if bl < 1 {
            return Some(self.within(pair, step, bits, None));
        }
        let range = if op == Op::Rem {
            (al.max(1 - bh).min(0), ah.min(bh - 1).max(0))
        } else {
            (if al < 0 { al / bl } else { al / bh }, if ah < 0 { ah / bh } else { ah / bl })
        };
        let result = self.within(pair, step, bits, Some(range));
        if al >= 0 {
            self.symbols.assume(state, &result.plus(&a, -1)?, 0);
            if op == Op::Rem {
                self.symbols.assume(state, &result.plus(&b, -1)?, -1);
            }
        }
        Some(result)
    }

    pub(super) fn unary(&mut self, state: &mut State, step: &Step, a: &Affine) -> Option<Affine> {
        let bits = step.bits;
        match step.op {
            Op::Mov => Some(a.clone()),
            Op::Neg => a.times(-1),
            Op::Not => a.times(-1)?.add(-1),
            Op::Abs => {
                let value = self.symbols.reading(state, a, bits, true);
                let zero = Affine::constant(0);
                let test = Test::Compare { op: Op::Ge, bits, is_signed: true, a: value.clone(), b: zero };
                let opposite = value.times(-1)?;
                self.choose(state, &test, &value, &opposite)
            }
            Op::Cvt => {
                let from = u8::try_from(step.size).unwrap_or(64);
                let mut value = a.clone();
                if bits > from {
                    value = self.symbols.reading(state, &value, from, step.flag);
                }
                if self.result_bits(step) > bits {
                    value = self.symbols.reading(state, &value, bits, step.is_signed);
                }
                Some(value)
            }
            Op::Clz | Op::Popc | Op::Brev => self.count_bits(state, step, a),
            Op::ToGeneric | Op::FromGeneric => self.convert_address(state, step, a),
            _ => None,
        }
    }

    fn count_bits(&mut self, state: &mut State, step: &Step, a: &Affine) -> Option<Affine> {
        let bits = step.bits;
        let value = self.symbols.reading(state, a, bits, false);
        let (low, high) = self.symbols.range(state, &value)?;
        let all = i128::from(bits);
        let zeros = |value: i128| match value {
            0 if step.flag => -1,
            0 => all,
            _ => i128::from(value.leading_zeros()) - (128 - all),
        };
        let (least, most) = match step.op {
            // More zeros the smaller the number is, but for zero itself.
            Op::Clz if step.flag && low == 0 => (-1, if high == 0 { -1 } else { all - 1 }),
            Op::Clz => (zeros(high), zeros(low)),
            Op::Popc if low == high => (i128::from(low.count_ones()), i128::from(low.count_ones())),
            Op::Popc => (i128::from(low > 0), all),
            _ if low == high => {
                let turned = low.cast_unsigned().reverse_bits() >> (128 - u32::from(bits));
                (turned.cast_signed(), turned.cast_signed())
            }
            // Only the bits of zero in another order are zero.
            _ => (i128::from(low > 0), (1 << bits) - 1),
        };
        if least == most {
            return Some(Affine::constant(least));
        }
        let (origin, place) = self.symbols.origin(&value);
        let origin = (origin.max(Origin::Computed), if origin == Origin::Exact { step.at } else { place });
        Some(self.symbols.new_value(self.symbols.is_unstable(&value), (least, most), origin))
    }

    /// Converts an address between its state space and the generic one.
    fn convert_address(&mut self, state: &mut State, step: &Step, a: &Affine) -> Option<Affine> {
        let found = a.terms.iter().find_map(|(symbol, factor)| {
            self.symbols.region(*symbol).filter(|_| *factor == 1).map(|region| (*symbol, region))
        });
        let Some((symbol, region)) = found else {
            // Global memory has the same addresses in both; of others nothing is known.
            return (step.space == Space::Global).then(|| a.clone());
        };
        let space = |object: u32| self.kernel.objects[object as usize].space;
        let other = match (step.op, region) {
            (_, Region::Parameter(..)) if step.space == Space::Global => return Some(a.clone()),
            (_, Region::Object(it)) if step.space == Space::Global && space(it) == Space::Global => {
                return Some(a.clone());
            }
            (Op::ToGeneric, Region::Object(it)) if space(it) == step.space => Region::Generic(it),
            (Op::FromGeneric, Region::Generic(it)) if space(it) == step.space => Region::Object(it),
            _ => return None,
        };
        // The conversion adds a number to addresses within the space, and to no others.
        let offset = a.replace(symbol, &Affine::constant(0))?;
        if !self.symbols.is_within(state, &offset, (0, 1 << 24)) {
            return None;
        }
        let other = self.region(other);
        a.replace(symbol, &other)
    }
}

/// Returns the lowest bit that an expression may have set, or zero if it is zero.
fn lowest_bit(expr: &Affine) -> i128 {
    let common = gcd(expr.divisor(), expr.constant);
    common & -common
}
