//! Loads, stores and atomic operations.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "atomic operations work on the low bits of 64"
)]

use std::sync::LazyLock;

use half::{bf16, f16};

use super::allocate::FRAME;
use super::integer::operand;
use super::{Failure, Lower, Symbol, UNKNOWN};
use crate::exec::file::{Class, Slot, low};
use crate::exec::program::{Access, Element, Modify, NONE, Op, Scope, Strength};
use crate::exec::rounding::seal;
use crate::ptx::{Function, Instruction, Operand, Space, Type};

/// The memory space that an instruction names.
pub(super) fn space(i: &Instruction) -> Space {
    i.one_of(&[
        ("global", Space::Global),
        ("const", Space::Const),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
        ("local", Space::Local),
        ("param", Space::Param),
        ("param::entry", Space::Param),
        ("param::func", Space::Param),
    ])
    .unwrap_or(Space::Generic)
}

/// The scope that an instruction names.
pub(super) fn scope(i: &Instruction) -> Option<Scope> {
    i.one_of(&[
        ("cta", Scope::Block),
        ("cluster", Scope::Cluster),
        ("gpu", Scope::Device),
        ("gl", Scope::Device),
        ("sys", Scope::System),
    ])
}

/// How an instruction orders others, if its accesses do not race with each other.
fn strength(i: &Instruction) -> Option<Strength> {
    let has = |words: &[&str]| words.iter().any(|word| i.has(word));
    let (acquires, releases) = (has(&["acquire", "acq_rel"]), has(&["release", "acq_rel"]));
    let usual = if has(&["volatile", "mmio"]) { Scope::System } else { Scope::Device };
    let is_volatile = has(&["volatile"]) && !volatile_is_plain();
    let strong = acquires || releases || is_volatile || has(&["relaxed", "mmio"]) || is_atomic(i);
    strong.then(|| Strength { scope: scope(i).unwrap_or(usual), acquires, releases, volatile: is_volatile })
}

/// Whether volatile accesses race as in C++, where PTX has them as relaxed.
fn volatile_is_plain() -> bool {
    static IS_PLAIN: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_EMULATOR_VOLATILE").is_ok_and(|it| it == "plain"));
    *IS_PLAIN
}

/// Whether an instruction is an atomic operation.
fn is_atomic(i: &Instruction) -> bool {
    matches!(&*i.opcode, "atom" | "red")
}

/// Whether atomic operations give the same in every order, if their old values are not used.
fn commutes(i: &Instruction, ty: Type) -> bool {
    ["add", "min", "max", "and", "or", "xor"].iter().any(|word| i.has(word)) && !ty.is_float()
}

fn element(ty: Type) -> Result<Element, Failure> {
    Ok(match ty {
        Type::U8 | Type::B8 => Element::U8,
        Type::S8 => Element::S8,
        Type::U16 | Type::B16 | Type::F16 | Type::Bf16 => Element::U16,
        Type::S16 => Element::S16,
        Type::U32 | Type::B32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => Element::U32,
        Type::S32 => Element::S32,
        Type::U64 | Type::B64 | Type::S64 | Type::F64 => Element::U64,
        _ => return Err("memory of this type is not known to the emulator".into()),
    })
}

/// Where an instruction's address operand points.
pub(super) struct MemoryOperand {
    space: Space,
    pub(super) slot: Slot,
    wide: bool,
    offset: i64,
    /// Whether it is an argument of the kernel at a fixed offset.
    argument: bool,
}

impl Lower<'_> {
    pub(super) fn place(&mut self, operand: &Operand, space: Space) -> Result<MemoryOperand, Failure> {
        let (name, offset) = match operand {
            Operand::Address(Some(name), offset) => (name, *offset),
            Operand::Address(None, at) => {
                let slot = self.wide(at.cast_unsigned());
                return Ok(MemoryOperand { space, slot, wide: true, offset: 0, argument: false });
            }
            _ => return Err("an address is needed here".into()),
        };
        Ok(match self.lookup(name) {
            Some(Symbol::Register(class, slot)) => {
                // Within a function, the space of parameters is its frame.
                let space = if space == Space::Param && !self.in_kernel() { Space::Local } else { space };
                if class == Class::Pred {
                    return Err(format!("{name} is a predicate and no address"));
                }
                MemoryOperand { space, slot, wide: class == Class::Wide, offset, argument: false }
            }
            Some(Symbol::Frame(at, _)) => MemoryOperand {
                space: Space::Local,
                slot: FRAME,
                wide: false,
                offset: offset + i64::from(at),
                argument: false,
            },
            Some(Symbol::Argument(at)) => MemoryOperand {
                space: Space::Param,
                slot: NONE,
                wide: false,
                offset: offset + i64::from(at),
                argument: true,
            },
            Some(Symbol::Shared(at)) => {
                let slot = self.word(at);
                MemoryOperand { space: Space::Shared, slot, wide: false, offset, argument: false }
            }
            Some(Symbol::Device(at)) => {
                let slot = self.wide(at);
                let space = if space == Space::Const { space } else { Space::Global };
                MemoryOperand { space, slot, wide: true, offset, argument: false }
            }
            Some(_) => return Err(format!("{name} is not in memory")),
            None => return Err(format!("{name} is not declared")),
        })
    }

    fn in_kernel(&self) -> bool {
        self.number as usize + 1 == self.program.functions.len()
    }

    pub(super) fn access(
        &mut self,
        place: &MemoryOperand,
        element: Element,
        count: u8,
        wide: bool,
    ) -> Result<Access, Failure> {
        let cache = self.program.accesses;
        self.program.accesses += 1;
        let offset = i32::try_from(place.offset).map_err(|_| "an offset too large")?;
        let (space, wide_address) = (place.space, place.wide);
        Ok(Access { space, element, count, wide, wide_address, offset, cache, strong: None, proxy: false })
    }

    /// The access of a load or a store, which may be strong.
    fn ordered(
        &mut self,
        i: &Instruction,
        place: &MemoryOperand,
        element: Element,
        count: u8,
        wide: bool,
    ) -> Result<Access, Failure> {
        let mut access = self.access(place, element, count, wide)?;
        access.strong = strength(i);
        let is_ordered = access.strong.is_some() || i.has("volatile");
        self.program.shows_order |= is_ordered && place.space != Space::Shared;
        Ok(access)
    }

    pub(super) fn load(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        let element = element(ty)?;
        let (parts, count) = parts(operand(i, 0)?)?;
        // Registers may be wider than the loaded element.
        let class = parts.iter().find_map(|p| self.named(p)).map_or(Class::of(ty), |(class, _)| class);
        let whole = if class == Class::Wide { Type::B64 } else { Type::B32 };
        if class == Class::Pred || class == Class::Word && element == Element::U64 {
            return Err("the destination has another size than the instruction".into());
        }
        let place = self.place(operand(i, 1)?, space(i))?;
        let mut s = [NONE; 5];
        for (slot, part) in s.iter_mut().zip(parts) {
            *slot = self.dst(part, whole)?;
        }
        s[4] = place.slot;
        let access = self.ordered(i, &place, element, count, class == Class::Wide)?;
        self.emit(if place.argument { Op::Param(access) } else { Op::Load(access) }, &s);
        Ok(())
    }

    pub(super) fn store(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        if i.has("bulk") {
            return Err(UNKNOWN.into());
        }
        let element = element(ty)?;
        let (parts, count) = parts(operand(i, 1)?)?;
        let place = self.place(operand(i, 0)?, space(i))?;
        if place.argument || place.space == Space::Const {
            return Err("arguments and constants cannot be written".into());
        }
        let class = parts.iter().find_map(|p| self.named(p)).map_or(Class::of(ty), |(class, _)| class);
        if class == Class::Pred || class == Class::Word && element == Element::U64 {
            return Err("the value has another size than the instruction".into());
        }
        let mut s = [NONE; 5];
        for (slot, part) in s.iter_mut().zip(parts) {
            // A float constant keeps its type; a register keeps its class.
            let ty = if class == Class::of(ty) { ty } else { Type::B64 };
            *slot = self.src(part, ty)?;
        }
        s[4] = place.slot;
        let access = self.ordered(i, &place, element, count, class == Class::Wide)?;
        self.emit(Op::Store(access), &s);
        Ok(())
    }

    /// An atomic operation on several elements, each of which is changed by itself.
    fn atomics(
        &mut self,
        i: &Instruction,
        (op, element, ty): (Modify, Element, Type),
        mut place: MemoryOperand,
        values: &[Operand],
    ) -> Result<(), Failure> {
        let wants = &*i.opcode == "atom";
        let mut olds = Vec::new();
        for (n, value) in values.iter().enumerate() {
            let b = self.src(value, ty)?;
            let d = if wants { self.register(Class::of(ty)) } else { NONE };
            olds.push(d);
            // The access of the first element covers all of them, so that the whole range is checked.
            let count = if n == 0 { u8::try_from(values.len()).unwrap_or(0) } else { 1 };
            let mut access = self.access(&place, element, count, ty.size() == 8)?;
            access.strong = strength(i);
            self.emit(Op::Atomic(access, op, wants), &[d, b, b, NONE, place.slot]);
            place.offset += i64::from(ty.size());
        }
        if let (true, Operand::Vector(results)) = (wants, operand(i, 0)?) {
            for (result, old) in results.iter().zip(olds) {
                let d = self.dst(result, ty)?;
                self.copy(d, old, ty);
            }
        }
        Ok(())
    }

    pub(super) fn atomic(&mut self, i: &Instruction) -> Result<(), Failure> {
        let ty = i.types().last().ok_or("no type")?;
        let wants = &*i.opcode == "atom";
        let element = match ty.size() {
            2 => Element::U16,
            4 => Element::U32,
            8 => Element::U64,
            _ => return Err("this type is not known to the emulator".into()),
        };
        let op = i.modifiers.iter().find_map(|m| modify(m, ty));
        let op = op.ok_or("this operation is not known to the emulator")?;
        let first = usize::from(wants);
        let place = self.place(operand(i, first)?, space(i))?;
        if matches!(place.space, Space::Const | Space::Param) || place.argument {
            return Err("this memory is not written atomically".into());
        }
        self.program.shows_order |= place.space != Space::Shared && !commutes(i, ty);
        if let Operand::Vector(values) = operand(i, first + 1)? {
            return self.atomics(i, (op, element, ty), place, values);
        }
        let d = if wants { self.dst(operand(i, 0)?, ty)? } else { NONE };
        if wants && place.space != Space::Shared {
            self.olds.insert(d);
        }
        let b = self.src(operand(i, first + 1)?, ty)?;
        let c = match i.operands.get(first + 2) {
            Some(c) if i.has("cas") => self.src(c, ty)?,
            _ => b,
        };
        let mut access = self.access(&place, element, 1, ty.size() == 8)?;
        access.strong = strength(i);
        self.emit(Op::Atomic(access, op, wants), &[d, b, c, NONE, place.slot]);
        Ok(())
    }

    /// Old PTX passes arguments in registers. They travel through the frame all the same.
    pub(super) fn register_arguments(&mut self, f: &Function) {
        let places = self.routine.params.clone();
        for (v, (at, _)) in f.prototype.params.iter().zip(places) {
            if v.space == Space::Reg {
                let slot = self.register(Class::of(v.ty));
                self.declare(v.name.clone(), Symbol::Register(Class::of(v.ty), slot));
                self.frame_access(v.ty, at, slot, true);
            }
        }
        for v in &f.prototype.returns {
            if v.space == Space::Reg {
                let slot = self.register(Class::of(v.ty));
                self.declare(v.name.clone(), Symbol::Register(Class::of(v.ty), slot));
            }
        }
    }

    /// Loads a register from the frame, or stores it there.
    pub(super) fn frame_access(&mut self, ty: Type, at: u32, slot: Slot, load: bool) {
        let (space, offset) = (Space::Local, i64::from(at));
        let place = MemoryOperand { space, slot: FRAME, wide: false, offset, argument: false };
        let element = element(ty).unwrap_or(Element::U32);
        if let Ok(access) = self.access(&place, element, 1, Class::of(ty) == Class::Wide) {
            let op = if load { Op::Load(access) } else { Op::Store(access) };
            self.emit(op, &[slot, NONE, NONE, NONE, FRAME]);
        }
    }
}

/// The registers of an operand that may be a vector, and their number.
pub(super) fn parts(operand: &Operand) -> Result<(&[Operand], u8), Failure> {
    let parts = operand.parts();
    match parts.len() {
        count @ (1 | 2 | 4) => Ok((parts, count as u8)),
        _ => Err("vectors of this length are not known to the emulator".into()),
    }
}

fn f32_of(v: u64) -> f32 {
    f32::from_bits(low(v))
}

/// An atomic operation on numbers of 16 bits, which lie at these bits.
macro_rules! halves {
    ($ty:ident at $($bit:literal)*, $f:expr) => {
        |old, b, _| {
            let f: fn($ty, $ty) -> $ty = $f;
            let part = |v: u64, bit: u32| $ty::from_bits((v >> bit) as u16);
            0 $(| u64::from(f(part(old, $bit), part(b, $bit)).to_bits()) << $bit)*
        }
    };
}

/// The function of an atomic operation at a type.
pub(in crate::exec) fn modify(op: &str, ty: Type) -> Option<Modify> {
    Some(match (op, ty) {
        ("exch", _) => |_, b, _| b,
        ("cas", _) => |old, b, c| if old == b { c } else { old },
        ("and", _) => |old, b, _| old & b,
        ("or", _) => |old, b, _| old | b,
        ("xor", _) => |old, b, _| old ^ b,
        ("add", Type::F32) => |old, b, _| u64::from(seal(f32_of(old) + f32_of(b))),
        ("add", Type::F64) => |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        ("add", Type::F16) => halves!(f16 at 0, |a, b| a + b),
        ("add", Type::Bf16) => halves!(bf16 at 0, |a, b| a + b),
        ("add", Type::F16x2) => halves!(f16 at 0 16, |a, b| a + b),
        ("add", Type::Bf16x2) => halves!(bf16 at 0 16, |a, b| a + b),
        ("add", _) if ty.size() == 4 => |old, b, _| u64::from((old as u32).wrapping_add(b as u32)),
        ("add", _) => |old, b, _| old.wrapping_add(b),
        ("min", Type::F16) => halves!(f16 at 0, f16::min),
        ("max", Type::F16) => halves!(f16 at 0, f16::max),
        ("min", Type::Bf16) => halves!(bf16 at 0, bf16::min),
        ("max", Type::Bf16) => halves!(bf16 at 0, bf16::max),
        ("min", Type::S32) => |old, b, _| u64::from((old as i32).min(b as i32) as u32),
        ("max", Type::S32) => |old, b, _| u64::from((old as i32).max(b as i32) as u32),
        ("min", Type::S64) => |old, b, _| (old as i64).min(b as i64) as u64,
        ("max", Type::S64) => |old, b, _| (old as i64).max(b as i64) as u64,
        ("min", Type::U32 | Type::U64) => |old, b, _| old.min(b),
        ("max", Type::U32 | Type::U64) => |old, b, _| old.max(b),
        ("inc", _) => |old, b, _| if old >= b { 0 } else { old + 1 },
        ("dec", _) => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
        _ => return None,
    })
}
