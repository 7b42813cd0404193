//! Comparisons: `setp` and `set`.

use half::{bf16, f16};

use super::integer::operand;
use super::logic::{pred_and, pred_or, pred_xor};
use super::{Failure, Lower};
use crate::exec::file::{Alu, Class, Slot};
use crate::ptx::{Instruction, Operand, Type};

macro_rules! int_compare {
    ($op:expr, $t:ty) => {
        match $op {
            "eq" => cmp!($t, |a, b| a == b),
            "ne" => cmp!($t, |a, b| a != b),
            "lt" | "lo" => cmp!($t, |a, b| a < b),
            "le" | "ls" => cmp!($t, |a, b| a <= b),
            "gt" | "hi" => cmp!($t, |a, b| a > b),
            "ge" | "hs" => cmp!($t, |a, b| a >= b),
            _ => return Err(format!("{} compares no integers", $op)),
        }
    };
}

macro_rules! float_compare {
    ($op:expr, $t:ty, $wide:expr) => {
        match $op {
            "eq" => cmp!($t, |a, b| $wide(a) == $wide(b)),
            "ne" => cmp!($t, |a, b| $wide(a) < $wide(b) || $wide(a) > $wide(b)),
            "lt" => cmp!($t, |a, b| $wide(a) < $wide(b)),
            "le" => cmp!($t, |a, b| $wide(a) <= $wide(b)),
            "gt" => cmp!($t, |a, b| $wide(a) > $wide(b)),
            "ge" => cmp!($t, |a, b| $wide(a) >= $wide(b)),
            // The unordered ones also hold when an operand is not a number.
            "equ" => cmp!($t, |a, b| !($wide(a) < $wide(b) || $wide(a) > $wide(b))),
            "neu" => cmp!($t, |a, b| $wide(a) != $wide(b)),
            "ltu" => cmp!($t, |a, b| !($wide(a) >= $wide(b))),
            "leu" => cmp!($t, |a, b| !($wide(a) > $wide(b))),
            "gtu" => cmp!($t, |a, b| !($wide(a) <= $wide(b))),
            "geu" => cmp!($t, |a, b| !($wide(a) < $wide(b))),
            "num" => cmp!($t, |a, b| !$wide(a).is_nan() && !$wide(b).is_nan()),
            "nan" => cmp!($t, |a, b| $wide(a).is_nan() || $wide(b).is_nan()),
            _ => return Err(format!("{} compares no floating-point numbers", $op)),
        }
    };
}

#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "unordered comparisons hold for NaN")]
fn comparison(op: &str, ty: Type) -> Result<Alu, Failure> {
    Ok(match ty {
        Type::U16 | Type::B16 => int_compare!(op, u16),
        Type::S16 => int_compare!(op, i16),
        Type::U32 | Type::B32 => int_compare!(op, u32),
        Type::S32 => int_compare!(op, i32),
        Type::U64 | Type::B64 => int_compare!(op, u64),
        Type::S64 => int_compare!(op, i64),
        Type::F32 => float_compare!(op, f32, f32::from),
        Type::F64 => float_compare!(op, f64, f64::from),
        Type::F16 => float_compare!(op, f16, f16::to_f32),
        Type::Bf16 => float_compare!(op, bf16, bf16::to_f32),
        _ => return Err("this type is not compared".into()),
    })
}

impl Lower<'_> {
    pub(super) fn setp(&mut self, i: &Instruction) -> Result<(), Failure> {
        let op = i.modifiers.first().ok_or("no comparison")?;
        let ty = i.types().last().ok_or("no type")?;
        if matches!(ty, Type::F16x2 | Type::Bf16x2) {
            return self.setp_packed(i, op, ty);
        }
        let f = comparison(op, ty)?;
        let mut a = self.src(operand(i, 1)?, ty)?;
        let mut b = self.src(operand(i, 2)?, ty)?;
        if i.has("ftz") && ty == Type::F32 {
            (a, b) = (self.flushed(a), self.flushed(b));
        }
        let first = operand(i, 0)?;
        let combined = i.operands.len() > 3;
        if let ("setp", false, Operand::Name(_)) = (&*i.opcode, combined, first) {
            let p = self.dst(first, Type::Pred)?;
            self.alu(f, &[p, a, b]);
            return Ok(());
        }
        let t = self.register(Class::Pred);
        self.alu(f, &[t, a, b]);
        if &*i.opcode == "set" {
            let t = self.combine(i, t)?;
            return self.set_value(i, t);
        }
        let (p, q) = match first {
            Operand::Pair(p, q) => (&**p, Some(&**q)),
            _ => (first, None),
        };
        // Both results are computed before either is written: the third operand may be one of them.
        let opposite = self.inverted(t);
        let (t, opposite) = (self.combine(i, t)?, self.combine(i, opposite)?);
        let p = self.dst(p, Type::Pred)?;
        self.alu(pred_or, &[p, t, t]);
        if let Some(q) = q {
            let q = self.dst(q, Type::Pred)?;
            self.alu(pred_or, &[q, opposite, opposite]);
        }
        Ok(())
    }

    /// Combines a comparison's result with the predicate operand, if there is one.
    fn combine(&mut self, i: &Instruction, t: Slot) -> Result<Slot, Failure> {
        let Some(c) = i.operands.get(3) else { return Ok(t) };
        let c = self.truth(c)?;
        let f: Alu = i.one_of(&[("and", pred_and as Alu), ("or", pred_or)]).unwrap_or(pred_xor);
        let d = self.register(Class::Pred);
        self.alu(f, &[d, t, c]);
        Ok(d)
    }

    /// `set` writes all ones, or 1.0, if the comparison holds.
    fn set_value(&mut self, i: &Instruction, t: Slot) -> Result<(), Failure> {
        let ty = i.types().next().ok_or("no type")?;
        let d = self.dst(operand(i, 0)?, ty)?;
        let yes = match ty {
            Type::F32 => self.word(1f32.to_bits()),
            Type::U32 | Type::S32 => self.word(u32::MAX),
            Type::U16 | Type::S16 => self.word(0xFFFF),
            Type::F16 => self.word(0x3C00),
            Type::Bf16 => self.word(0x3F80),
            _ => return Err("this type does not fit the instruction".into()),
        };
        let no = self.word(0);
        self.alu(choose!(u32), &[d, yes, no, t]);
        Ok(())
    }

    /// Two comparisons at once, one for each half.
    fn setp_packed(&mut self, i: &Instruction, op: &str, ty: Type) -> Result<(), Failure> {
        let one = if ty == Type::F16x2 { Type::F16 } else { Type::Bf16 };
        let f = comparison(op, one)?;
        let a = self.src(operand(i, 1)?, ty)?;
        let b = self.src(operand(i, 2)?, ty)?;
        let low = self.register(Class::Pred);
        self.alu(f, &[low, a, b]);
        let (ah, bh) = (self.register(Class::Word), self.register(Class::Word));
        self.alu(op1!(u32 => u32, |v| v >> 16), &[ah, a]);
        self.alu(op1!(u32 => u32, |v| v >> 16), &[bh, b]);
        let high = self.register(Class::Pred);
        self.alu(f, &[high, ah, bh]);
        let (low, high) = (self.combine(i, low)?, self.combine(i, high)?);
        match (&*i.opcode, operand(i, 0)?) {
            ("setp", Operand::Pair(p, q)) => {
                let (p, q) = (self.dst(p, Type::Pred)?, self.dst(q, Type::Pred)?);
                self.alu(pred_or, &[p, low, low]);
                self.alu(pred_or, &[q, high, high]);
                Ok(())
            }
            ("set", d) => {
                let one = match i.types().next() {
                    Some(Type::F16x2) => 0x3C00,
                    Some(Type::Bf16x2) => 0x3F80,
                    _ => 0xFFFF,
                };
                let d = self.dst(d, Type::B32)?;
                let (l, h) = (self.register(Class::Word), self.register(Class::Word));
                let (yes, upper, no) = (self.word(one), self.word(one << 16), self.word(0));
                self.alu(choose!(u32), &[l, yes, no, low]);
                self.alu(choose!(u32), &[h, upper, no, high]);
                self.alu(op2!(u32, u32 => u32, |a, b| a | b), &[d, l, h]);
                Ok(())
            }
            _ => Err("two predicates are needed".into()),
        }
    }
}
