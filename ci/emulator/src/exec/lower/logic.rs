//! Bits: logic, shifts, fields, permutations, selections.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the instructions are defined on bits"
)]

use super::integer::operand;
use super::{Failure, Lower};
use crate::exec::file::{Alu, Class, File, Slots};
use crate::ptx::{Instruction, Operand, Type};

impl Lower<'_> {
    pub(super) fn logic(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        if ty == Type::Pred {
            return self.predicate_logic(i);
        }
        match &*i.opcode {
            "lop3" => return self.lop3(i),
            "popc" | "clz" | "bfind" => return self.count(i, ty),
            "shl" | "shr" => return self.shift(i, ty),
            _ => {}
        }
        let f: Alu = match &*i.opcode {
            "and" => by_width!(ty, T => op2!(T, T => T, |a, b| a & b)),
            "or" => by_width!(ty, T => op2!(T, T => T, |a, b| a | b)),
            "xor" => by_width!(ty, T => op2!(T, T => T, |a, b| a ^ b)),
            "not" => by_width!(ty, T => op1!(T => T, |a| !a)),
            "cnot" => by_width!(ty, T => op1!(T => T, |a| T::from(a == 0))),
            "brev" if ty.size() == 8 => op1!(u64 => u64, u64::reverse_bits),
            "brev" => op1!(u32 => u32, u32::reverse_bits),
            "shf" => return self.funnel(i),
            "bfe" => return self.extract(i, ty),
            "bfi" => return self.insert(i, ty),
            "prmt" => return self.permute(i),
            "fns" => return self.find_nth(i),
            "bmsk" if i.has("wrap") => {
                op2!(u32, u32 => u32, |a, b| mask_of(b & 31).wrapping_shl(a & 31))
            }
            "bmsk" => {
                op2!(u32, u32 => u32, |a, b| mask_of(b.min(32)).checked_shl(a).unwrap_or(0))
            }
            "szext" => match (ty.is_signed(), i.has("wrap")) {
                (false, false) => op2!(u32, u32 => u32, |a, b| a & mask_of(b.min(32))),
                (false, true) => op2!(u32, u32 => u32, |a, b| a & mask_of(b & 31)),
                (true, false) => op2!(i32, u32 => i32, |a, b| sign_from(a, b.min(32))),
                (true, true) => op2!(i32, u32 => i32, |a, b| sign_from(a, b & 31)),
            },
            _ => return Err("not an instruction on bits".into()),
        };
        self.uniform(i, f, ty).map(drop)
    }

    fn predicate_logic(&mut self, i: &Instruction) -> Result<(), Failure> {
        let d = self.dst(operand(i, 0)?, Type::Pred)?;
        let a = self.truth(operand(i, 1)?)?;
        if &*i.opcode == "not" {
            self.alu(pred_not, &[d, a]);
            return Ok(());
        }
        let b = self.truth(operand(i, 2)?)?;
        let f: Alu = match &*i.opcode {
            "and" => pred_and,
            "or" => pred_or,
            "xor" => pred_xor,
            _ => return Err("not an instruction on predicates".into()),
        };
        self.alu(f, &[d, a, b]);
        Ok(())
    }

    /// The opposite of a predicate, in a new one.
    pub(super) fn inverted(&mut self, slot: u32) -> u32 {
        let d = self.register(Class::Pred);
        self.alu(pred_not, &[d, slot]);
        d
    }

    fn shift(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [d, a, b] = self.registers(i, [ty, ty, Type::U32])?;
        // Shifts by the width or more give zero, or the sign.
        let f: Alu = match (&*i.opcode, ty) {
            ("shl", _) => by_width!(ty, T => op2!(T, u32 => T, |a, b| if b < T::BITS { a << b } else { 0 })),
            (_, Type::S16) => op2!(i16, u32 => i16, |a, b| a >> b.min(15)),
            (_, Type::S32) => op2!(i32, u32 => i32, |a, b| a >> b.min(31)),
            (_, Type::S64) => op2!(i64, u32 => i64, |a, b| a >> b.min(63)),
            _ => by_width!(ty, T => op2!(T, u32 => T, |a, b| if b < T::BITS { a >> b } else { 0 })),
        };
        self.alu(f, &[d, a, b]);
        Ok(())
    }

    fn count(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [d, a] = self.registers(i, [Type::U32, ty])?;
        let shift = i.has("shiftamt");
        let f: Alu = match (&*i.opcode, ty) {
            ("popc", Type::B64) => op1!(u64 => u32, u64::count_ones),
            ("popc", _) => op1!(u32 => u32, u32::count_ones),
            ("clz", Type::B64) => op1!(u64 => u32, u64::leading_zeros),
            ("clz", _) => op1!(u32 => u32, u32::leading_zeros),
            (_, Type::U32) if shift => {
                op1!(u32 => u32, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
            }
            (_, Type::U32) => op1!(u32 => u32, |a| a.checked_ilog2().unwrap_or(u32::MAX)),
            (_, Type::U64) if shift => {
                op1!(u64 => u32, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })
            }
            (_, Type::U64) => op1!(u64 => u32, |a| a.checked_ilog2().unwrap_or(u32::MAX)),
            // Of signed numbers, the highest bit that differs from the sign.
            (_, Type::S32) if shift => op1!(i32 => u32, |a| {
                let v = a ^ a >> 31;
                if v == 0 { u32::MAX } else { v.leading_zeros() }
            }),
            (_, Type::S32) => {
                op1!(i32 => u32, |a| ((a ^ a >> 31) as u32).checked_ilog2().unwrap_or(u32::MAX))
            }
            (_, Type::S64) if shift => op1!(i64 => u32, |a| {
                let v = a ^ a >> 63;
                if v == 0 { u32::MAX } else { v.leading_zeros() }
            }),
            (_, Type::S64) => {
                op1!(i64 => u32, |a| ((a ^ a >> 63) as u64).checked_ilog2().unwrap_or(u32::MAX))
            }
            _ => return Err("this type does not fit the instruction".into()),
        };
        self.alu(f, &[d, a]);
        Ok(())
    }

    fn funnel(&mut self, i: &Instruction) -> Result<(), Failure> {
        let [d, a, b, c] = self.registers(i, [Type::B32, Type::B32, Type::B32, Type::U32])?;
        fn both(a: u32, b: u32) -> u64 {
            u64::from(b) << 32 | u64::from(a)
        }
        let f: Alu = match (i.has("l"), i.has("wrap")) {
            (true, true) => op3!(u32, u32, u32 => u32, |a, b, c| (both(a, b) << (c & 31) >> 32) as u32),
            (true, false) => op3!(u32, u32, u32 => u32, |a, b, c| (both(a, b) << c.min(32) >> 32) as u32),
            (false, true) => op3!(u32, u32, u32 => u32, |a, b, c| (both(a, b) >> (c & 31)) as u32),
            (false, false) => op3!(u32, u32, u32 => u32, |a, b, c| (both(a, b) >> c.min(32)) as u32),
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }

    fn extract(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [d, a, b, c] = self.registers(i, [ty, ty, Type::U32, Type::U32])?;
        let f: Alu = match ty {
            Type::U32 => {
                slow!(u32, u32, u32 => u32, |a, b, c| field(u64::from(a), b, c, 32, false) as u32)
            }
            Type::S32 => slow!(u32, u32, u32 => u32, |a, b, c| field(u64::from(a), b, c, 32, true) as u32),
            Type::U64 => slow!(u64, u32, u32 => u64, |a, b, c| field(a, b, c, 64, false)),
            Type::S64 => slow!(u64, u32, u32 => u64, |a, b, c| field(a, b, c, 64, true)),
            _ => return Err("this type does not fit the instruction".into()),
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }

    fn insert(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [d, a, b, c, e] = self.registers(i, [ty, ty, ty, Type::U32, Type::U32])?;
        fn put(a: u64, b: u64, at: u32, len: u32, bits: u32) -> u64 {
            let (at, len) = (at & 255, len & 255);
            if at >= bits || len == 0 {
                return b;
            }
            let mask = (if len >= 64 { u64::MAX } else { (1 << len) - 1 }) << at;
            b & !mask | a << at & mask
        }
        let f: Alu = match ty.size() {
            4 => slow!(u32, u32, u32, u32 => u32,
                |a, b, c, e| put(u64::from(a), u64::from(b), c, e, 32) as u32),
            8 => slow!(u64, u64, u32, u32 => u64, |a, b, c, e| put(a, b, c, e, 64)),
            _ => return Err("this type does not fit the instruction".into()),
        };
        self.alu(f, &[d, a, b, c, e]);
        Ok(())
    }

    fn permute(&mut self, i: &Instruction) -> Result<(), Failure> {
        let [d, a, b, c] = self.registers(i, [Type::B32, Type::B32, Type::B32, Type::B32])?;
        fn bytes(a: u32, b: u32, which: [u32; 4]) -> u32 {
            let all = u64::from(b) << 32 | u64::from(a);
            which.iter().rev().fold(0, |d, &n| d << 8 | (all >> (8 * n)) as u32 & 0xFF)
        }
        fn plain(a: u32, b: u32, c: u32) -> u32 {
            let all = u64::from(b) << 32 | u64::from(a);
            (0..4).fold(0, |d, n| {
                let sel = c >> (4 * n);
                let byte = (all >> (8 * (sel & 7))) as u8;
                let byte = if sel & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
                d | u32::from(byte) << (8 * n)
            })
        }
        macro_rules! pick {
            ($n:ident => $which:expr) => {
                slow!(u32, u32, u32 => u32, |a, b, c| {
                    let $n = c & 3;
                    bytes(a, b, $which)
                })
            };
        }
        let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
        let f: Alu = match modes.into_iter().find(|mode| i.has(mode)) {
            Some("f4e") => pick!(n => [n, n + 1, n + 2, n + 3]),
            Some("b4e") => pick!(n => [n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7]),
            Some("rc8") => pick!(n => [n; 4]),
            Some("ecl") => pick!(n => [n, 1.max(n), 2.max(n), 3]),
            Some("ecr") => pick!(n => [0, 1.min(n), 2.min(n), 3.min(n)]),
            Some(_) => pick!(n => [2 * (n & 1), 2 * (n & 1) + 1, 2 * (n & 1), 2 * (n & 1) + 1]),
            None => slow!(u32, u32, u32 => u32, plain),
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }

    fn find_nth(&mut self, i: &Instruction) -> Result<(), Failure> {
        let [d, a, b, c] = self.registers(i, [Type::B32, Type::B32, Type::B32, Type::S32])?;
        let f = slow!(u32, u32, i32 => u32, |mask, base, offset| {
            let base = base & 31;
            if offset == 0 {
                return if mask >> base & 1 != 0 { base } else { u32::MAX };
            }
            let mut left = offset.unsigned_abs();
            let mut at = base as i32;
            loop {
                if (0..32).contains(&at) && mask >> at & 1 != 0 {
                    left -= 1;
                    if left == 0 {
                        return at as u32;
                    }
                }
                at += offset.signum();
                if !(0..32).contains(&at) {
                    return u32::MAX;
                }
            }
        });
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }

    fn lop3(&mut self, i: &Instruction) -> Result<(), Failure> {
        let first = operand(i, 0)?;
        // `lop3.or.b32 d|p, a, b, c, table, q` also sets a predicate.
        let (d, p) = match first {
            Operand::Pair(d, p) => (&**d, Some(&**p)),
            _ => (first, None),
        };
        let d = self.dst(d, Type::B32)?;
        let a = self.src(operand(i, 1)?, Type::B32)?;
        let b = self.src(operand(i, 2)?, Type::B32)?;
        let c = self.src(operand(i, 3)?, Type::B32)?;
        let &Operand::Int(table) = operand(i, 4)? else { return Err("the table is no constant".into()) };
        let f: Alu = match table & 0xFF {
            0x80 => op3!(u32, u32, u32 => u32, |a, b, c| a & b & c),
            0xFE => op3!(u32, u32, u32 => u32, |a, b, c| a | b | c),
            0x96 => op3!(u32, u32, u32 => u32, |a, b, c| a ^ b ^ c),
            0xE8 => op3!(u32, u32, u32 => u32, |a, b, c| a & b | a & c | b & c),
            0xCA => op3!(u32, u32, u32 => u32, |a, b, c| a & b | !a & c),
            _ => slow!(u32, u32, u32, u32 => u32, |a, b, c, t| {
                (0..8).fold(0, |d, n| {
                    let pick = |v: u32, bit: u32| if n & bit != 0 { v } else { !v };
                    if t >> n & 1 != 0 { d | pick(a, 4) & pick(b, 2) & pick(c, 1) } else { d }
                })
            }),
        };
        let table = self.word((table & 0xFF) as u32);
        self.alu(f, &[d, a, b, c, table]);
        if let Some(p) = p {
            let p = self.dst(p, Type::Pred)?;
            let t = self.register(Class::Pred);
            self.alu(lanes!(test::<u32>, |v| v != 0), &[t, d]);
            let q = self.truth(operand(i, 5)?)?;
            self.alu(if i.has("and") { pred_and } else { pred_or }, &[p, t, q]);
        }
        Ok(())
    }

    /// `selp` chooses by a predicate, `slct` by the sign of a number.
    pub(super) fn select(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().next().ok_or("no type")?;
        let [d, a, b] = self.registers(i, [ty, ty, ty])?;
        let p = if &*i.opcode == "selp" {
            self.truth(operand(i, 3)?)?
        } else {
            let by = i.types().nth(1).ok_or("no second type")?;
            let c = self.src(operand(i, 3)?, by)?;
            let p = self.register(Class::Pred);
            match by {
                Type::F32 => self.alu(lanes!(test::<f32>, |v| v >= 0.0), &[p, c]),
                _ => self.alu(lanes!(test::<i32>, |v| v >= 0), &[p, c]),
            }
            p
        };
        let f: Alu = if ty.size() == 8 { choose!(u64) } else { choose!(u32) };
        self.alu(f, &[d, a, b, p]);
        Ok(())
    }
}

fn mask_of(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

fn sign_from(v: i32, bits: u32) -> i32 {
    if bits == 0 { 0 } else { v << (32 - bits) >> (32 - bits) }
}

/// The bits of `a` from `at` on, `len` of them.
fn field(a: u64, at: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let (at, len) = (at & 255, len & 255);
    if len == 0 {
        return 0;
    }
    let top = (at + len - 1).min(bits - 1);
    let fill = if signed && a >> top & 1 != 0 { u64::MAX } else { 0 };
    if at >= bits {
        return fill;
    }
    let have = top - at + 1;
    let low = if have >= 64 { u64::MAX } else { (1 << have) - 1 };
    a >> at & low | fill & !low
}

pub(super) fn pred_not(f: &mut File, s: &Slots, mask: u32) {
    f.set_pred(s[0], !f.pred(s[1]), mask);
}

macro_rules! predicates {
    ($($name:ident $op:tt;)*) => {$(
        pub(super) fn $name(f: &mut File, s: &Slots, mask: u32) {
            f.set_pred(s[0], f.pred(s[1]) $op f.pred(s[2]), mask);
        }
    )*};
}
predicates! {
    pred_and &;
    pred_or |;
    pred_xor ^;
}
