//! Integer arithmetic.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the instructions are defined on the low bits"
)]

use super::{Failure, Lower, UNKNOWN};
use crate::exec::file::{Alu, carry2};
use crate::ptx::{Instruction, Type};

/// The value with every bit set, which the device gives for a division by zero.
macro_rules! ones {
    ($t:ty) => {
        !(0 as $t)
    };
}

impl Lower<'_> {
    pub(super) fn integer(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        if matches!(&*i.opcode, "addc" | "subc" | "madc") || i.has("cc") {
            return self.carried(i, ty);
        }
        match &*i.opcode {
            "mul" | "mad" if i.has("wide") => return self.wide_product(i, ty),
            "mad" | "mad24" | "sad" => return self.three(i, ty),
            "dp4a" | "dp2a" => return self.dot(i),
            _ => {}
        }
        let f: Alu = match &*i.opcode {
            "add" if i.has("sat") => op2!(i32, i32 => i32, i32::saturating_add),
            "sub" if i.has("sat") => op2!(i32, i32 => i32, i32::saturating_sub),
            "add" => by_width!(ty, T => op2!(T, T => T, T::wrapping_add)),
            "sub" => by_width!(ty, T => op2!(T, T => T, T::wrapping_sub)),
            "mul" if i.has("hi") => high(ty)?,
            "mul" => by_width!(ty, T => op2!(T, T => T, T::wrapping_mul)),
            "mul24" if i.has("hi") => match ty {
                Type::S32 => op2!(i32, i32 => i32, |a, b| ((sign24(a) * sign24(b)) >> 16) as i32),
                _ => op2!(u32, u32 => u32, |a, b| ((low24(a) * low24(b)) >> 16) as u32),
            },
            "mul24" => match ty {
                Type::S32 => op2!(i32, i32 => i32, |a, b| (sign24(a) * sign24(b)) as i32),
                _ => op2!(u32, u32 => u32, |a, b| (low24(a) * low24(b)) as u32),
            },
            "div" => {
                by_int!(ty, T => slow!(T, T => T, |a, b| if b == 0 { ones!(T) } else { a.wrapping_div(b) }))
            }
            "rem" => {
                by_int!(ty, T => slow!(T, T => T, |a, b| if b == 0 { ones!(T) } else { a.wrapping_rem(b) }))
            }
            "min" => by_int!(ty, T => op2!(T, T => T, Ord::min)),
            "max" => by_int!(ty, T => op2!(T, T => T, Ord::max)),
            "abs" => match ty {
                Type::S16 => op1!(i16 => i16, i16::wrapping_abs),
                Type::S32 => op1!(i32 => i32, i32::wrapping_abs),
                _ => op1!(i64 => i64, i64::wrapping_abs),
            },
            "neg" => by_width!(ty, T => op1!(T => T, T::wrapping_neg)),
            _ => return Err("not an integer instruction".into()),
        };
        let d = self.uniform(i, f, ty)?;
        // `.relu` clamps at zero.
        if i.has("relu") {
            let zero = self.word(0);
            self.alu(op2!(i32, i32 => i32, Ord::max), &[d, d, zero]);
        }
        Ok(())
    }

    fn wide_product(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let (f, wide): (Alu, Type) = match ty {
            Type::U16 => (op2!(u16, u16 => u32, |a, b| u32::from(a) * u32::from(b)), Type::U32),
            Type::S16 => (op2!(i16, i16 => i32, |a, b| i32::from(a) * i32::from(b)), Type::S32),
            Type::U32 => (op2!(u32, u32 => u64, |a, b| u64::from(a) * u64::from(b)), Type::U64),
            Type::S32 => (op2!(i32, i32 => i64, |a, b| i64::from(a) * i64::from(b)), Type::S64),
            _ => return Err("this type does not fit the instruction".into()),
        };
        let [d, a, b] = self.registers(i, [wide, ty, ty])?;
        if &*i.opcode == "mul" {
            self.alu(f, &[d, a, b]);
            return Ok(());
        }
        let c = self.src(operand(i, 3)?, wide)?;
        let f: Alu = match ty {
            Type::U16 => op3!(u16, u16, u32 => u32, |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c)),
            Type::S16 => op3!(i16, i16, i32 => i32, |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c)),
            Type::U32 => op3!(u32, u32, u64 => u64, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c)),
            _ => op3!(i32, i32, i64 => i64, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c)),
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }

    fn three(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [d, a, b, c] = self.registers(i, [ty, ty, ty, ty])?;
        let f: Alu = match &*i.opcode {
            "sad" => by_int!(ty, T => op3!(T, T, T => T, |a, b, c| {
                let difference = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
                c.wrapping_add(difference)
            })),
            "mad" if i.has("hi") => {
                // The sum may saturate; both parts are cheap enough to be done one after the other.
                let product = self.register(crate::exec::file::Class::of(ty));
                self.alu(high(ty)?, &[product, a, b]);
                let add: Alu = if i.has("sat") {
                    op2!(i32, i32 => i32, i32::saturating_add)
                } else {
                    by_width!(ty, T => op2!(T, T => T, T::wrapping_add))
                };
                self.alu(add, &[d, product, c]);
                return Ok(());
            }
            "mad" => by_width!(ty, T => op3!(T, T, T => T, |a, b, c| a.wrapping_mul(b).wrapping_add(c))),
            _ => {
                let hi = i.has("hi");
                match (ty, hi) {
                    (Type::S32, false) => {
                        op3!(i32, i32, i32 => i32, |a, b, c| ((sign24(a) * sign24(b)) as i32).wrapping_add(c))
                    }
                    (Type::S32, true) if i.has("sat") => op3!(i32, i32, i32 => i32,
                        |a, b, c| (((sign24(a) * sign24(b)) >> 16) as i32).saturating_add(c)),
                    (Type::S32, true) => op3!(i32, i32, i32 => i32,
                        |a, b, c| (((sign24(a) * sign24(b)) >> 16) as i32).wrapping_add(c)),
                    (_, false) => {
                        op3!(u32, u32, u32 => u32, |a, b, c| ((low24(a) * low24(b)) as u32).wrapping_add(c))
                    }
                    (_, true) => op3!(u32, u32, u32 => u32,
                        |a, b, c| (((low24(a) * low24(b)) >> 16) as u32).wrapping_add(c)),
                }
            }
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }

    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`: sums with a carry from the last and for the
    /// next.
    fn carried(&mut self, i: &Instruction, ty: Type) -> Result<(), Failure> {
        let [d, mut a, mut b] = self.registers(i, [ty, ty, ty])?;
        let (sets, uses) = (i.has("cc"), i.opcode.ends_with('c'));
        let subtracts = i.opcode.starts_with("sub");
        if i.opcode.starts_with("mad") {
            let product = self.register(crate::exec::file::Class::of(ty));
            let f: Alu =
                if i.has("hi") { high(ty)? } else { by_width!(ty, T => op2!(T, T => T, T::wrapping_mul)) };
            self.alu(f, &[product, a, b]);
            a = product;
            b = self.src(operand(i, 3)?, ty)?;
        }
        macro_rules! sum {
            ($t:ty, $sub:literal, $uses:literal, $sets:literal) => {
                (|file: &mut _, s: &_, m: u32| {
                    carry2::<$t>(file, s, m, $sets, |a, b, carry| {
                        if $sub {
                            // The flag is the carry of `a + !b + 1`: set if nothing is borrowed.
                            let (d, x) = a.overflowing_sub(b);
                            let (d, y) = d.overflowing_sub(<$t>::from($uses && !carry));
                            (d, !(x | y))
                        } else {
                            let carry = $uses && carry;
                            let (d, x) = a.overflowing_add(b);
                            let (d, y) = d.overflowing_add(<$t>::from(carry));
                            (d, x | y)
                        }
                    })
                }) as Alu
            };
        }
        macro_rules! pick {
            ($t:ty) => {
                match (subtracts, uses, sets) {
                    (false, false, _) => sum!($t, false, false, true),
                    (false, true, false) => sum!($t, false, true, false),
                    (false, true, true) => sum!($t, false, true, true),
                    (true, false, _) => sum!($t, true, false, true),
                    (true, true, false) => sum!($t, true, true, false),
                    (true, true, true) => sum!($t, true, true, true),
                }
            };
        }
        let f = if ty.size() == 8 { pick!(u64) } else { pick!(u32) };
        self.alu(f, &[d, a, b]);
        Ok(())
    }

    /// `add`, `min` and `max` of two integers of 16 bits in one register.
    pub(super) fn integer_pair(&mut self, i: &Instruction) -> Result<(), Failure> {
        fn pair(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
            let part = |n: u32| u32::from(f((a >> n) as u16, (b >> n) as u16)) << n;
            part(0) | part(16)
        }
        macro_rules! signed {
            ($f:expr) => {
                op2!(u32, u32 => u32, |a, b| pair(a, b, |a, b| $f(a.cast_signed(), b.cast_signed()).cast_unsigned()))
            };
        }
        let [d, a, b] = self.registers(i, [Type::B32, Type::B32, Type::B32])?;
        let f: Alu = match (&*i.opcode, i.has("s16x2"), i.has("relu")) {
            ("add", _, false) => op2!(u32, u32 => u32, |a, b| pair(a, b, u16::wrapping_add)),
            ("min", false, false) => op2!(u32, u32 => u32, |a, b| pair(a, b, u16::min)),
            ("max", false, false) => op2!(u32, u32 => u32, |a, b| pair(a, b, u16::max)),
            ("min", true, false) => signed!(i16::min),
            ("max", true, false) => signed!(i16::max),
            ("min", true, true) => signed!(|a: i16, b: i16| a.min(b).max(0)),
            ("max", true, true) => signed!(|a: i16, b: i16| a.max(b).max(0)),
            _ => return Err(UNKNOWN.into()),
        };
        self.alu(f, &[d, a, b]);
        Ok(())
    }

    /// `dp4a` and `dp2a`: products of bytes, summed.
    fn dot(&mut self, i: &Instruction) -> Result<(), Failure> {
        let types: Vec<Type> = i.types().collect();
        let &[ta, tb] = &types[..] else { return Err("two types are needed".into()) };
        let [d, a, b, c] = self.registers(i, [Type::S32, ta, tb, Type::S32])?;
        fn byte(v: u32, n: u32, signed: bool) -> i32 {
            let v = (v >> (8 * n)) as u8;
            if signed { i32::from(v as i8) } else { i32::from(v) }
        }
        fn half(v: u32, n: u32, signed: bool) -> i32 {
            let v = (v >> (16 * n)) as u16;
            if signed { i32::from(v as i16) } else { i32::from(v) }
        }
        macro_rules! four {
            ($sa:literal, $sb:literal) => {
                op3!(u32, u32, i32 => i32, |a, b, c| (0..4)
                    .fold(c, |c, n| c.wrapping_add(byte(a, n, $sa) * byte(b, n, $sb))))
            };
        }
        macro_rules! two {
            ($sa:literal, $sb:literal, $from:literal) => {
                op3!(u32, u32, i32 => i32, |a, b, c| (0..2)
                    .fold(c, |c, n| c.wrapping_add(half(a, n, $sa).wrapping_mul(byte(b, n + $from, $sb)))))
            };
        }
        let f: Alu = match (&*i.opcode, ta.is_signed(), tb.is_signed(), i.has("hi")) {
            ("dp4a", false, false, _) => four!(false, false),
            ("dp4a", false, true, _) => four!(false, true),
            ("dp4a", true, false, _) => four!(true, false),
            ("dp4a", true, true, _) => four!(true, true),
            (_, false, false, false) => two!(false, false, 0),
            (_, false, true, false) => two!(false, true, 0),
            (_, true, false, false) => two!(true, false, 0),
            (_, true, true, false) => two!(true, true, 0),
            (_, false, false, true) => two!(false, false, 2),
            (_, false, true, true) => two!(false, true, 2),
            (_, true, false, true) => two!(true, false, 2),
            (_, true, true, true) => two!(true, true, 2),
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }
}

fn sign24(v: i32) -> i64 {
    i64::from(v << 8 >> 8)
}

fn low24(v: u32) -> u64 {
    u64::from(v & 0xFF_FFFF)
}

/// The upper half of a product.
fn high(ty: Type) -> Result<Alu, Failure> {
    Ok(match ty {
        Type::U16 => op2!(u16, u16 => u16, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16),
        Type::S16 => op2!(i16, i16 => i16, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16),
        Type::U32 => op2!(u32, u32 => u32, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        Type::S32 => op2!(i32, i32 => i32, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32),
        Type::U64 => slow!(u64, u64 => u64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        Type::S64 => slow!(i64, i64 => i64, |a, b| ((i128::from(a) * i128::from(b)) >> 64) as i64),
        _ => return Err("this type does not fit the instruction".into()),
    })
}

/// An operand that must be there.
pub(super) fn operand(i: &Instruction, n: usize) -> Result<&crate::ptx::Operand, Failure> {
    i.operands.get(n).ok_or_else(|| "an operand is missing".into())
}
