//! Instructions that access memory, and the parameters of functions.

use cuda_ptx::{Entity, Instruction, Name, Operand as Source};

use super::operand::{Meaning, Type, bytes_of, integer, number, space_of};
use super::{Lowering, Refused};
use crate::ir::{Loaded, Op, Operand, Origin, Space, Step};

/// The words of loads, stores and atomic operations that say nothing about which bytes they access.
const ACCESSES: &str = "\
    global shared local const param volatile relaxed acquire release acq_rel weak mmio sys gpu cta \
    cluster nc ca cg cs cv lu wb wt L1 L2 v2 v4 v8 and or xor add inc dec min max exch cas noftz";

impl<'m, 'a> Lowering<'m, 'a> {
    /// Adds an access. `results` are the registers that a load writes, each with a part of the bytes.
    pub(super) fn memory(
        &mut self,
        op: Op,
        space: Space,
        address: &Source<'a>,
        size: u32,
        to: Vec<u32>,
        loaded: Loaded,
    ) -> Refused {
        if !(1..=1024).contains(&size) {
            return Err(format!("an access to {size} bytes"));
        }
        let from = match address {
            Source::Address(Some(name), offset) => {
                let bits = match self.find(name) {
                    Meaning::Register(register) => self.bits(register),
                    _ => 64,
                };
                vec![self.named(name, bits, false)?, number(i128::from(*offset), 64)?]
            }
            Source::Address(None, at) => vec![number(i128::from(*at), 64)?, Operand::Number(0)],
            _ => return Err("an address of an unknown form".to_owned()),
        };
        // The size of an element, if the instruction does not say another one.
        self.push(Step { to, from, size, space, loaded, bits: 128, ..Step::new(op) });
        Ok(())
    }

    /// Lowers loads, stores and atomic operations.
    pub(super) fn access(&mut self, it: &'m Instruction<'a>) -> Refused {
        let name = it.opcode();
        let form = || format!("the instruction {}", it.form());
        let has = |word: &str| it.has(word);
        // The words of vectors, orders and caches; a level of a cache is a hint.
        let is_known = |word: &&str| {
            ACCESSES.split(' ').any(|known| Some(known) == word.split("::").next())
                || bytes_of(word).is_some()
        };
        if !it.words[1..].iter().all(is_known) {
            return Err(form());
        }
        let lanes = it.words.iter().find_map(|word| word.strip_prefix('v')?.parse::<u32>().ok()).unwrap_or(1);
        let element = it.words.iter().rev().find_map(|word| bytes_of(word)).ok_or_else(form)?;
        let ty = it.words.iter().rev().find(|word| bytes_of(word).is_some()).and_then(|word| integer(word));
        let size = element.checked_mul(lanes).ok_or_else(form)?;
        let (op, address_at) = match name {
            "ld" | "ldu" => (Op::Load, 1),
            "st" => (Op::Store, 0),
            "atom" => (Op::Atomic, 1),
            _ => (Op::Atomic, 0),
        };
        let Some(address @ Source::Address(base, offset)) = it.operands.get(address_at) else {
            return Err(form());
        };
        let bits = u8::try_from(element * 8).map_err(|_| form())?;
        let results = if address_at == 1 { self.loaded(&it.operands[0], bits)? } else { Vec::new() };
        if has("param") && self.parameter(it, base.as_ref(), i128::from(*offset), element, ty)? {
            return Ok(());
        }
        let space = if has("param") { Space::Param } else { space_of(&it.words).unwrap_or(Space::Generic) };
        let loaded = if has("nc") || name == "ldu" {
            Loaded::ReadOnly
        } else if name == "atom" || ["volatile", "relaxed", "acquire", "mmio"].iter().any(|word| has(word)) {
            Loaded::Strong
        } else {
            Loaded::Weak
        };
        let fits = results.iter().all(|it| self.bits(*it) >= bits && self.bits(*it) > 1);
        if !fits {
            return Err(form());
        }
        let is_stored = name == "st" && space == Space::Local && ty.is_some();
        let stored = if is_stored { self.stored(&it.operands[1..], bits) } else { Vec::new() };
        self.memory(op, space, address, size, results, loaded)?;
        if let Some(step) = self.kernel.steps.last_mut() {
            // Those of an element. The address has those of its register.
            (step.bits, step.is_signed) = (bits, ty.is_some_and(|ty| ty.is_signed));
            step.from.extend(stored);
        }
        Ok(())
    }

    /// Returns the registers that an instruction loads. In a vector, `_` has a place as well: a load from the
    /// stack knows each register's value by its place.
    fn loaded(&mut self, results: &Source<'a>, bits: u8) -> Refused<Vec<u32>> {
        let registers = self.results(results)?;
        let Source::Vector(list) = results else { return Ok(registers) };
        let each = |it: &Source<'a>| match it {
            Source::Name(Name { entity: Entity::Sink, .. }) => Ok(self.new_register(bits)),
            one => self.result(one),
        };
        list.iter().map(each).collect()
    }

    /// Returns the values that an instruction stores on the stack: a load may read them.
    fn stored(&mut self, operands: &[Source<'a>], bits: u8) -> Vec<Operand> {
        let values = match operands {
            [Source::Vector(list)] => &list[..],
            all => all,
        };
        let mut value = |it| match self.value(it, bits, true) {
            Ok(value) => value,
            // A register that nothing writes.
            Err(_) => Operand::Register(self.temporary(bits)),
        };
        values.iter().map(&mut value).collect()
    }

    /// Lowers an access to a parameter by its name. Returns whether it is one.
    pub(super) fn parameter(
        &mut self,
        it: &'m Instruction<'a>,
        base: Option<&Name<'a>>,
        offset: i128,
        element: u32,
        ty: Option<Type>,
    ) -> Refused<bool> {
        let Some(name) = base else { return Ok(false) };
        let list = |source: &Source<'a>| match source {
            Source::Vector(list) => list.clone(),
            one => vec![one.clone()],
        };
        match self.find(name) {
            Meaning::Parameter(index) if it.opcode() == "ld" => {
                self.kernel_parameter(it, index, offset, element, ty)
            }
            Meaning::Input(_) if it.opcode() != "ld" => Err("a function writes its parameter".to_owned()),
            Meaning::Slot(slot) | Meaning::Input(slot) => {
                let is_store = it.opcode() == "st";
                let values =
                    list(it.operands.get(usize::from(is_store)).ok_or("a parameter without a value")?);
                let mut at = offset;
                for value in values {
                    let piece = self.piece(slot, at, element)?;
                    let bits = self.bits(piece);
                    at += i128::from(element);
                    if is_store {
                        // A float constant, for example: its bits may be of another width.
                        let from =
                            if bits > 64 { Err(String::new()) } else { self.value(&value, bits, true) };
                        match from {
                            Ok(from) => drop(self.push(Step {
                                bits,
                                to: vec![piece],
                                from: vec![from],
                                size: u32::from(bits),
                                ..Step::new(Op::Cvt)
                            })),
                            Err(_) => {
                                self.unknown(vec![piece], Origin::Computed, std::slice::from_ref(&value))
                            }
                        }
                    } else {
                        for to in self.results(&value)? {
                            let from = vec![Operand::Register(piece)];
                            let is_signed = ty.is_some_and(|ty| ty.is_signed);
                            if bits > 64 || self.bits(to) < bits {
                                self.unknown(vec![to], Origin::Computed, &[]);
                                if let Some(step) = self.kernel.steps.last_mut() {
                                    step.from.push(Operand::Register(piece));
                                }
                                continue;
                            }
                            let step = Step {
                                bits: self.bits(to),
                                size: u32::from(bits),
                                flag: is_signed,
                                ..Step::new(Op::Cvt)
                            };
                            self.push(Step { to: vec![to], from, ..step });
                        }
                    }
                }
                Ok(true)
            }
            Meaning::Register(_) => Ok(false),
            _ => Err(format!("{name} is no parameter that is known here")),
        }
    }

    /// Lowers a load of a parameter of the kernel.
    fn kernel_parameter(
        &mut self,
        it: &'m Instruction<'a>,
        index: usize,
        offset: i128,
        element: u32,
        ty: Option<Type>,
    ) -> Refused<bool> {
        let mut at = offset;
        let lanes = match &it.operands[0] {
            Source::Vector(list) => list.clone(),
            one => vec![one.clone()],
        };
        let size = u64::from(element) * lanes.len() as u64;
        let is_float = ty.is_none() && it.words.iter().any(|word| matches!(*word, "f32" | "f64"));
        for register in lanes {
            for to in self.results(&register)? {
                let end = u64::try_from(at + i128::from(element)).ok();
                if at < 0 || end.is_none_or(|end| end > self.kernel.parameters[index].bytes) {
                    return Err("a parameter is read past its end".to_owned());
                }
                let ty = match ty {
                    Some(ty) => ty,
                    // The bits of a floating-point number are known as well.
                    None if matches!(element, 2 | 4 | 8) => {
                        Type { bits: u8::try_from(element * 8).unwrap_or(64), is_signed: false }
                    }
                    None => return Err("a parameter of an unknown type".to_owned()),
                };
                let index = i64::try_from(index).unwrap_or(i64::MAX);
                let from = vec![Operand::Number(index), number(at, 64)?];
                let step = Step {
                    bits: ty.bits,
                    is_signed: ty.is_signed,
                    size: element,
                    flag: is_float,
                    ..Step::new(Op::Parameter)
                };
                self.push(Step { to: vec![to], from, ..step });
            }
            at += i128::from(element);
        }
        let align = u64::from(self.kernel.parameters[index].align);
        if offset % i128::from(size.max(1)) != 0 || align < size {
            return Err(format!("a parameter is read at an address that may be no multiple of {size}"));
        }
        Ok(true)
    }

    /// Returns the register that holds a piece of a function's parameter.
    pub(super) fn piece(&mut self, slot: usize, offset: i128, bytes: u32) -> Refused<u32> {
        let end = |offset: i128, bytes: u32| offset + i128::from(bytes);
        if offset % i128::from(bytes.max(1)) != 0 {
            return Err(format!("a function's parameter at an address that is no multiple of {bytes}"));
        }
        for (own, size, register) in &self.slots[slot] {
            if (*own, *size) == (offset, bytes) {
                return Ok(*register);
            }
            if *own < end(offset, bytes) && offset < end(*own, *size) {
                return Err("a function's parameter is read and written in different pieces".to_owned());
            }
        }
        let bits = u8::try_from(bytes.saturating_mul(8)).map_err(|_| "a long parameter".to_owned())?;
        let register = self.new_register(bits);
        self.slots[slot].push((offset, bytes, register));
        Ok(register)
    }

    /// Lowers an operation on a barrier in shared memory: an atomic one on its eight bytes.
    pub(super) fn barrier(&mut self, it: &'m Instruction<'a>) -> Refused {
        let form = || format!("the instruction {}", it.form());
        let is_shared = it.words.iter().any(|word| matches!(*word, "shared" | "shared::cta"));
        let at = usize::from(!it.words.iter().any(|word| matches!(*word, "init" | "inval")));
        let Some(address) = it.operands.get(at).filter(|_| is_shared) else { return Err(form()) };
        self.memory(Op::Atomic, Space::Shared, address, 8, Vec::new(), Loaded::Strong)?;
        if let Some(step) = self.kernel.steps.last_mut() {
            step.bits = 64;
        }
        if at == 1 {
            let results = self.results(&it.operands[0])?;
            self.unknown(results, Origin::Shuffle, &[]);
        }
        Ok(())
    }

    /// Lowers `wmma.load` and `wmma.store`: rows of a matrix at a stride.
    pub(super) fn matrix(&mut self, it: &'m Instruction<'a>) -> Refused {
        let form = || format!("the instruction {}", it.form());
        let is_store = it.words.get(1) == Some(&"store");
        let shape =
            it.words.iter().find(|word| word.starts_with('m') && word.contains('n') && word.contains('k'));
        let sizes: Vec<u32> =
            shape.map_or("", |it| it).split(['m', 'n', 'k']).filter_map(|it| it.parse().ok()).collect();
        let (&[m, n, k], Some(which), Some(ty)) = (&sizes[..], it.words.get(2), it.words.last()) else {
            return Err(form());
        };
        let (mut rows, mut columns) = match *which {
            "a" => (m, k),
            "b" => (k, n),
            "c" | "d" => (m, n),
            _ => return Err(form()),
        };
        if it.words.contains(&"col") {
            std::mem::swap(&mut rows, &mut columns);
        } else if !it.words.contains(&"row") {
            return Err(form());
        }
        let element = bytes_of(ty).ok_or_else(form)?;
        let (Some(address), Some(stride), 3) =
            (it.operands.get(usize::from(!is_store)), it.operands.get(2), it.operands.len())
        else {
            return Err(form());
        };
        let row = columns.checked_mul(element).ok_or_else(form)?;
        // A row begins at a multiple of what a thread has of the matrix.
        let parts = self.each_result(&it.operands[usize::from(is_store)])?;
        let align: u32 = parts.iter().map(|it| u32::from(self.bits(*it)) / 8).sum();
        if !matches!(align, 4 | 8 | 16 | 32) {
            return Err(form());
        }
        self.memory(
            if is_store { Op::Store } else { Op::Load },
            space_of(&it.words).unwrap_or(Space::Generic),
            address,
            row,
            Vec::new(),
            Loaded::Strong,
        )?;
        let stride = self.value(stride, 32, false)?;
        if let Some(mut step) = self.kernel.steps.pop() {
            step.bits = u8::try_from(element * 8).unwrap_or(64);
            step.from.insert(1, stride);
            step.from.push(Operand::Number(i64::from(rows)));
            step.from.push(Operand::Number(i64::from(element)));
            step.from.push(Operand::Number(i64::from(align)));
            (step.op, step.flag) = (Op::Matrix, is_store);
            self.kernel.steps.push(step);
        }
        if !is_store {
            let results = self.results(&it.operands[0])?;
            self.unknown(results, Origin::Memory, &[]);
        }
        Ok(())
    }
}
