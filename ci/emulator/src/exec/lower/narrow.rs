//! Conversions to and from the numbers of tensor cores: those of eight bits, in pairs, and those of nineteen.

#![expect(clippy::cast_possible_truncation, reason = "the parts of a pair are cut out of it")]

use half::f16;

use super::half::Half;
use super::integer::operand;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::Alu;
use crate::exec::number::Number;
use crate::exec::rounding::seal;
use crate::ptx::{Instruction, Type};

impl Lower<'_> {
    /// Lowers `cvt` if one of the types is a type of tensor cores. Returns `None` otherwise.
    pub(super) fn cvt_narrow(&mut self, i: &Instruction) -> Option<Result<(), Failure>> {
        let names = ["e4m3x2", "e5m2x2", "tf32"];
        let name = i.modifiers.iter().position(|m| names.contains(&&**m))?;
        // If the narrow type is the destination, the source type follows it. If it is the source, the
        // destination type precedes it.
        let other = i.types().last().ok_or_else(|| "two types are needed".into());
        let from = name + 1 == i.modifiers.len();
        Some(other.and_then(|other| match &*i.modifiers[name] {
            "tf32" if from => Err(UNKNOWN.into()),
            "tf32" => self.nineteen(i, other),
            eight if from => self.pair_of_halves(i, eight == "e4m3x2", other),
            eight => self.pair_of_eight(i, eight == "e4m3x2", other),
        }))
    }

    fn nineteen(&mut self, i: &Instruction, from: Type) -> Result<(), Failure> {
        if from != Type::F32 || i.has("satfinite") {
            return Err(UNKNOWN.into());
        }
        let (d, a) = (self.dst(operand(i, 0)?, Type::B32)?, self.src(operand(i, 1)?, from)?);
        self.alu(
            match (i.has("rna"), i.has("rn")) {
                (true, _) => op1!(u32 => u32, |v| cut(v, 0x1000)),
                // These two have one NaN.
                (_, true) => op1!(f32 => u32, |v| cut(seal(v), 0xFFF + (v.to_bits() >> 13 & 1))),
                _ => op1!(f32 => u32, |v| cut(seal(v), 0)),
            },
            &[d, a],
        );
        if i.has("relu") {
            self.alu(op1!(u32 => u32, |v| if v.cast_signed() < 0 { 0 } else { v }), &[d, d]);
        }
        Ok(())
    }

    fn pair_of_eight(&mut self, i: &Instruction, e4m3: bool, from: Type) -> Result<(), Failure> {
        let [d, a] = self.registers(i, [Type::B16, from])?;
        let f: Alu = match (from, e4m3, i.has("relu")) {
            (Type::F32, ..) => {
                // The second operand becomes the lower part.
                let b = self.src(operand(i, 2)?, from)?;
                let f: Alu = match (e4m3, i.has("relu")) {
                    (true, false) => slow!(f32, f32 => u16, |a, b| eight::<true, false>(b.into(), a.into())),
                    (true, true) => slow!(f32, f32 => u16, |a, b| eight::<true, true>(b.into(), a.into())),
                    (false, false) => {
                        slow!(f32, f32 => u16, |a, b| eight::<false, false>(b.into(), a.into()))
                    }
                    (false, true) => slow!(f32, f32 => u16, |a, b| eight::<false, true>(b.into(), a.into())),
                };
                self.alu(f, &[d, a, b]);
                return Ok(());
            }
            (Type::F16x2, true, false) => slow!(u32 => u16, halves::<true, false>),
            (Type::F16x2, true, true) => slow!(u32 => u16, halves::<true, true>),
            (Type::F16x2, false, false) => slow!(u32 => u16, halves::<false, false>),
            (Type::F16x2, false, true) => slow!(u32 => u16, halves::<false, true>),
            _ => return Err(UNKNOWN.into()),
        };
        self.alu(f, &[d, a]);
        Ok(())
    }

    fn pair_of_halves(&mut self, i: &Instruction, e4m3: bool, to: Type) -> Result<(), Failure> {
        let (d, a) = (self.dst(operand(i, 0)?, Type::B32)?, self.src(operand(i, 1)?, Type::B16)?);
        let f: Alu = match (to, e4m3, i.has("relu")) {
            (Type::F16x2, true, false) => slow!(u16 => u32, |v| widened(Number::E4m3, v, |v| v)),
            (Type::F16x2, false, false) => slow!(u16 => u32, |v| widened(Number::E5m2, v, |v| v)),
            (Type::F16x2, true, true) => slow!(u16 => u32, |v| widened(Number::E4m3, v, positive)),
            (Type::F16x2, false, true) => slow!(u16 => u32, |v| widened(Number::E5m2, v, positive)),
            _ => return Err(UNKNOWN.into()),
        };
        self.alu(f, &[d, a]);
        Ok(())
    }
}

/// Adds to the bits that are cut off, unless it is NaN or infinite, and cuts them off.
fn cut(bits: u32, more: u32) -> u32 {
    let whole = bits & 0x7F80_0000 == 0x7F80_0000;
    if whole { bits & !0x1FFF } else { bits.wrapping_add(more) & !0x1FFF }
}

/// Two numbers of eight bits.
fn eight<const E4M3: bool, const RELU: bool>(low: f64, high: f64) -> u16 {
    let number = if E4M3 { Number::E4m3 } else { Number::E5m2 };
    let one = |v: f64| u16::from(number.eight(if RELU { positive(v) } else { v }));
    one(low) | one(high) << 8
}

/// Zero for negative numbers. NaN stays.
fn positive(v: f64) -> f64 {
    if v > 0.0 || v.is_nan() { v } else { 0.0 }
}

/// The same of two numbers of sixteen bits.
fn halves<const E4M3: bool, const RELU: bool>(pair: u32) -> u16 {
    let part = |n: u32| f16::from_bits((pair >> n) as u16).to_f64();
    eight::<E4M3, RELU>(part(0), part(16))
}

/// Two numbers of sixteen bits, which hold two of eight.
fn widened(number: Number, pair: u16, change: fn(f64) -> f64) -> u32 {
    let part = |n: u32| {
        let v: f16 = Half::once(change(number.value(u64::from(pair >> n & 0xFF))));
        u32::from(v.bits16())
    };
    part(0) | part(8) << 16
}
