//! What steps compute of numbers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "roundings are what is meant"
)]

use std::cmp::Ordering;

use crate::ir::{Op, Step};

/// Reads the lowest bits of a register.
pub(super) fn read(value: u64, bits: u32, is_signed: bool) -> i128 {
    let value = i128::from(value) & ((1 << bits) - 1);
    if is_signed && value >> (bits - 1) != 0 { value - (1 << bits) } else { value }
}

/// Returns the float that some bits are.
pub(super) fn float(value: u64, bits: u32) -> f64 {
    if bits == 32 { f32::from_bits(value as u32).into() } else { f64::from_bits(value) }
}

/// Extends the lowest bits of a number to those of a register.
fn extended(value: u64, bits: u32, to_bits: u32, is_signed: bool) -> u64 {
    let value = if bits < to_bits { read(value, bits, is_signed) } else { value.into() };
    (value & ((1 << to_bits) - 1)) as u64
}

/// Returns what a step computes of the bits of its operands into a register of so many bits, or nothing if
/// the step says only between which numbers the result is. How floats are rounded and flushed is not in the
/// step: an instruction's modifiers say it.
pub(super) fn evaluate(step: &Step, from: &[u64], to_bits: u32, modifiers: &[&str]) -> Option<u64> {
    let bits = u32::from(step.bits);
    if step.is_of_floats() {
        let value = Floats { step, modifiers }.evaluate(from);
        return Some(if step.op == Op::ToInteger {
            extended(value, bits, to_bits, step.is_signed)
        } else {
            value
        });
    }
    let number = |at: usize, bits: u32| read(from.get(at).copied().unwrap_or(0), bits, step.is_signed);
    let (a, b) = (number(0, bits), number(1, bits));
    // The amount of a shift has 32 bits.
    let amount = read(from.get(1).copied().unwrap_or(0), 32, false).min(i128::from(bits));
    let zeros = || i128::from(read(from[0], bits, false).leading_zeros()) - 128 + i128::from(bits);
    let value = match step.op {
        Op::Mov | Op::ToGeneric | Op::FromGeneric | Op::PredMov => a,
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul | Op::MulWide => a.wrapping_mul(b),
        Op::MulHi if step.is_signed => (a * b) >> bits,
        Op::MulHi => (a.wrapping_mul(b).cast_unsigned() >> bits).cast_signed(),
        Op::Mul24 => read(from[0], 24, step.is_signed) * read(from[1], 24, step.is_signed),
        Op::Neg => -a,
        Op::Not => !a,
        Op::Abs => read(from[0], bits, true).abs(),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::And | Op::PredAnd => a & b,
        Op::Or | Op::PredOr => a | b,
        Op::Xor | Op::PredXor => a ^ b,
        Op::Shl => a << amount,
        Op::Shr => a >> amount,
        // PTX leaves it open. Devices have all ones.
        Op::Div | Op::Rem if b == 0 => -1,
        Op::Div => a / b,
        Op::Rem => a % b,
        Op::Cvt => {
            let value = read(from[0], step.size, step.flag) as u64;
            return Some(extended(value, bits, to_bits, step.is_signed));
        }
        Op::Clz if step.flag && a == 0 => -1,
        Op::Clz => zeros(),
        Op::Popc => read(from[0], bits, false).count_ones().into(),
        Op::Brev => (from[0].reverse_bits() >> (64 - bits)).into(),
        Op::Selp => {
            if from[2] != 0 {
                a
            } else {
                b
            }
        }
        Op::Eq => (a == b).into(),
        Op::Ne => (a != b).into(),
        Op::Lt => (a < b).into(),
        Op::Le => (a <= b).into(),
        Op::Gt => (a > b).into(),
        Op::Ge => (a >= b).into(),
        _ => return None,
    };
    Some((value & ((1 << to_bits) - 1)) as u64)
}

/// A step that computes floats, and the modifiers of its instruction.
struct Floats<'s> {
    step: &'s Step,
    modifiers: &'s [&'s str],
}

impl Floats<'_> {
    fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Zero in place of a subnormal number of 32 bits, with `.ftz`.
    fn flushed(&self, value: f64) -> f64 {
        let is_subnormal = value.abs() < f64::from(f32::MIN_POSITIVE);
        if self.has("ftz") && is_subnormal { 0.0_f64.copysign(value) } else { value }
    }

    fn float(&self, value: u64) -> f64 {
        let value = float(value, self.step.size);
        if self.step.size == 32 { self.flushed(value) } else { value }
    }

    fn evaluate(&self, from: &[u64]) -> u64 {
        let Step { op, bits, size, is_signed, flag, .. } = *self.step;
        if op == Op::FromInteger {
            let value = read(from[0], size, is_signed);
            let near = if bits == 32 { f64::from(value as f32) } else { value as f64 };
            return self.rounded(near, value.cmp(&(near as i128)));
        }
        let (a, b) = (self.float(from[0]), from.get(1).map_or(0.0, |it| self.float(*it)));
        let is_less = a < b || a == b && a.is_sign_negative();
        match op {
            Op::ToInteger => self.integer(self.whole(a)),
            Op::FloatCvt => self.rounded(self.whole(a), Ordering::Equal),
            Op::FloatAdd => self.sum(a, b),
            _ if flag && (a.is_nan() || b.is_nan()) => self.rounded(f64::NAN, Ordering::Equal),
            _ if a.is_nan() || !b.is_nan() && is_less == (op == Op::FloatMax) => {
                self.rounded(b, Ordering::Equal)
            }
            _ => self.rounded(a, Ordering::Equal),
        }
    }

    fn whole(&self, value: f64) -> f64 {
        match self.modifiers.iter().find(|it| it.ends_with('i')) {
            Some(&"rni") => value.round_ties_even(),
            Some(&"rzi") => value.trunc(),
            Some(&"rmi") => value.floor(),
            Some(&"rpi") => value.ceil(),
            _ => value,
        }
    }

    fn integer(&self, value: f64) -> u64 {
        let Step { bits, size, is_signed, .. } = *self.step;
        let half = 1_i128 << (bits - 1);
        if value.is_nan() {
            // The highest bit if 64 bits take part, as an H200 answers.
            let highest = if is_signed { -half } else { half };
            return if bits == 64 || size == 64 { highest as u64 } else { 0 };
        }
        let (least, most) = if is_signed { (-half, half - 1) } else { (0, 2 * half - 1) };
        (value as i128).clamp(least, most) as u64
    }

    fn sum(&self, a: f64, b: f64) -> u64 {
        let sum = a + b;
        let rest = sum - a;
        let error = (a - (sum - rest)) + (b - rest);
        let exact = match error.partial_cmp(&0.0) {
            _ if sum.is_infinite() && a.is_finite() && b.is_finite() => 0.0_f64.total_cmp(&sum),
            Some(exact) if sum.is_finite() => exact,
            _ => Ordering::Equal,
        };
        let is_negative = self.has("rm") && sum == 0.0 && (a.is_sign_negative() || b.is_sign_negative());
        self.rounded(if is_negative { -0.0 } else { sum }, exact)
    }

    /// The bits of the result that is next to a number in the direction of the mode. `exact` compares what is
    /// to be rounded with the number.
    fn rounded(&self, value: f64, exact: Ordering) -> u64 {
        let is_down = self.has("rm") || self.has("rz") && value > 0.0;
        let is_up = self.has("rp") || self.has("rz") && value < 0.0;
        if self.step.bits == 64 {
            return match exact {
                Ordering::Less if is_down => value.next_down(),
                Ordering::Greater if is_up => value.next_up(),
                _ => value,
            }
            .to_bits();
        }
        let near = value as f32;
        let exact = value.partial_cmp(&f64::from(near)).unwrap_or(exact).then(exact);
        let near = match exact {
            Ordering::Less if is_down => near.next_down(),
            Ordering::Greater if is_up => near.next_up(),
            _ => near,
        };
        (self.flushed(near.into()) as f32).to_bits().into()
    }
}
