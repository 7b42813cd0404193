//! Floating-point arithmetic in 16 bits, alone and in pairs.
//!
//! Sums and products of two 16-bit numbers are computed in 32 bits, which have more than twice the digits, so
//! that rounding twice gives the same as rounding once. A fused product is computed in 64 bits and rounded to
//! odd first.

#![expect(clippy::cast_possible_truncation, reason = "narrowing is what rounding does")]

use half::{bf16, f16};

use super::integer::operand;
use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::{Alu, Class};
use crate::exec::rounding::Rounding;
use crate::ptx::{Instruction, Type};

/// A 16-bit format.
pub(super) trait Half: Copy {
    fn wide(self) -> f32;
    fn near(v: f32) -> Self;
    fn from16(bits: u16) -> Self;
    fn bits16(self) -> u16;
    /// Rounds a number of 64 bits once.
    fn once(v: f64) -> Self {
        // To odd first: the last bit of the 32-bit number marks that digits were cut.
        let near = v as f32;
        let back = f64::from(near);
        let odd = if back == v || near.to_bits() & 1 == 1 || !near.is_finite() {
            near
        } else if (back < v) == (v > 0.0) {
            f32::from_bits(near.to_bits() + 1)
        } else {
            f32::from_bits(near.to_bits().wrapping_sub(1))
        };
        Self::near(odd)
    }
    /// Rounds a number of 64 bits once, in any direction.
    fn toward(v: f64, mode: Rounding) -> Self {
        let near = Self::once(v);
        let back = f64::from(near.wide());
        let bits = near.bits16();
        match mode {
            Rounding::Zero if back.abs() > v.abs() => Self::from16(bits - 1),
            Rounding::Down if back > v && back > 0.0 => Self::from16(bits - 1),
            Rounding::Down if back > v => Self::from16((bits | 0x8000) + 1),
            Rounding::Up if back < v && back < 0.0 => Self::from16(bits - 1),
            Rounding::Up if back < v => Self::from16((bits & 0x7FFF) + 1),
            _ => near,
        }
    }
}

macro_rules! half {
    ($($ty:ty)*) => {$(
        impl Half for $ty {
            fn wide(self) -> f32 {
                self.to_f32()
            }
            fn near(v: f32) -> Self {
                if v.is_nan() { Self::from_bits(0x7FFF) } else { Self::from_f32(v) }
            }
            fn from16(bits: u16) -> Self {
                Self::from_bits(bits)
            }
            fn bits16(self) -> u16 {
                self.to_bits()
            }
        }
    )*};
}

half! { f16 bf16 }

fn pair<H: Half>(low: H, high: H) -> u32 {
    u32::from(high.bits16()) << 16 | u32::from(low.bits16())
}

fn halves<H: Half>(v: u32) -> [H; 2] {
    [H::from16(v as u16), H::from16((v >> 16) as u16)]
}

/// Zero of the same sign for a subnormal number.
fn flushed(v: f16) -> f16 {
    if v.to_bits() & 0x7C00 == 0 { f16::from_bits(v.to_bits() & 0x8000) } else { v }
}

/// The smaller or larger magnitude, with the sign of the product. NaN has no sign.
fn xor_sign<H: Half>(a: H, b: H, pick: fn(f32, f32) -> f32) -> H {
    let v = pick(a.wide().abs(), b.wide().abs());
    let sign = if v.is_nan() { 0 } else { (a.bits16() ^ b.bits16()) & 0x8000 };
    H::from16(H::near(v).bits16() | sign)
}

/// One of two numbers, or NaN if one of them is.
fn ordered_pick<H: Half>(a: H, b: H, pick: fn(f32, f32) -> f32) -> H {
    H::near(ordered(a.wide(), b.wide(), pick(a.wide(), b.wide())))
}

fn fused<H: Half>(a: H, b: H, c: H) -> H {
    let product = f64::from(a.wide()) * f64::from(b.wide());
    let c = f64::from(c.wide());
    let sum = product + c;
    let t = sum - product;
    let error = (product - (sum - t)) + (c - t);
    // A sum that 64 bits cannot hold is rounded to odd as well.
    let sum = if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 == 1 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    };
    H::once(sum)
}

macro_rules! half1 {
    ($t:ty, $packed:expr, $f:expr) => {
        if $packed {
            slow!(u32 => u32, |a| {
                let [al, ah] = halves::<$t>(a);
                let f: fn($t) -> $t = $f;
                pair(f(al), f(ah))
            })
        } else {
            slow!($t => $t, $f)
        }
    };
}

macro_rules! half2 {
    ($t:ty, $packed:expr, $f:expr) => {
        if $packed {
            slow!(u32, u32 => u32, |a, b| {
                let ([al, ah], [bl, bh]) = (halves::<$t>(a), halves::<$t>(b));
                let f: fn($t, $t) -> $t = $f;
                pair(f(al, bl), f(ah, bh))
            })
        } else {
            slow!($t, $t => $t, $f)
        }
    };
}

macro_rules! half3 {
    ($t:ty, $packed:expr, $f:expr) => {
        if $packed {
            slow!(u32, u32, u32 => u32, |a, b, c| {
                let ([al, ah], [bl, bh], [cl, ch]) = (halves::<$t>(a), halves::<$t>(b), halves::<$t>(c));
                let f: fn($t, $t, $t) -> $t = $f;
                pair(f(al, bl, cl), f(ah, bh, ch))
            })
        } else {
            slow!($t, $t, $t => $t, $f)
        }
    };
}

macro_rules! operations {
    ($t:ty, $i:expr, $packed:expr) => {
        match &*$i.opcode {
            "add" => half2!($t, $packed, |a, b| Half::near(a.wide() + b.wide())),
            "sub" => half2!($t, $packed, |a, b| Half::near(a.wide() - b.wide())),
            "mul" => half2!($t, $packed, |a, b| Half::near(a.wide() * b.wide())),
            "fma" if $i.has("relu") => half3!($t, $packed, |a, b, c| {
                let v = fused(a, b, c);
                if v.wide() < 0.0 { Half::near(0.0) } else { v }
            }),
            "fma" => half3!($t, $packed, fused),
            "min" if $i.has("xorsign") => half2!($t, $packed, |a, b| xor_sign(a, b, min32)),
            "max" if $i.has("xorsign") => half2!($t, $packed, |a, b| xor_sign(a, b, max32)),
            "min" if $i.has("NaN") => half2!($t, $packed, |a, b| ordered_pick(a, b, min32)),
            "max" if $i.has("NaN") => half2!($t, $packed, |a, b| ordered_pick(a, b, max32)),
            "min" => half2!($t, $packed, |a, b| Half::near(min32(a.wide(), b.wide()))),
            "max" => half2!($t, $packed, |a, b| Half::near(max32(a.wide(), b.wide()))),
            "abs" => half1!($t, $packed, |a| Half::near(a.wide().abs())),
            "neg" => half1!($t, $packed, |a| Half::near(-a.wide())),
            "ex2" => half1!($t, $packed, |a| Half::near(a.wide().exp2())),
            "tanh" => half1!($t, $packed, |a| Half::near(a.wide().tanh())),
            _ => return Err("not an instruction on 16-bit floats".into()),
        }
    };
}

impl Lower<'_> {
    pub(super) fn half(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
        let f: Alu = if matches!(ty, Type::F16 | Type::F16x2) {
            operations!(f16, i, packed)
        } else {
            operations!(bf16, i, packed)
        };
        let ftz = i.has("ftz");
        if ftz && matches!(ty, Type::Bf16 | Type::Bf16x2) || i.operands.len() > 4 {
            return Err(UNKNOWN.into());
        }
        let flush: Alu = half1!(f16, packed, flushed);
        let d = self.dst(operand(i, 0)?, ty)?;
        let mut slots = vec![d];
        for o in &i.operands[1..] {
            let mut slot = self.src(o, ty)?;
            if ftz {
                let t = self.register(Class::Word);
                self.alu(flush, &[t, slot]);
                slot = t;
            }
            slots.push(slot);
        }
        self.alu(f, &slots);
        if ftz {
            self.alu(flush, &[d, d]);
        }
        if i.has("sat") {
            let clamp: Alu = match ty {
                Type::F16 | Type::F16x2 => half1!(f16, packed, |a| Half::near(saturate(a.wide()))),
                _ => half1!(bf16, packed, |a| Half::near(saturate(a.wide()))),
            };
            self.alu(clamp, &[d, d]);
        }
        Ok(())
    }
}

use crate::exec::rounding::saturate;

/// The smaller number; a NaN loses, minus zero is below zero.
pub(super) fn min32(a: f32, b: f32) -> f32 {
    if a.is_nan() || b < a || (a == b && b.is_sign_negative()) { b } else { a }
}

/// The larger number; a NaN loses, minus zero is below zero.
pub(super) fn max32(a: f32, b: f32) -> f32 {
    if a.is_nan() || b > a || (a == b && a.is_sign_negative()) { b } else { a }
}

/// NaN if one of two numbers is, else `v`.
pub(super) fn ordered(a: f32, b: f32, v: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { v }
}
