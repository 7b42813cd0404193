//! Names, constants and results of instructions.

use cuda_ptx::{Constant, Entity, Name, Operand as Source, Part, Type as Word};

use super::{LocalPlace, Lowering, Refused};
use crate::ir::{Op, Operand, Origin, Parameter, Space, Special, Step};

/// Returns the bits of a register of a type, and 1 for a predicate.
pub(super) fn bits_of(ty: &str) -> Option<u8> {
    u8::try_from(Word::from_word(ty)?.bits()).ok()
}

/// Returns the bytes of a value of a type.
pub(super) fn bytes_of(ty: &str) -> Option<u32> {
    Word::from_word(ty).map(Word::bytes)
}

/// An integer type.
#[derive(Clone, Copy)]
pub(super) struct Type {
    pub(super) bits: u8,
    pub(super) is_signed: bool,
}

/// Returns the integer type of a word.
pub(super) fn integer(word: &str) -> Option<Type> {
    use Word::{B8, B16, B32, B64, S8, S16, S32, S64, U8, U16, U32, U64};
    let ty = Word::from_word(word)?;
    let is_signed = match ty {
        B8 | B16 | B32 | B64 | U8 | U16 | U32 | U64 => false,
        S8 | S16 | S32 | S64 => true,
        _ => return None,
    };
    Some(Type { bits: u8::try_from(ty.bits()).ok()?, is_signed })
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    Register(u32),
    Object(u32),
    /// A parameter of the kernel.
    Parameter(usize),
    /// A parameter or result of a function, in the `.param` space.
    Slot(usize),
    /// A parameter of the function itself: the caller's value.
    Input(usize),
    /// A special register, of which something may be known.
    Special(Option<Special>),
    WarpSize,
    Function,
    /// Nothing that a value can be read from.
    Other,
    Undeclared,
}

impl<'m, 'a> Lowering<'m, 'a> {
    /// Returns what a name stands for in the function that is lowered now.
    pub(super) fn find(&mut self, name: &Name<'a>) -> Meaning {
        let frame = &self.frame;
        match name.entity {
            Entity::Special(it) => special(it, name.part),
            _ if name.part.is_some() => Meaning::Other,
            Entity::Register(at) => {
                if let Some(known) = frame.registers[at] {
                    return Meaning::Register(known);
                }
                let register = frame.body.registers[at];
                let bits = u8::try_from(register.ty.bits()).unwrap_or(u8::MAX);
                if register.lanes > 1 {
                    return Meaning::Other;
                }
                let new = self.new_register(bits);
                self.frame.registers[at] = Some(new);
                Meaning::Register(new)
            }
            Entity::Local(at) => match frame.variables[at] {
                LocalPlace::Object(object) => Meaning::Object(object),
                LocalPlace::Slot(slot) => Meaning::Slot(slot),
                LocalPlace::None => Meaning::Other,
            },
            Entity::Variable(at) => self.globals[at].map_or(Meaning::Other, Meaning::Object),
            Entity::Parameter(at) if self.callers.is_empty() => Meaning::Parameter(at),
            Entity::Parameter(at) => {
                frame.parameters.get(at).map_or(Meaning::Other, |slot| Meaning::Input(*slot))
            }
            Entity::Result(at) => frame.results.get(at).map_or(Meaning::Other, |slot| Meaning::Slot(*slot)),
            Entity::WarpSize => Meaning::WarpSize,
            Entity::Function(_) | Entity::Alias(_) => Meaning::Function,
            Entity::Sink | Entity::Label(_) | Entity::List(_) | Entity::Prototype(_) => Meaning::Other,
            Entity::Undeclared => Meaning::Undeclared,
        }
    }

    pub(super) fn register(&mut self, name: &Name<'a>) -> Refused<u32> {
        match self.find(name) {
            Meaning::Register(register) => Ok(register),
            _ => Err(format!("{name} is not a register")),
        }
    }

    pub(super) fn bits(&self, register: u32) -> u8 {
        self.kernel.registers.get(register as usize).copied().unwrap_or(1)
    }

    /// Lowers a value of a number of bits. The register may have more if `may_be_wider`.
    pub(super) fn value(&mut self, source: &Source<'a>, bits: u8, may_be_wider: bool) -> Refused<Operand> {
        match source {
            Source::Constant(constant) => self.constant(*constant, bits),
            Source::Offset(name, by) => {
                let base = self.named(name, bits, false)?;
                let to = self.temporary(bits);
                let from = vec![base, number(i128::from(*by), bits)?];
                self.push(Step { bits, to: vec![to], from, ..Step::new(Op::Add) });
                Ok(Operand::Register(to))
            }
            Source::Name(name) => self.named(name, bits, may_be_wider),
            _ => Err("an operand of an unknown form".to_owned()),
        }
    }

    /// ptxas converts a floating-point number of another width, or takes its bits: nvcc writes none.
    fn constant(&self, constant: Constant, bits: u8) -> Refused<Operand> {
        if let Constant::Integer(value) = constant {
            return number(value, bits);
        }
        let own = if matches!(constant, Constant::Single(_)) { 32 } else { 64 };
        let value = constant.bits(bits.into());
        let value = value.ok_or_else(|| {
            format!("a floating-point number of {own} bits where the instruction has {bits}")
        })?;
        number(i128::from(value), bits)
    }

    /// Lowers the value of a name.
    pub(super) fn named(&mut self, name: &Name<'a>, bits: u8, may_be_wider: bool) -> Refused<Operand> {
        match self.find(name) {
            Meaning::Register(it) if self.bits(it) == bits || may_be_wider && self.bits(it) > bits => {
                Ok(Operand::Register(it))
            }
            Meaning::Register(it) => {
                Err(format!("{name} has {} bits where the instruction has {bits}", self.bits(it)))
            }
            Meaning::Special(Some(special)) => Ok(Operand::Special(special)),
            // A register that nothing writes: each use may see another value.
            Meaning::Special(None) => Ok(Operand::Register(self.temporary(bits))),
            Meaning::Object(object) if bits >= 32 => Ok(Operand::Object(object)),
            Meaning::Parameter(index) if bits == 64 => Ok(Operand::Object(self.parameter_object(index))),
            Meaning::WarpSize => Ok(Operand::Number(32)),
            Meaning::Function => Err(format!("the address of the function {name} is taken")),
            Meaning::Undeclared => Err(format!("{name} is not declared in this PTX")),
            _ => Err(format!("the address of {name} is taken")),
        }
    }

    /// Returns the object that a parameter of the kernel is.
    fn parameter_object(&mut self, index: usize) -> u32 {
        let name = format!("parameter {index}");
        let known = self.kernel.objects.iter().position(|it| it.space == Space::Param && it.name == name);
        let at = known.unwrap_or_else(|| {
            let Parameter { bytes, align, .. } = self.kernel.parameters[index];
            let (space, bytes) = (Space::Param, Some(bytes));
            self.kernel.objects.push(crate::ir::Object { name, space, bytes, align, is_own: false });
            self.kernel.objects.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    pub(super) fn predicate(&mut self, source: &Source<'a>) -> Refused<Operand> {
        match source {
            Source::Not(inner) => match self.predicate(inner)? {
                Operand::Register(it) => Ok(Operand::Negated(it)),
                Operand::Number(it) => Ok(Operand::Number(1 - it)),
                _ => Err("a predicate is negated twice".to_owned()),
            },
            Source::Constant(Constant::Integer(value)) => Ok(Operand::Number(i64::from(*value != 0))),
            Source::Name(name) => {
                let register = self.register(name)?;
                if self.bits(register) == 1 {
                    Ok(Operand::Register(register))
                } else {
                    Err(format!("{name} is no predicate"))
                }
            }
            _ => Err("a predicate of an unknown form".to_owned()),
        }
    }

    /// Returns the registers among the results of an instruction; `_` is none. No manual says which value a
    /// register has that is written twice.
    pub(super) fn results(&mut self, source: &Source<'a>) -> Refused<Vec<u32>> {
        let all = self.each_result(source)?;
        if all.iter().enumerate().any(|(at, it)| all[..at].contains(it)) {
            return Err("one register twice among the results".to_owned());
        }
        Ok(all)
    }

    /// Returns the registers of an operand that is a vector of them, or one.
    pub(super) fn each_result(&mut self, source: &Source<'a>) -> Refused<Vec<u32>> {
        match source {
            Source::Name(Name { entity: Entity::Sink, .. }) => Ok(Vec::new()),
            Source::Name(name) => Ok(vec![self.register(name)?]),
            Source::Vector(list) => {
                let lists: Refused<Vec<_>> = list.iter().map(|it| self.each_result(it)).collect();
                Ok(lists?.concat())
            }
            Source::Pair(both) => Ok([self.each_result(&both[0])?, self.each_result(&both[1])?].concat()),
            _ => Err("a result of an unknown form".to_owned()),
        }
    }

    pub(super) fn result(&mut self, source: &Source<'a>) -> Refused<u32> {
        match self.results(source)?[..] {
            [register] => Ok(register),
            _ => Err("an instruction with another number of results".to_owned()),
        }
    }

    /// Says that nothing is known of the results but their width, and from which registers they come.
    pub(super) fn unknown(&mut self, results: Vec<u32>, origin: Origin, sources: &[Source<'a>]) {
        for to in results {
            let bits = self.bits(to);
            let (low, high) =
                if bits >= 64 { (i64::MIN, i64::MAX) } else { (-1 << (bits - 1), (1 << (bits - 1)) - 1) };
            self.within(to, low, high, origin, sources);
        }
    }

    pub(super) fn within(&mut self, to: u32, low: i64, high: i64, origin: Origin, sources: &[Source<'a>]) {
        let mut from = vec![Operand::Number(low), Operand::Number(high)];
        // Of a predicate nothing is known in any case.
        if self.bits(to) > 1 {
            sources.iter().for_each(|it| self.registers_of(it, &mut from));
        }
        self.push(Step { bits: self.bits(to), to: vec![to], from, origin, ..Step::new(Op::Unknown) });
    }

    /// Adds the registers of an operand that hold numbers.
    fn registers_of(&mut self, source: &Source<'a>, list: &mut Vec<Operand>) {
        match source {
            Source::Name(name) => {
                if let Meaning::Register(it) = self.find(name)
                    && self.bits(it) > 1
                {
                    list.push(Operand::Register(it));
                }
            }
            Source::Vector(all) => all.iter().for_each(|it| self.registers_of(it, list)),
            Source::Pair(both) => both.iter().for_each(|it| self.registers_of(it, list)),
            _ => {}
        }
    }
}

/// Makes a constant of a number of bits, as a signed number.
pub(super) fn number(value: i128, bits: u8) -> Refused<Operand> {
    let range = 1_i128 << bits.min(64);
    let value = value.rem_euclid(range);
    let value = if value >= range / 2 { value - range } else { value };
    i64::try_from(value).map(Operand::Number).map_err(|_| "a number that is too large".to_owned())
}

/// Returns the state space of an instruction's words.
pub(super) fn space_of(words: &[&str]) -> Refused<Space> {
    let space = |word: &str| match word.split("::").next()? {
        "global" => Some(Space::Global),
        "shared" => Some(Space::Shared),
        "local" => Some(Space::Local),
        "const" => Some(Space::Const),
        "param" => Some(Space::Param),
        _ => None,
    };
    words.iter().find_map(|word| space(word)).ok_or_else(|| format!("the instruction {}", words.join(".")))
}

/// Returns what is known of a special register.
fn special(it: cuda_ptx::Special, part: Option<Part<'_>>) -> Meaning {
    use cuda_ptx::Special as S;
    let axis = |kind: u8| match part {
        Some(Part::Element(at @ 0..3)) => Meaning::Special(Some(Special(3 * kind + at))),
        _ => Meaning::Other,
    };
    match it {
        S::Tid => axis(0),
        S::Ntid => axis(1),
        S::Ctaid => axis(2),
        S::Nctaid => axis(3),
        S::ClusterCtaid => axis(4),
        S::ClusterNctaid => axis(5),
        _ if part.is_some() != it.has_parts() => Meaning::Other,
        S::Laneid => Meaning::Special(Some(Special::LANE)),
        S::DynamicSmemSize => Meaning::Special(Some(Special::DYNAMIC_BYTES)),
        S::Envreg(1) => Meaning::Special(Some(Special::WORKSPACE[0])),
        S::Envreg(2) => Meaning::Special(Some(Special::WORKSPACE[1])),
        _ => Meaning::Special(None),
    }
}
