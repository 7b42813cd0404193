//! Operands: names, constants and addresses become slots.

use super::allocate::FRAME;
use super::integer::operand;
use super::{Failure, Lower, Symbol};
use crate::exec::file::{Alu, CONSTANT, Class, Slot, low};
use crate::exec::program::{LOCAL, NONE, Op, PARAM, SHARED, Special};
use crate::exec::rounding::{Rounding, narrow};
use crate::ptx::{Instruction, Operand, Type};

impl Class {
    /// The class of registers that hold a type.
    pub(super) fn of(ty: Type) -> Self {
        match ty {
            Type::Pred => Self::Pred,
            _ if ty.size() == 8 => Self::Wide,
            _ => Self::Word,
        }
    }

    /// The mark of slots of this class while a function is being lowered.
    pub(super) fn tag(self) -> Slot {
        match self {
            Self::Word => 0,
            Self::Wide => 1 << 30,
            Self::Pred => 2 << 30,
        }
    }

    pub(super) fn constant(self, number: usize) -> Slot {
        self.tag() | CONSTANT | Slot::try_from(number).unwrap_or(CONSTANT - 1)
    }
}

impl Lower<'_> {
    /// The register that a name stands for.
    pub(super) fn named(&self, operand: &Operand) -> Option<(Class, Slot)> {
        match operand {
            Operand::Name(name) => match self.lookup(name)? {
                Symbol::Register(class, slot) => Some((class, slot)),
                _ => None,
            },
            _ => None,
        }
    }

    /// A slot that holds an operand's value at a type.
    pub(super) fn src(&mut self, operand: &Operand, ty: Type) -> Result<Slot, Failure> {
        let class = Class::of(ty);
        match operand {
            Operand::Name(name) => {
                if let Some((found, slot)) = self.named(operand) {
                    return self.as_class(slot, found, class, ty.is_signed());
                }
                // A declaration hides a special register of the same name.
                if let Some(special) = special(name).filter(|_| self.lookup(name).is_none()) {
                    use Special::{Clock, ClockHi, GlobalTimer, GlobalTimerHi};
                    let clock = matches!(special, Clock | ClockHi | GlobalTimer | GlobalTimerHi);
                    self.program.shows_order |= clock;
                    let d = self.register(class);
                    self.emit(Op::Special(special, class == Class::Wide), &[d]);
                    return Ok(d);
                }
                if &**name == "WARP_SZ" {
                    return Ok(self.bits(32, class));
                }
                self.address_of(name, 0, class)
            }
            Operand::Offset(name, offset) => {
                if self.named(&Operand::Name(name.clone())).is_some() {
                    return Err(format!("{name} is a register and takes no offset here"));
                }
                self.address_of(name, *offset, class)
            }
            Operand::Int(v) => Ok(self.bits(integer_bits(*v, ty), class)),
            // As the bits of a number of 64 bits, too.
            Operand::F32(bits) => Ok(self.bits(u64::from(*bits), class)),
            Operand::F64(bits) if class == Class::Word => {
                Ok(self.word(narrow(f64::from_bits(*bits), Rounding::Nearest).to_bits()))
            }
            Operand::F64(bits) => Ok(self.bits(*bits, class)),
            _ => Err("an operand of this kind does not fit here".into()),
        }
    }

    /// A constant of a class.
    pub(super) fn bits(&mut self, bits: u64, class: Class) -> Slot {
        match class {
            Class::Wide => self.wide(bits),
            _ => self.word(low(bits)),
        }
    }

    /// Makes a register of one class one of the other.
    pub(super) fn as_class(
        &mut self,
        slot: Slot,
        from: Class,
        to: Class,
        signed: bool,
    ) -> Result<Slot, Failure> {
        if from == to {
            return Ok(slot);
        }
        let d = self.register(to);
        match (from, to) {
            (Class::Wide, Class::Word) => self.alu(op1!(u64 => u32, low), &[d, slot]),
            (Class::Word, Class::Wide) if signed => self.alu(op1!(i32 => i64, i64::from), &[d, slot]),
            (Class::Word, Class::Wide) => self.alu(op1!(u32 => u64, u64::from), &[d, slot]),
            _ => return Err("a predicate and a number do not mix".into()),
        }
        Ok(d)
    }

    /// The address of a variable or function.
    fn address_of(&mut self, name: &str, offset: i64, class: Class) -> Result<Slot, Failure> {
        let symbol = self.lookup(name).ok_or_else(|| format!("{name} is not declared"))?;
        let add = |at: u64| at.wrapping_add_signed(offset);
        Ok(match symbol {
            Symbol::Device(at) | Symbol::Code(at) => self.bits(add(at), class),
            Symbol::Shared(at) | Symbol::Argument(at) => self.bits(add(u64::from(at)), class),
            Symbol::Frame(at, _) => {
                let at = self.word(low(add(u64::from(at))));
                let d = self.register(Class::Word);
                self.alu(op2!(u32, u32 => u32, u32::wrapping_add), &[d, FRAME, at]);
                self.as_class(d, Class::Word, class, false)?
            }
            Symbol::Register(..) | Symbol::Prototype(_) | Symbol::Targets(_) => {
                return Err(format!("{name} has no address"));
            }
        })
    }

    /// The registers of an instruction's first operands, which have these types. The first is written.
    pub(super) fn registers<const N: usize>(
        &mut self,
        i: &Instruction,
        types: [Type; N],
    ) -> Result<[Slot; N], Failure> {
        let mut slots = [NONE; N];
        for (n, ty) in types.into_iter().enumerate() {
            slots[n] = if n == 0 { self.dst(operand(i, 0)?, ty)? } else { self.src(operand(i, n)?, ty)? };
        }
        Ok(slots)
    }

    /// An operation whose operands all have one type. Returns the register that it writes.
    pub(super) fn uniform(&mut self, i: &Instruction, f: Alu, ty: Type) -> Result<Slot, Failure> {
        let mut slots = vec![self.dst(operand(i, 0)?, ty)?];
        for o in &i.operands[1..] {
            slots.push(self.src(o, ty)?);
        }
        self.alu(f, &slots);
        Ok(slots[0])
    }

    /// The register that an instruction writes. A sink gets one that nothing reads.
    pub(super) fn dst(&mut self, operand: &Operand, ty: Type) -> Result<Slot, Failure> {
        let class = Class::of(ty);
        if matches!(operand, Operand::Name(name) if &**name == "_") {
            return Ok(self.register(class));
        }
        match self.named(operand) {
            Some((found, slot)) if found == class => Ok(slot),
            Some(_) => Err("the destination has another size than the instruction".into()),
            None => Err("the destination is not a register".into()),
        }
    }

    /// A predicate operand, as it is after a negation.
    pub(super) fn truth(&mut self, operand: &Operand) -> Result<Slot, Failure> {
        let (slot, negated) = self.predicate(operand)?;
        Ok(if negated { self.inverted(slot) } else { slot })
    }

    /// A predicate operand, perhaps negated.
    pub(super) fn predicate(&mut self, operand: &Operand) -> Result<(Slot, bool), Failure> {
        let (operand, negated) = match operand {
            Operand::Not(inner) => (&**inner, true),
            _ => (operand, false),
        };
        match (self.named(operand), operand) {
            (Some((Class::Pred, slot)), _) => Ok((slot, negated)),
            // A constant predicate, or a special register.
            (None, Operand::Int(_) | Operand::Name(_)) => {
                let d = self.register(Class::Pred);
                let v = match operand {
                    Operand::Name(name) if special(name).is_none() => {
                        return Err("a predicate is needed here".into());
                    }
                    _ => self.src(operand, Type::B32)?,
                };
                self.alu(lanes!(test::<u32>, |v| v != 0), &[d, v]);
                Ok((d, negated))
            }
            _ => Err("a predicate is needed here".into()),
        }
    }
}

/// An integer constant at a type. As a floating-point operand it is that number.
fn integer_bits(v: u64, ty: Type) -> u64 {
    match ty {
        Type::F64 if v != 0 => {
            #[expect(clippy::cast_precision_loss, reason = "a constant of the program, rounded to nearest")]
            let number = v.cast_signed() as f64;
            number.to_bits()
        }
        Type::F32 if v != 0 => {
            #[expect(clippy::cast_precision_loss, reason = "a constant of the program, rounded to nearest")]
            let number = v.cast_signed() as f32;
            u64::from(number.to_bits())
        }
        _ => v,
    }
}

/// Reads the name of a special register.
fn special(name: &str) -> Option<Special> {
    let name = name.strip_prefix('%')?;
    if let Some((vector, part)) = name.split_once('.') {
        let part = match part {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            _ => return None,
        };
        return Some(match vector {
            "tid" => Special::Tid(part),
            "ntid" => Special::Ntid(part),
            "ctaid" => Special::Ctaid(part),
            "nctaid" => Special::Nctaid(part),
            "clusterid" => Special::ClusterId(part),
            "nclusterid" => Special::NClusterId(part),
            "cluster_ctaid" => Special::ClusterCtaid(part),
            "cluster_nctaid" => Special::ClusterNctaid(part),
            _ => return None,
        });
    }
    Some(match name {
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::NWarpId,
        "smid" => Special::SmId,
        "nsmid" => Special::NSmId,
        "gridid" => Special::GridId,
        "lanemask_eq" => Special::LaneMaskEq,
        "lanemask_le" => Special::LaneMaskLe,
        "lanemask_lt" => Special::LaneMaskLt,
        "lanemask_ge" => Special::LaneMaskGe,
        "lanemask_gt" => Special::LaneMaskGt,
        "clock" | "clock64" => Special::Clock,
        "clock_hi" => Special::ClockHi,
        "globaltimer" | "globaltimer_lo" => Special::GlobalTimer,
        "globaltimer_hi" => Special::GlobalTimerHi,
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" | "aggr_smem_size" => Special::TotalShared,
        "reserved_smem_offset_begin" | "reserved_smem_offset_end" | "reserved_smem_offset_cap" => {
            Special::Zero
        }
        "cluster_ctarank" => Special::ClusterCtaRank,
        "cluster_nctarank" => Special::ClusterNctaRank,
        "is_explicit_cluster" => Special::IsExplicitCluster,
        _ => Special::EnvReg(name.strip_prefix("envreg")?.parse().ok().filter(|n| *n < 32)?),
    })
}

/// The start of the window over a memory space.
pub(super) fn window(space: crate::ptx::Space) -> u64 {
    match space {
        crate::ptx::Space::Shared => SHARED,
        crate::ptx::Space::Local => LOCAL,
        crate::ptx::Space::Param => PARAM,
        _ => 0,
    }
}
