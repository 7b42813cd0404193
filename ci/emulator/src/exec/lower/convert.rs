//! Moves and conversions: `mov`, `cvt`, `cvta`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless,
    reason = "converting is what these instructions are for"
)]

use half::{bf16, f16};

use super::float::rounding;
use super::half::Half;
use super::integer::operand;
use super::logic::pred_or;
use super::operand::window;
use super::{Failure, Lower, Symbol, UNKNOWN};
use crate::exec::file::{Alu, Class, Slot};
use crate::exec::rounding::{Rounding, flush, narrow, seal};
use crate::ptx::{Instruction, Operand, Space, Type};

impl Lower<'_> {
    pub(super) fn mov(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        match (operand(i, 0)?, operand(i, 1)?) {
            (Operand::Vector(parts), from) => self.unpack(parts, from, ty),
            (to, Operand::Vector(parts)) => self.pack(to, parts, ty),
            (to, from) if ty == Type::Pred => {
                let d = self.dst(to, ty)?;
                let a = self.truth(from)?;
                self.alu(pred_or, &[d, a, a]);
                Ok(())
            }
            (to, from) => {
                let d = self.dst(to, ty)?;
                let a = self.src(from, ty)?;
                if let Operand::Name(name) | Operand::Offset(name, _) = from
                    && let Some(Symbol::Shared(start)) = self.lookup(name)
                    && let Some(array) =
                        self.program.arrays.iter().position(|it| it.start == start && it.end > start)
                {
                    self.taken.insert(self.here(), u16::try_from(array).unwrap_or(u16::MAX));
                }
                self.copy(d, a, ty);
                Ok(())
            }
        }
    }

    pub(super) fn copy(&mut self, d: Slot, a: Slot, ty: Type) {
        let f: Alu = if ty.size() == 8 { op1!(u64 => u64, |v| v) } else { op1!(u32 => u32, |v| v) };
        self.alu(f, &[d, a]);
    }

    /// `mov.b64 {a, b}, c`: the first part is the lowest.
    fn unpack(&mut self, parts: &[Operand], from: &Operand, ty: Type) -> Result<(), Failure> {
        let count = u32::try_from(parts.len()).unwrap_or(0);
        if count == 0 || !ty.size().is_multiple_of(count) || ty.size() > 8 {
            return Err("parts that do not fit".into());
        }
        let bytes = ty.size() / count;
        let part_ty = part(bytes)?;
        let a = self.src(from, ty)?;
        let wide = self.as_class(a, Class::of(ty), Class::Wide, false)?;
        // All parts are cut before any is written: the source may be one of them.
        let mut cut = Vec::new();
        for n in 0..count {
            let (t, shift) = (self.register(Class::Word), self.word(8 * bytes * n));
            let f: Alu = match bytes {
                1 => op2!(u64, u32 => u8, |v, by| (v >> by) as u8),
                2 => op2!(u64, u32 => u16, |v, by| (v >> by) as u16),
                _ => op2!(u64, u32 => u32, |v, by| (v >> by) as u32),
            };
            self.alu(f, &[t, wide, shift]);
            cut.push(t);
        }
        for (to, t) in parts.iter().zip(cut) {
            let d = self.dst(to, part_ty)?;
            self.copy(d, t, part_ty);
        }
        Ok(())
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand], ty: Type) -> Result<(), Failure> {
        let count = u32::try_from(parts.len()).unwrap_or(0);
        if count == 0 || !ty.size().is_multiple_of(count) || ty.size() > 8 {
            return Err("parts that do not fit".into());
        }
        let bytes = ty.size() / count;
        let part_ty = part(bytes)?;
        let mut sum = self.wide(0);
        for (n, from) in (0..).zip(parts) {
            let a = self.src(from, part_ty)?;
            let (t, shift) = (self.register(Class::Wide), self.word(8 * bytes * n));
            let f: Alu = match bytes {
                1 => op3!(u8, u32, u64 => u64, |v, by, sum| sum | (v as u64) << by),
                2 => op3!(u16, u32, u64 => u64, |v, by, sum| sum | (v as u64) << by),
                _ => op3!(u32, u32, u64 => u64, |v, by, sum| sum | (v as u64) << by),
            };
            self.alu(f, &[t, a, shift, sum]);
            sum = t;
        }
        let d = self.dst(to, ty)?;
        let a = self.as_class(sum, Class::Wide, Class::of(ty), false)?;
        self.copy(d, a, ty);
        Ok(())
    }

    pub(super) fn cvta(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        if ty.size() != 8 {
            return Err("32-bit addresses are not known to the emulator".into());
        }
        let [d, a] = self.registers(i, [ty, ty])?;
        let space = super::memory::space(i);
        let base = self.wide(window(space));
        let f: Alu = match (space, i.has("to")) {
            (Space::Shared | Space::Local | Space::Param, true) => {
                op2!(u64, u64 => u64, u64::wrapping_sub)
            }
            (Space::Shared | Space::Local | Space::Param, false) => {
                op2!(u64, u64 => u64, u64::wrapping_add)
            }
            _ => op1!(u64 => u64, |v| v),
        };
        self.alu(f, &[d, a, base]);
        Ok(())
    }

    pub(super) fn cvt(&mut self, i: &Instruction) -> Result<(), Failure> {
        if let Some(done) = self.cvt_narrow(i) {
            return done;
        }
        let types: Vec<Type> = i.types().collect();
        if i.has("pack") {
            return self.cvt_pack(i, &types);
        }
        let &[to, from] = &types[..] else { return Err("two types are needed".into()) };
        if matches!(to, Type::F16x2 | Type::Bf16x2) {
            return self.cvt_pair(i, to);
        }
        let first = operand(i, 0)?;
        let register = self.named(first);
        let found = register.map_or(Class::of(to), |(class, _)| class);
        let a = self.src(operand(i, 1)?, from)?;
        let t = self.register(Class::of(to));
        self.converted(i, t, to, a, from)?;
        // Narrow results fill wider registers.
        let t = self.as_class(t, Class::of(to), found, to.is_signed())?;
        let d = match register {
            Some((_, slot)) => slot,
            None => self.dst(first, to)?,
        };
        let whole = if found == Class::Wide { Type::B64 } else { Type::B32 };
        // The conversion is the last operation, so it can write to the register itself when nothing follows.
        if found == Class::of(to)
            && let Some(last) = self.program.code.last_mut().filter(|last| last.s[0] == t)
        {
            let reads_itself = last.s[1..].contains(&t);
            if !reads_itself {
                last.s[0] = d;
                return Ok(());
            }
        }
        self.copy(d, t, whole);
        Ok(())
    }

    fn converted(&mut self, i: &Instruction, t: Slot, to: Type, a: Slot, from: Type) -> Result<(), Failure> {
        let ftz = i.has("ftz");
        let mut a = a;
        if ftz && from == Type::F32 {
            a = self.flushed(a);
        }
        match (to.is_float(), from.is_float()) {
            (false, false) => {
                if i.has("sat") {
                    let a = self.whole(a, from)?;
                    self.alu(int_to_int_sat(to, from)?, &[t, a]);
                } else {
                    self.alu(int_to_int(to, from)?, &[t, a]);
                }
            }
            (true, false) => {
                let mode = rounding(i);
                let direct = mode == Rounding::Nearest && matches!(to, Type::F32 | Type::F64);
                let a = if direct { a } else { self.whole(a, from)? };
                self.alu(int_to_float(to, from, mode)?, &[t, a]);
                if i.has("sat") {
                    self.saturated(t, to);
                }
            }
            (false, true) => {
                // By way of 64 bits, which hold every narrower number.
                let wide = self.widened(a, from)?;
                let whole = self.register(Class::Wide);
                self.alu(integral(i).unwrap_or(op1!(f64 => f64, f64::trunc)), &[whole, wide]);
                let f = float_to_int(to, from)?;
                self.alu(f, &[t, whole]);
            }
            (true, true) => {
                let sat = i.has("sat");
                if to == from {
                    return self.same_float(i, t, a, to);
                }
                let wide = self.widened(a, from)?;
                let wide = match integral(i) {
                    Some(f) => {
                        let whole = self.register(Class::Wide);
                        self.alu(f, &[whole, wide]);
                        whole
                    }
                    None => wide,
                };
                let f = narrowed(to, from, rounding(i))?;
                self.alu(f, &[t, wide]);
                if i.has("relu") {
                    let f: Alu = match to {
                        Type::F16 => slow!(f16 => f16, relu),
                        Type::Bf16 => slow!(bf16 => bf16, relu),
                        _ => return Err("this type does not fit .relu".into()),
                    };
                    self.alu(f, &[t, t]);
                }
                if sat {
                    self.saturated(t, to);
                }
                if ftz && to == Type::F32 {
                    self.alu(op1!(f32 => f32, flush), &[t, t]);
                }
            }
        }
        Ok(())
    }

    /// Conversions of a type to itself: rounding to whole numbers, clamping.
    fn same_float(&mut self, i: &Instruction, t: Slot, a: Slot, ty: Type) -> Result<(), Failure> {
        macro_rules! rounded {
            ($how:ident) => {
                match ty {
                    Type::F32 => op1!(f32 => u32, |v| seal(v.$how())),
                    Type::F64 => op1!(f64 => f64, f64::$how),
                    Type::F16 => slow!(f16 => f16, |v| Half::near(v.to_f32().$how())),
                    Type::Bf16 => slow!(bf16 => bf16, |v| Half::near(v.to_f32().$how())),
                    _ => return Err(UNKNOWN.into()),
                }
            };
        }
        let mode = i.one_of(&[("rni", 0), ("rzi", 1), ("rmi", 2), ("rpi", 3)]);
        let f: Alu = match mode {
            Some(0) => rounded!(round_ties_even),
            Some(1) => rounded!(trunc),
            Some(2) => rounded!(floor),
            Some(_) => rounded!(ceil),
            None if ty == Type::F64 => op1!(u64 => u64, |v| v),
            None if ty == Type::F32 => op1!(f32 => u32, seal),
            None => op1!(u32 => u32, |v| v),
        };
        self.alu(f, &[t, a]);
        if i.has("sat") {
            self.saturated(t, ty);
        }
        if i.has("ftz") && ty == Type::F32 {
            self.alu(op1!(f32 => f32, flush), &[t, t]);
        }
        Ok(())
    }

    /// An integer as 64 bits, of the same sign.
    fn whole(&mut self, a: Slot, from: Type) -> Result<Slot, Failure> {
        let wide = self.register(Class::Wide);
        self.alu(int_to_int(if from.is_signed() { Type::S64 } else { Type::U64 }, from)?, &[wide, a]);
        Ok(wide)
    }

    /// A floating-point number as 64 bits.
    fn widened(&mut self, a: Slot, from: Type) -> Result<Slot, Failure> {
        let f: Alu = match from {
            Type::F64 => return Ok(a),
            Type::F32 => op1!(f32 => f64, f64::from),
            Type::F16 => slow!(f16 => f64, |v| f64::from(v.to_f32())),
            Type::Bf16 => slow!(bf16 => f64, |v| f64::from(v.to_f32())),
            _ => return Err("this type does not fit the instruction".into()),
        };
        let wide = self.register(Class::Wide);
        self.alu(f, &[wide, a]);
        Ok(wide)
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half.
    fn cvt_pair(&mut self, i: &Instruction, to: Type) -> Result<(), Failure> {
        if i.has("satfinite") {
            return Err(UNKNOWN.into());
        }
        let [d, a, b] = self.registers(i, [Type::B32, Type::F32, Type::F32])?;
        macro_rules! pair {
            ($t:ty, $zero:literal, $relu:literal) => {
                slow!(f32, f32 => u32, |a, b| one::<$t, $zero, $relu>(a) << 16 | one::<$t, $zero, $relu>(b))
            };
        }
        let f: Alu = match (to, i.has("rz"), i.has("relu")) {
            (Type::F16x2, false, false) => pair!(f16, false, false),
            (Type::F16x2, false, true) => pair!(f16, false, true),
            (Type::F16x2, true, false) => pair!(f16, true, false),
            (Type::F16x2, true, true) => pair!(f16, true, true),
            (_, false, false) => pair!(bf16, false, false),
            (_, false, true) => pair!(bf16, false, true),
            (_, true, false) => pair!(bf16, true, false),
            (_, true, true) => pair!(bf16, true, true),
        };
        self.alu(f, &[d, a, b]);
        Ok(())
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`: clamps two numbers and puts them in front of `c`.
    fn cvt_pack(&mut self, i: &Instruction, types: &[Type]) -> Result<(), Failure> {
        let to = *types.first().ok_or("no type")?;
        let [d, a, b] = self.registers(i, [Type::B32, Type::S32, Type::S32])?;
        let c = match i.operands.get(3) {
            Some(c) => self.src(c, Type::B32)?,
            None => self.word(0),
        };
        let f: Alu = match to {
            Type::U16 => op3!(i32, i32, u32 => u32,
                |a, b, _| (a.clamp(0, 0xFFFF) as u32) << 16 | b.clamp(0, 0xFFFF) as u32),
            Type::S16 => op3!(i32, i32, u32 => u32, |a, b, _| {
                let clamp = |v: i32| v.clamp(-0x8000, 0x7FFF) as u32 & 0xFFFF;
                clamp(a) << 16 | clamp(b)
            }),
            Type::U8 => op3!(i32, i32, u32 => u32,
                |a, b, c| c << 16 | (a.clamp(0, 255) as u32) << 8 | b.clamp(0, 255) as u32),
            Type::S8 => op3!(i32, i32, u32 => u32, |a, b, c| {
                let clamp = |v: i32| v.clamp(-128, 127) as u32 & 0xFF;
                c << 16 | clamp(a) << 8 | clamp(b)
            }),
            _ => return Err("this type is not known to the emulator".into()),
        };
        self.alu(f, &[d, a, b, c]);
        Ok(())
    }
}

/// One half of a pair: rounded to nearest or to zero, and no negative number with `.relu`.
fn one<H: Half, const ZERO: bool, const RELU: bool>(v: f32) -> u32 {
    let v: H = if ZERO { H::toward(v.into(), Rounding::Zero) } else { H::near(v) };
    u32::from(if RELU { relu(v) } else { v }.bits16())
}

/// Zero for a negative number. NaN stays.
fn relu<H: Half>(v: H) -> H {
    if v.wide() > 0.0 || v.wide().is_nan() { v } else { H::near(0.0) }
}

fn part(bytes: u32) -> Result<Type, Failure> {
    match bytes {
        1 => Ok(Type::B8),
        2 => Ok(Type::B16),
        4 => Ok(Type::B32),
        _ => Err("parts that do not fit".into()),
    }
}

/// Rounding to a whole number, when asked for.
fn integral(i: &Instruction) -> Option<Alu> {
    i.one_of(&[
        ("rni", op1!(f64 => f64, f64::round_ties_even)),
        ("rzi", op1!(f64 => f64, f64::trunc)),
        ("rmi", op1!(f64 => f64, f64::floor)),
        ("rpi", op1!(f64 => f64, f64::ceil)),
    ])
}

/// One expression for each integer type, bytes as well.
macro_rules! from_int {
    ($from:expr, $s:ident => $body:expr) => {
        match $from {
            Type::U8 | Type::B8 => with_type!($s, u8, $body),
            Type::S8 => with_type!($s, i8, $body),
            from => by_int!(from, $s => $body),
        }
    };
}

/// One expression for each sign of integers of 64 bits.
macro_rules! from_whole {
    ($from:expr, $s:ident => $body:expr) => {
        if $from.is_signed() {
            type $s = i64;
            $body
        } else {
            type $s = u64;
            $body
        }
    };
}

fn int_to_int(to: Type, from: Type) -> Result<Alu, Failure> {
    Ok(from_int!(from, S => from_int!(to, D => op1!(S => D, |v| v as D))))
}

/// Converts from an integer of 64 bits, and stops at the largest and the smallest.
fn int_to_int_sat(to: Type, from: Type) -> Result<Alu, Failure> {
    Ok(from_whole!(from, S => from_int!(to, D => slow!(S => D, |v| {
        D::try_from(v).unwrap_or(if (v as i128) < 0 { D::MIN } else { D::MAX })
    }))))
}

macro_rules! by_mode {
    ($mode:expr, $m:ident => $body:expr) => {
        match $mode {
            Rounding::Nearest => with_mode!($m, Nearest, $body),
            Rounding::Zero => with_mode!($m, Zero, $body),
            Rounding::Down => with_mode!($m, Down, $body),
            Rounding::Up => with_mode!($m, Up, $body),
        }
    };
}

/// Converts from an integer: to the nearest number of 32 or 64 bits directly, otherwise from 64 bits.
fn int_to_float(to: Type, from: Type, mode: Rounding) -> Result<Alu, Failure> {
    Ok(match (to, mode) {
        (Type::F32, Rounding::Nearest) => from_int!(from, S => op1!(S => f32, |v| v as f32)),
        (Type::F64, Rounding::Nearest) => from_int!(from, S => op1!(S => f64, |v| v as f64)),
        (Type::F32, _) => {
            by_mode!(mode, M => from_whole!(from, S => slow!(S => f32, |v| whole32(v as i128, M))))
        }
        (Type::F64, _) => {
            by_mode!(mode, M => from_whole!(from, S => slow!(S => f64, |v| whole64(v as i128, M))))
        }
        (Type::F16, Rounding::Nearest) => {
            from_whole!(from, S => slow!(S => f16, |v| Half::once(whole64(v as i128, Rounding::Zero))))
        }
        (Type::Bf16, Rounding::Nearest) => {
            from_whole!(from, S => slow!(S => bf16, |v| Half::once(whole64(v as i128, Rounding::Zero))))
        }
        (Type::F16, _) => {
            by_mode!(mode, M => from_whole!(from, S => slow!(S => f16, |v| Half::toward(whole64(v as i128, M), M))))
        }
        (Type::Bf16, _) => {
            by_mode!(mode, M => from_whole!(from, S => slow!(S => bf16, |v| Half::toward(whole64(v as i128, M), M))))
        }
        _ => return Err(UNKNOWN.into()),
    })
}

/// A function that rounds an integer to a number, toward the side of a mode.
macro_rules! whole {
    ($name:ident, $float:ty) => {
        fn $name(v: i128, mode: Rounding) -> $float {
            let near = v as $float;
            let back = near as i128;
            match mode {
                Rounding::Zero if v > 0 && back > v => near.next_down(),
                Rounding::Zero if v < 0 && back < v => near.next_up(),
                Rounding::Down if back > v => near.next_down(),
                Rounding::Up if back < v => near.next_up(),
                _ => near,
            }
        }
    };
}
whole!(whole64, f64);
whole!(whole32, f32);

/// Converts from a whole 64-bit number. Values out of range are clamped. NaN gives zero, or the highest bit
/// if 64 bits take part.
fn float_to_int(to: Type, from: Type) -> Result<Alu, Failure> {
    let high = from == Type::F64 || matches!(to, Type::S64 | Type::U64);
    Ok(match (to, high) {
        (Type::U8, false) => op1!(f64 => u8, |v| v as u8),
        (Type::S8, false) => op1!(f64 => i8, |v| v as i8),
        (Type::U16, false) => op1!(f64 => u16, |v| v as u16),
        (Type::S16, false) => op1!(f64 => i16, |v| v as i16),
        (Type::U8, true) => op1!(f64 => u8, |v| if v.is_nan() { 1 << 7 } else { v as u8 }),
        (Type::S8, true) => op1!(f64 => i8, |v| if v.is_nan() { i8::MIN } else { v as i8 }),
        (Type::U16, true) => op1!(f64 => u16, |v| if v.is_nan() { 1 << 15 } else { v as u16 }),
        (Type::S16, true) => op1!(f64 => i16, |v| if v.is_nan() { i16::MIN } else { v as i16 }),
        (Type::U32, false) => op1!(f64 => u32, |v| v as u32),
        (Type::S32, false) => op1!(f64 => i32, |v| v as i32),
        (Type::U32, true) => op1!(f64 => u32, |v| if v.is_nan() { 1 << 31 } else { v as u32 }),
        (Type::S32, true) => op1!(f64 => i32, |v| if v.is_nan() { i32::MIN } else { v as i32 }),
        (Type::U64, _) => op1!(f64 => u64, |v| if v.is_nan() { 1 << 63 } else { v as u64 }),
        (Type::S64, _) => op1!(f64 => i64, |v| if v.is_nan() { i64::MIN } else { v as i64 }),
        _ => return Err("this type does not fit the instruction".into()),
    })
}

/// From a 64-bit number to another format.
fn narrowed(to: Type, from: Type, mode: Rounding) -> Result<Alu, Failure> {
    Ok(match (to, mode) {
        (Type::F64, _) => op1!(f64 => f64, |v| v),
        // NaN of 64 bits keeps its sign and the upper part of its payload.
        (Type::F32, _) if from == Type::F64 => {
            by_mode!(mode, M => op1!(f64 => f32, |v| if v.is_nan() { v as f32 } else { narrow(v, M) }))
        }
        (Type::F32, _) => by_mode!(mode, M => op1!(f64 => u32, |v| seal(narrow(v, M)))),
        (Type::F16, Rounding::Nearest) => slow!(f64 => f16, Half::once),
        (Type::Bf16, Rounding::Nearest) => slow!(f64 => bf16, Half::once),
        (Type::F16, _) => by_mode!(mode, M => slow!(f64 => f16, |v| Half::toward(v, M))),
        (Type::Bf16, _) => by_mode!(mode, M => slow!(f64 => bf16, |v| Half::toward(v, M))),
        _ => return Err(UNKNOWN.into()),
    })
}
