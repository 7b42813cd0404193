//! Floating-point arithmetic in 32 and 64 bits.

#![expect(clippy::cast_possible_truncation, reason = "approximations are computed wide and narrowed")]

use half::{bf16, f16};

use super::half::{Half, max32, min32, ordered};
use super::integer::operand;
use super::{Failure, Lower};
use crate::exec::file::{Alu, Class, Slot};
use crate::exec::rounding::{
    Rounding, add32, add64, div32, div64, flush, fma32, fma64, mul32, mul64, saturate, seal, sqrt32, sqrt64,
};
use crate::ptx::{Instruction, Type};

/// One expression for each rounding mode: `M` stands for the mode in it.
macro_rules! by_mode {
    ($mode:expr, $nearest:expr, $m:ident => $body:expr) => {
        match $mode {
            Rounding::Nearest => $nearest,
            Rounding::Zero => with_mode!($m, Zero, $body),
            Rounding::Down => with_mode!($m, Down, $body),
            Rounding::Up => with_mode!($m, Up, $body),
        }
    };
}

/// The rounding mode among an instruction's modifiers.
pub(super) fn rounding(i: &Instruction) -> Rounding {
    for m in &i.modifiers {
        match &**m {
            "rz" => return Rounding::Zero,
            "rm" => return Rounding::Down,
            "rp" => return Rounding::Up,
            _ => {}
        }
    }
    Rounding::Nearest
}

impl Lower<'_> {
    pub(super) fn float(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        if matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) {
            return self.half(i, ty);
        }
        if i.has("f32x2") {
            return Err("packed 32-bit arithmetic is not known to the emulator".into());
        }
        if &*i.opcode == "testp" {
            return self.test_number(i, ty);
        }
        let f = if ty == Type::F32 { operation32(i)? } else { operation64(i)? };
        let d = self.dst(operand(i, 0)?, ty)?;
        let mut slots = vec![d];
        for o in &i.operands[1..] {
            let slot = self.src(o, ty)?;
            slots.push(slot);
        }
        let ftz = i.has("ftz") && ty == Type::F32;
        if ftz {
            for slot in &mut slots[1..] {
                *slot = self.flushed(*slot);
            }
        }
        self.alu(f, &slots);
        if ftz {
            self.alu(op1!(f32 => f32, flush), &[d, d]);
        }
        if i.has("sat") {
            self.saturated(d, ty);
        }
        Ok(())
    }

    /// A number of 32 bits without what is too small to be normal.
    pub(super) fn flushed(&mut self, slot: Slot) -> Slot {
        let t = self.register(Class::Word);
        self.alu(op1!(f32 => f32, flush), &[t, slot]);
        t
    }

    pub(super) fn saturated(&mut self, d: Slot, ty: Type) {
        let f: Alu = match ty {
            Type::F64 => op1!(f64 => f64, |v| if v > 0.0 { v.min(1.0) } else { 0.0 }),
            Type::F16 => slow!(f16 => f16, |v| Half::near(saturate(v.to_f32()))),
            Type::Bf16 => slow!(bf16 => bf16, |v| Half::near(saturate(v.to_f32()))),
            _ => op1!(f32 => f32, saturate),
        };
        self.alu(f, &[d, d]);
    }

    fn test_number(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [p, a] = self.registers(i, [Type::Pred, ty])?;
        macro_rules! pick {
            ($t:ty) => {
                match i.modifiers.first().map(|m| &**m) {
                    Some("finite") => lanes!(test::<$t>, <$t>::is_finite),
                    Some("infinite") => lanes!(test::<$t>, <$t>::is_infinite),
                    Some("number") => lanes!(test::<$t>, |v| !v.is_nan()),
                    Some("notanumber") => lanes!(test::<$t>, <$t>::is_nan),
                    // Zero is a normal number here.
                    Some("normal") => lanes!(test::<$t>, |v| v.is_finite() && !v.is_subnormal()),
                    Some("subnormal") => lanes!(test::<$t>, <$t>::is_subnormal),
                    _ => return Err("an unknown test".into()),
                }
            };
        }
        let f: Alu = if ty == Type::F32 { pick!(f32) } else { pick!(f64) };
        self.alu(f, &[p, a]);
        Ok(())
    }
}

/// `min` or `max` of 32 bits.
macro_rules! extreme32 {
    ($i:ident, $pick:ident) => {
        match ($i.has("xorsign"), $i.has("NaN")) {
            (true, true) => op2!(f32, f32 => u32, |a, b| xor_sign(a, b, ordered(a, b, $pick(a.abs(), b.abs())))),
            (true, false) => op2!(f32, f32 => u32, |a, b| xor_sign(a, b, $pick(a.abs(), b.abs()))),
            (false, true) => op2!(f32, f32 => u32, |a, b| seal(ordered(a, b, $pick(a, b)))),
            (false, false) => op2!(f32, f32 => u32, |a, b| seal($pick(a, b))),
        }
    };
}

fn operation32(i: &Instruction) -> Result<Alu, Failure> {
    let mode = rounding(i);
    Ok(match &*i.opcode {
        "add" => by_mode!(mode, op2!(f32, f32 => u32, |a, b| seal(a + b)),
            M => slow!(f32, f32 => u32, |a, b| seal(add32(a, b, M)))),
        "sub" => by_mode!(mode, op2!(f32, f32 => u32, |a, b| seal(a - b)),
            M => slow!(f32, f32 => u32, |a, b| seal(add32(a, -b, M)))),
        "mul" => by_mode!(mode, op2!(f32, f32 => u32, |a, b| seal(a * b)),
            M => slow!(f32, f32 => u32, |a, b| seal(mul32(a, b, M)))),
        "fma" | "mad" => by_mode!(mode, op3!(f32, f32, f32 => u32, |a, b, c| seal(a.mul_add(b, c))),
            M => slow!(f32, f32, f32 => u32, |a, b, c| seal(fma32(a, b, c, M)))),
        "div" => by_mode!(mode, op2!(f32, f32 => u32, |a, b| seal(a / b)),
            M => slow!(f32, f32 => u32, |a, b| seal(div32(a, b, M)))),
        "rcp" => by_mode!(mode, op1!(f32 => u32, |a| seal(1.0 / a)),
            M => slow!(f32 => u32, |a| seal(div32(1.0, a, M)))),
        "sqrt" => by_mode!(mode, op1!(f32 => u32, |a| seal(a.sqrt())),
            M => slow!(f32 => u32, |a| seal(sqrt32(a, M)))),
        "rsqrt" => op1!(f32 => u32, |a| seal((1.0 / f64::from(a).sqrt()) as f32)),
        "ex2" => slow!(f32 => u32, |a| seal(f64::from(a).exp2() as f32)),
        "lg2" => slow!(f32 => u32, |a| seal(f64::from(a).log2() as f32)),
        "sin" => slow!(f32 => u32, |a| seal(f64::from(a).sin() as f32)),
        "cos" => slow!(f32 => u32, |a| seal(f64::from(a).cos() as f32)),
        "tanh" => slow!(f32 => u32, |a| seal(f64::from(a).tanh() as f32)),
        "abs" => op1!(f32 => u32, |a| seal(a.abs())),
        "neg" => op1!(f32 => u32, |a| seal(-a)),
        "copysign" => op2!(f32, f32 => f32, |a, b| b.copysign(a)),
        "min" | "max" if i.operands.len() != 3 => {
            return Err("three operands are not known to the emulator".into());
        }
        "min" => extreme32!(i, min32),
        "max" => extreme32!(i, max32),
        _ => return Err("not an instruction on 32-bit floats".into()),
    })
}

fn operation64(i: &Instruction) -> Result<Alu, Failure> {
    let mode = rounding(i);
    Ok(match &*i.opcode {
        "add" => by_mode!(mode, op2!(f64, f64 => f64, |a, b| a + b),
            M => slow!(f64, f64 => f64, |a, b| add64(a, b, M))),
        "sub" => by_mode!(mode, op2!(f64, f64 => f64, |a, b| a - b),
            M => slow!(f64, f64 => f64, |a, b| add64(a, -b, M))),
        "mul" => by_mode!(mode, op2!(f64, f64 => f64, |a, b| a * b),
            M => slow!(f64, f64 => f64, |a, b| mul64(a, b, M))),
        "fma" | "mad" => by_mode!(mode, op3!(f64, f64, f64 => f64, f64::mul_add),
            M => slow!(f64, f64, f64 => f64, |a, b, c| fma64(a, b, c, M))),
        "div" => by_mode!(mode, op2!(f64, f64 => f64, |a, b| a / b),
            M => slow!(f64, f64 => f64, |a, b| div64(a, b, M))),
        "rcp" => by_mode!(mode, op1!(f64 => f64, |a| 1.0 / a),
            M => slow!(f64 => f64, |a| div64(1.0, a, M))),
        "sqrt" => by_mode!(mode, op1!(f64 => f64, f64::sqrt),
            M => slow!(f64 => f64, |a| sqrt64(a, M))),
        "rsqrt" => op1!(f64 => f64, |a| 1.0 / a.sqrt()),
        "abs" => op1!(f64 => f64, f64::abs),
        "neg" => op1!(f64 => f64, |a| -a),
        "copysign" => op2!(f64, f64 => f64, |a, b| b.copysign(a)),
        "min" => op2!(f64, f64 => f64, |a, b| {
            if a.is_nan() || b < a || (a == b && b.is_sign_negative()) { b } else { a }
        }),
        "max" => op2!(f64, f64 => f64, |a, b| {
            if a.is_nan() || b > a || (a == b && a.is_sign_negative()) { b } else { a }
        }),
        _ => return Err("not an instruction on 64-bit floats".into()),
    })
}

/// A magnitude with the sign of the product of two numbers. NaN has no sign.
fn xor_sign(a: f32, b: f32, v: f32) -> u32 {
    if v.is_nan() { seal(v) } else { v.to_bits() & 0x7FFF_FFFF | (a.to_bits() ^ b.to_bits()) & 0x8000_0000 }
}
