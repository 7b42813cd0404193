//! What one step of a kernel does to a state.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::domain::{Affine, Extreme, Kept, Region, State, Symbol, Test, Value, gcd, range_of, remainder};
use crate::engine::analysis::{Analysis, Doubt};
use crate::engine::transfer::predicate::{not, or};
use crate::ir::{Effect, Op, Operand, Origin, Space, Step};

/// Comparisons of a test from which the value that it chooses gets bounds.
const MOST_COMPARED: u32 = 6;
/// A test, and the values where it holds and where it does not.
pub(crate) type Chosen = (Rc<Test>, Affine, Affine);

impl Analysis<'_> {
    /// Applies a step that is no branch.
    pub(crate) fn step(&mut self, state: &mut State, index: usize) {
        let kernel = self.kernel;
        let step = &kernel.steps[index];
        self.steps += 1;
        self.symbols.make_room(state);
        match step.effect() {
            Effect::None => {}
            Effect::Jump => return,
            Effect::Refuse => {
                let text = match step.from[..] {
                    [Operand::Number(text)] => usize::try_from(text).ok().and_then(|it| kernel.texts.get(it)),
                    _ => None,
                };
                let origin = (Origin::Exact, step.at);
                return self.refuse(Doubt { at: step.at, reason: text.cloned().unwrap_or_default(), origin });
            }
            Effect::Access { .. } => return self.access(state, index),
            Effect::Check => return self.operand(state, step),
        }
        let Some(to) = step.to.first().copied() else { return };
        if self.bits(to) == 1 {
            let test = self.predicate(state, step);
            return self.set(state, to, Value::Test(test));
        }
        // An expression that became too large is forgotten.
        let bits = self.bits(to);
        let value = match self.compute(state, step).filter(|_| bits <= 64) {
            None => Value::Unset,
            Some(mut expr) => {
                // Of a number the register has the lowest bits only: an expression that may be outside of the
                // type's range is as good without multiples of what the type counts to.
                let keeps = |(_, factor): &(Symbol, i128)| remainder(*factor, 1 << bits) != 0;
                if !expr.terms.iter().all(keeps)
                    && ![true, false]
                        .into_iter()
                        .any(|is_signed| self.symbols.is_within(state, &expr, 2, range_of(bits, is_signed)))
                {
                    expr.terms.retain(keeps);
                    expr.constant = signed(expr.constant, bits);
                }
                Value::Number(match expr.as_constant() {
                    Some(constant) => Affine::constant(signed(constant, bits)),
                    None => expr,
                })
            }
        };
        self.set(state, to, value);
    }

    /// Returns the value that a step computes, or `None` if its expression became too large.
    fn compute(&mut self, state: &mut State, step: &Step) -> Option<Affine> {
        let (bits, is_signed, at) = (step.bits, step.is_signed, step.at);
        let to_bits = step.to.first().map_or(bits, |to| self.bits(*to));
        match (step.op, &step.from[..]) {
            (Op::Unknown, [Operand::Number(low), Operand::Number(high), sources @ ..]) => {
                let mut is_unstable = false;
                for source in sources {
                    let expr = self.number(state, *source, at);
                    is_unstable |= self.symbols.is_unstable(&expr);
                }
                let (low, high) = (i128::from(*low), i128::from(*high));
                // What is computed from a value that may differ at each use may differ as well.
                return Some(if is_unstable {
                    self.symbols.unstable(low, high, step.origin, at)
                } else {
                    self.symbols.fresh(low, high, step.origin, at)
                });
            }
            (Op::Parameter, [Operand::Number(index), Operand::Number(offset)]) => {
                let (index, offset) = (usize::try_from(*index).ok()?, u64::try_from(*offset).ok()?);
                return self.parameter(step, index, offset, to_bits);
            }
            (Op::Selp, [a, b, test]) => {
                let (a, b) = (self.number(state, *a, at), self.number(state, *b, at));
                let test = self.test(state, *test);
                if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant())
                    && (a, b) != (b, a)
                    && [a, b].iter().all(|it| matches!(it, 0 | 1))
                    && !matches!(*test, Test::Is(_))
                {
                    let is_one = if a == 1 { test } else { not(&test) };
                    let (zero, one) = (Affine::constant(0), Affine::constant(1));
                    let value = self.choose(state, &not(&is_one), &zero, &one)?;
                    if let [(symbol, 1)] = value.terms[..] {
                        self.symbols.set_truth(symbol, is_one);
                    }
                    return Some(value);
                }
                return self.choose(state, &test, &a, &b);
            }
            (_, operands) if step.is_of_floats() => {
                let operands: SmallVec<[Affine; 2]> =
                    operands.iter().map(|it| self.number(state, *it, at)).collect();
                return self.float(state, step, &operands);
            }
            _ => {}
        }
        let a = self.number(state, *step.from.first()?, at);
        let Some(b) = step.from.get(1) else { return self.unary(state, step, &a, to_bits) };
        let b = self.number(state, *b, at);
        let any = |this: &mut Self, bits: u8, low: i128, high: i128| {
            let (origin, place) = this.symbols.origin(&a).max(this.symbols.origin(&b));
            let (origin, place) =
                if origin == Origin::Exact { (Origin::Computed, at) } else { (origin, place) };
            let (least, most) = range_of(bits, true);
            let (least, most) =
                if low > high || high - low > most - least { (least, most) } else { (low, high) };
            if this.symbols.is_unstable(&a) || this.symbols.is_unstable(&b) {
                this.symbols.unstable(least, most, origin, place)
            } else {
                this.symbols.fresh(least, most, origin, place)
            }
        };
        let nothing = |this: &mut Self, bits: u8| any(this, bits, 1, 0);
        match step.op {
            Op::Add => a.plus(&b, 1),
            Op::Sub => a.plus(&b, -1),
            Op::Mul => Some(self.product(state, &a, &b).unwrap_or_else(|| nothing(self, bits))),
            Op::MulWide | Op::MulHi => {
                let a = self.symbols.reading(state, &a, bits, is_signed);
                let b = self.symbols.reading(state, &b, bits, is_signed);
                let product = self.product(state, &a, &b);
                let result = match (step.op, product) {
                    (Op::MulWide, product) => product,
                    (_, Some(product)) => self.symbols.floor(state, &product, 1 << bits),
                    _ => None,
                };
                Some(result.unwrap_or_else(|| nothing(self, to_bits)))
            }
            Op::Mul24 => {
                let range = range_of(24, is_signed);
                let fits = [&a, &b].iter().all(|expr| self.symbols.is_within(state, expr, 2, range));
                let product = if fits { self.product(state, &a, &b) } else { None };
                Some(product.unwrap_or_else(|| nothing(self, bits)))
            }
            Op::Min | Op::Max => {
                let a = self.symbols.reading(state, &a, bits, is_signed);
                let b = self.symbols.reading(state, &b, bits, is_signed);
                self.extreme(state, step, a, b)
            }
            Op::Shl | Op::Shr => {
                let amount = match b.as_constant() {
                    Some(amount) => {
                        let amount = amount.rem_euclid(1 << 32).min(i128::from(bits));
                        Some((amount, amount))
                    }
                    None => {
                        let amount = self.symbols.reading(state, &b, 32, false);
                        self.symbols.range(state, &amount, 2)
                    }
                };
                let all = i128::from(bits);
                let Some((least, most)) = amount.map(|(low, high)| (low.clamp(0, all), high.clamp(0, all)))
                else {
                    return Some(nothing(self, bits));
                };
                if step.op == Op::Shl && least == most {
                    return if least == all { Some(Affine::constant(0)) } else { a.times(1 << least) };
                }
                let value = self.symbols.reading(state, &a, bits, is_signed);
                if step.op == Op::Shr && least == most {
                    return self.symbols.floor(state, &value, 1 << least);
                }
                let Some((low, high)) = self.symbols.range(state, &value, 2).filter(|(low, _)| *low >= 0)
                else {
                    return Some(nothing(self, bits));
                };
                if step.op == Op::Shr {
                    let result = any(self, bits, low >> most, high >> least);
                    let below = result.plus(&value, -1)?;
                    self.symbols.assume(state, &below, 0);
                    return Some(result);
                }
                let high = high.checked_mul(1 << most).filter(|high| *high <= range_of(bits, false).1);
                let (low, high) = high.map_or((1, 0), |high| (low << least, high));
                Some(any(self, bits, low, high))
            }
            Op::And if step.flag && !self.is_partitioned => Some(nothing(self, bits)),
            Op::And | Op::Or | Op::Xor => {
                let bitwise = |a: i128, b: i128| match step.op {
                    Op::And => a & b,
                    Op::Or => a | b,
                    _ => a ^ b,
                };
                let (x, y) = if a.as_constant().is_some() { (&b, &a) } else { (&a, &b) };
                // All bits of the sign: the other value, or zero.
                for (x, y) in [(x, y), (y, x)] {
                    if step.op == Op::And
                        && x.as_constant().is_none()
                        && !self.symbols.is_unstable(x)
                        && self.symbols.is_within(state, x, 1, (-1, 0))
                    {
                        let (x, zero) = (x.clone(), Affine::constant(0));
                        let test = Test::Compare { op: Op::Lt, bits, is_signed: true, a: x, b: zero.clone() };
                        return self.choose(state, &test, y, &zero);
                    }
                }
                if let (Some(x), Some(y)) = (x.as_constant(), y.as_constant()) {
                    return Some(Affine::constant(bitwise(signed(x, bits), signed(y, bits))));
                }
                if let Some(constant) = y.as_constant() {
                    let mask = constant.rem_euclid(1 << bits);
                    if step.op == Op::Xor && mask == (1 << bits) - 1 {
                        return x.times(-1)?.add(-1);
                    }
                    // Ones from one bit to another: two quotients.
                    let lowest = 1_i128 << mask.trailing_zeros().min(100);
                    let above = mask + lowest;
                    if step.op == Op::And && mask != 0 && above & mask == 0 && !self.symbols.is_unstable(x) {
                        let low = self.symbols.floor(state, x, lowest)?.times(lowest)?;
                        if above == 1 << bits {
                            return Some(low);
                        }
                        let high = self.symbols.floor(state, x, above)?.times(above)?;
                        return low.plus(&high, -1);
                    }
                    if step.op == Op::And && mask == 0 {
                        return Some(Affine::constant(0));
                    }
                }
                if step.op != Op::And {
                    // Bits that do not meet are added.
                    for (x, y) in [(x, y), (y, x)] {
                        let common = gcd(x.divisor(), x.constant);
                        let lowest = common & -common;
                        if lowest > 0 && self.symbols.is_within(state, y, 2, (0, lowest - 1)) {
                            return x.plus(y, 1);
                        }
                    }
                }
                let x = self.symbols.reading(state, x, bits, false);
                let y = self.symbols.reading(state, y, bits, false);
                let (Some((xl, xh)), Some((yl, yh))) =
                    (self.symbols.range(state, &x, 2), self.symbols.range(state, &y, 2))
                else {
                    return Some(nothing(self, bits));
                };
                // The lowest bits that are zero in both stay zero, and for `and` those that are zero in one.
                let lowest = |it: &Affine| gcd(it.divisor(), it.constant);
                let lowest = |it: &Affine| (lowest(it) & -lowest(it)).max(1);
                let (one, other) = (lowest(&x), lowest(&y));
                let unit = if step.op == Op::And { one.max(other) } else { one.min(other) };
                let ones = |value: i128| (1_i128 << (128 - value.max(0).leading_zeros()).min(100)) - 1;
                let (low, high) = match step.op {
                    Op::And => (0, xh.min(yh)),
                    Op::Or => (xl.max(yl), ones(xh.max(yh))),
                    _ => (0, ones(xh.max(yh))),
                };
                let result = any(self, bits, low / unit, high / unit).times(unit)?;
                // `if (x >= 0 && y >= 0)` is compiled to a test of the sign of `x | y`.
                if let (Op::Or, [term], 0) = (step.op, &result.terms[..], result.constant)
                    && !self.symbols.is_unstable(&result)
                {
                    let negative = or(&self.is_negative(&a, bits), &self.is_negative(&b, bits));
                    self.symbols.set_sign(*term, bits, negative);
                }
                Some(result)
            }
            Op::Div | Op::Rem => {
                let a = self.symbols.reading(state, &a, bits, is_signed);
                let b = self.symbols.reading(state, &b, bits, is_signed);
                let (Some((al, ah)), Some((bl, bh))) =
                    (self.symbols.range(state, &a, 2), self.symbols.range(state, &b, 2))
                else {
                    return Some(nothing(self, bits));
                };
                if let (Some(by), true) = (b.as_constant().filter(|by| *by > 0), al >= 0) {
                    let quotient = self.symbols.floor(state, &a, by)?;
                    return if step.op == Op::Div {
                        Some(quotient)
                    } else {
                        a.plus(&quotient.times(by)?, -1)
                    };
                }
                if bl < 1 {
                    return Some(nothing(self, bits));
                }
                let (low, high) = if step.op == Op::Rem {
                    (al.max(1 - bh).min(0), ah.min(bh - 1).max(0))
                } else {
                    (if al < 0 { al / bl } else { al / bh }, if ah < 0 { ah / bh } else { ah / bl })
                };
                let result = any(self, bits, low, high);
                if al >= 0 {
                    let below = result.plus(&a, -1)?;
                    self.symbols.assume(state, &below, 0);
                    if step.op == Op::Rem {
                        let below = result.plus(&b, -1)?;
                        self.symbols.assume(state, &below, -1);
                    }
                }
                Some(result)
            }
            _ => Some(nothing(self, to_bits)),
        }
    }

    fn unary(&mut self, state: &mut State, step: &Step, a: &Affine, to_bits: u8) -> Option<Affine> {
        let bits = step.bits;
        match step.op {
            Op::Mov => Some(Affine::clone(a)),
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
                let mut value = Affine::clone(a);
                if bits > from {
                    value = self.symbols.reading(state, &value, from, step.flag);
                }
                if to_bits > bits {
                    value = self.symbols.reading(state, &value, bits, step.is_signed);
                }
                Some(value)
            }
            Op::Clz | Op::Popc | Op::Brev => {
                let value = self.symbols.reading(state, a, bits, false);
                let (low, high) = self.symbols.range(state, &value, 2)?;
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
                let origin =
                    (origin.max(Origin::Computed), if origin == Origin::Exact { step.at } else { place });
                Some(if self.symbols.is_unstable(&value) {
                    self.symbols.unstable(least, most, origin.0, origin.1)
                } else {
                    self.symbols.fresh(least, most, origin.0, origin.1)
                })
            }
            Op::ToGeneric | Op::FromGeneric => {
                let based = a.terms.iter().find_map(|(symbol, factor)| {
                    self.symbols.region(*symbol).filter(|_| *factor == 1).map(|region| (*symbol, region))
                });
                let Some((symbol, region)) = based else {
                    // Global memory has the same addresses in both; of others nothing is known.
                    return (step.space == Space::Global).then(|| Affine::clone(a));
                };
                let space = |object: u32| self.kernel.objects[object as usize].space;
                let other = match (step.op, region) {
                    (_, Region::Parameter(..)) if step.space == Space::Global => region,
                    (_, Region::Object(object))
                        if step.space == Space::Global && space(object) == Space::Global =>
                    {
                        region
                    }
                    (Op::ToGeneric, Region::Object(object)) if space(object) == step.space => {
                        Region::Generic(object)
                    }
                    (Op::FromGeneric, Region::Generic(object)) if space(object) == step.space => {
                        Region::Object(object)
                    }
                    _ => return None,
                };
                if other == region {
                    return Some(Affine::clone(a));
                }
                // The conversion adds a number to addresses within the space, and to no others.
                let offset = a.replace(symbol, &Affine::constant(0))?;
                if !self.symbols.is_within(state, &offset, 2, (0, 1 << 24)) {
                    return None;
                }
                let other = self.region(other);
                a.replace(symbol, &other)
            }
            _ => None,
        }
    }

    /// Returns the smaller one of two numbers, or the larger one. Two pairs with the same difference have
    /// values that follow from each other: `min(a, b)` is `b + min(a - b, 0)`, and `max(a, b)` is
    /// `a - min(a - b, 0)`.
    fn extreme(&mut self, state: &mut State, step: &Step, a: Affine, b: Affine) -> Option<Affine> {
        let is_least = step.op == Op::Min;
        let ordered = Kept::ordered(&a, &b).filter(|(.., difference)| !self.symbols.is_unstable(difference));
        if let Some((first, second, difference)) = &ordered
            && let Some(lesser) = state.kept.lesser(difference)
        {
            return if is_least { second.plus(lesser, 1) } else { first.plus(lesser, -1) };
        }
        let (first, second) = if is_least { (&a, &b) } else { (&b, &a) };
        let test = Test::Compare {
            op: Op::Le,
            bits: step.bits,
            is_signed: step.is_signed,
            a: first.clone(),
            b: second.clone(),
        };
        let made = self.symbols.count();
        let value = self.choose(state, &test, &a, &b)?;
        if let ([(symbol, 1)], Some(first), Some(second)) =
            (&value.terms[..], a.add(-value.constant), b.add(-value.constant))
            && *symbol as usize >= made
            && ![&value, &first, &second]
                .iter()
                .any(|it| self.symbols.is_unstable(it) || self.symbols.has_region(it))
        {
            self.symbols.set_extreme(*symbol, Extreme { is_larger: !is_least, of: [first, second] });
        }
        if let Some((first, second, difference)) = ordered
            && [&a, &b].iter().all(|it| **it != value)
            && !self.symbols.is_unstable(&value)
        {
            let lesser = if is_least { value.plus(second, -1) } else { first.plus(&value, -1) };
            if let Some(lesser) = lesser {
                state.kept.keep_lesser(difference, lesser);
            }
        }
        Some(value)
    }

    /// Returns `a` where the test holds, and `b` where it does not.
    fn choose(&mut self, state: &mut State, test: &Test, a: &Affine, b: &Affine) -> Option<Affine> {
        let (mut one, mut other) = (state.case(), state.case());
        match (self.assume(&mut one, test, true), self.assume(&mut other, test, false)) {
            (true, true) if a == b => Some(a.clone()),
            (true, true) => match b.plus(a, -1).and_then(|it| it.as_constant()) {
                Some(step) if !self.symbols.is_unstable(a) => {
                    let case = self.case_of(state, test, (&one, &other));
                    a.plus(&case, step)
                }
                _ => self.symbols.join_values(state, (&one, a), (&other, b)),
            },
            (true, false) => Some(a.clone()),
            _ => Some(b.clone()),
        }
    }

    /// Makes a number that is 0 where a test holds and else 1, with what both cases know of the expressions
    /// that the test compares: each bound is a line through the bounds of the two cases.
    fn case_of(&mut self, state: &mut State, test: &Test, (one, other): (&State, &State)) -> Affine {
        let case = self.symbols.fresh(0, 1, Origin::Exact, (0, 0));
        let mut open = vec![test];
        let mut left = MOST_COMPARED;
        while let Some(test) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match test {
                Test::Not(inner) => open.push(inner),
                Test::And(first, second, _) => open.extend([&**first, &**second]),
                Test::Compare { a, b, .. } => {
                    for sign in [1, -1] {
                        let Some(expr) = a.plus(b, -1).and_then(|it| it.times(sign)) else { continue };
                        let (Some(in_one), Some(in_other)) =
                            (self.symbols.high(one, &expr, 1), self.symbols.high(other, &expr, 1))
                        else {
                            continue;
                        };
                        let slope = in_one.checked_sub(in_other).filter(|it| *it != 0);
                        if let Some(line) = slope.and_then(|slope| expr.plus(&case, slope)) {
                            self.symbols.assume(state, &line, in_one);
                        }
                    }
                }
                Test::Unknown | Test::Is(_) => {}
            }
        }
        case
    }

    /// Returns the test and the values of a step that chooses between addresses that count from different
    /// things.
    pub(crate) fn chosen_pointers(&self, state: &State, step: &Step) -> Option<Chosen> {
        let (Op::Selp, None, [Operand::Register(a), Operand::Register(b), test]) =
            (step.op, step.guard, &step.from[..])
        else {
            return None;
        };
        let number = |register: &u32| match state.registers.get(*register as usize) {
            Some(Value::Number(expr)) if !self.symbols.is_unstable(expr) => Some(expr.clone()),
            _ => None,
        };
        let (a, b) = (number(a)?, number(b)?);
        (!self.symbols.has_same_region(&a, &b)).then(|| (self.test(state, *test), a, b))
    }

    fn product(&mut self, state: &mut State, a: &Affine, b: &Affine) -> Option<Affine> {
        match (a.as_constant(), b.as_constant()) {
            (Some(factor), _) => b.times(factor),
            (_, Some(factor)) => a.times(factor),
            _ => self.symbols.product(state, a, b),
        }
    }

    fn parameter(&mut self, step: &Step, index: usize, offset: u64, to_bits: u8) -> Option<Affine> {
        let argument = self.launch.arguments.get(index)?;
        let size = u64::from(step.size);
        for pointer in argument.pointers {
            if *pointer == offset && size == 8 && to_bits == 64 {
                return Some(self.region(Region::Parameter(index, offset)));
            }
            if *pointer < offset.checked_add(size)? && offset < pointer.checked_add(8)? {
                return None;
            }
        }
        let (start, end) = (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(size)?).ok()?);
        let mut bytes = [0; 16];
        let given = argument.bytes.get(start..end)?;
        bytes.get_mut(..given.len())?.copy_from_slice(given);
        let value = (u128::from_le_bytes(bytes) & u128::from(u64::MAX)).cast_signed();
        Some(Affine::constant(if step.is_signed { signed(value, step.bits.min(64)) } else { value }))
    }
}

/// Reads the lowest bits of a number as signed.
pub(crate) fn signed(value: i128, bits: u8) -> i128 {
    let all = 1_i128 << bits.min(64);
    let value = value.rem_euclid(all);
    if value >= all / 2 { value - all } else { value }
}
