//! A tiny interpreter of PTX, written from the PTX manual and independent of the lowering and the analysis.
//! It runs one thread. What the thread loads from memory is random, but for its own stack, and so are most
//! floating-point results: the proof has to hold for all of them.

mod floats;

use std::collections::HashMap;

use cuda_ptx::{
    Body, Constant, Entity, Function, Instruction, Linkage, Module, Name, Operand, Part, Space, Special,
    Statement, Type, Variable,
};

/// Returns the bytes of a value of a type.
fn bytes_of(word: &str) -> Option<u32> {
    Type::from_word(word).map(Type::bytes)
}

/// A small random number generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ it >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number that is often near a bound.
    pub(crate) fn tricky(&mut self, near: &[u64]) -> u64 {
        match self.below(8) {
            0 => self.next(),
            1 => self.next() >> 32,
            2 => self.below(4).wrapping_sub(2),
            3 => [0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x1_0000_0000]
                [usize::try_from(self.below(4)).unwrap()],
            4 => self.below(300),
            _ if near.is_empty() => self.below(64),
            _ => {
                let one = near[usize::try_from(self.below(near.len() as u64)).unwrap()];
                one.wrapping_add(self.below(5)).wrapping_sub(2)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) writes: bool,
    pub(crate) reads: bool,
    pub(crate) line: u32,
}

/// Where everything lies. Spaces are far from each other, and so are the objects in them.
pub(crate) const SHARED: u64 = 0x10_0000;
pub(crate) const LOCAL: u64 = 0x20_0000;
pub(crate) const PARAM: u64 = 0x1000;
pub(crate) const WINDOW: u64 = 1 << 40;
pub(crate) const VARIABLES: u64 = 1 << 42;
pub(crate) const CONSTANTS: u64 = 1 << 43;
/// The workspace of the grid's barrier. Its halves differ.
pub(crate) const WORKSPACE: u64 = (1 << 45) + 0xffff_ff00;

pub(crate) struct Machine<'m, 'a> {
    pub(crate) module: &'m Module<'a>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) tid: [u32; 3],
    pub(crate) ctaid: [u32; 3],
    pub(crate) near: Vec<u64>,
    pub(crate) random: Random,
    /// Addresses and sizes of variables by name: in their own space.
    pub(crate) objects: HashMap<String, (u64, u64)>,
    pub(crate) seen: Vec<Seen>,
    /// The bytes that the thread has stored in local memory.
    stack: HashMap<u64, u8>,
    pub(crate) steps: u32,
    next: u64,
}

/// How a thread ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Returned,
    Exited,
    /// It did not end in time.
    TooLong,
    /// An instruction or a form that the interpreter does not know.
    Unknown(String),
}

type Slots = HashMap<Entity, Vec<u8>>;

/// The registers and parameters of a call.
struct Frame<'f, 'a> {
    body: &'f Body<'a>,
    registers: HashMap<Entity, u64>,
    slots: Slots,
}

impl Frame<'_, '_> {
    fn width(&self, name: &Name<'_>) -> Option<u32> {
        match name.entity {
            Entity::Register(at) => Some(self.body.registers[at].ty.bits()),
            _ => None,
        }
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn sign(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits.min(64);
    (value << shift).cast_signed() >> shift
}

impl<'m, 'a> Machine<'m, 'a> {
    pub(crate) fn new(
        module: &'m Module<'a>,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        random: Random,
    ) -> Self {
        Self {
            module,
            grid,
            block,
            shared,
            tid: [0; 3],
            ctaid: [0; 3],
            near: Vec::new(),
            random,
            objects: HashMap::new(),
            seen: Vec::new(),
            stack: HashMap::new(),
            steps: 0,
            next: 0,
        }
    }

    /// Runs a thread of a kernel whose parameters have these bytes.
    pub(crate) fn run(&mut self, kernel: &'m Function<'a>, parameters: &[Vec<u8>]) -> End {
        (self.next, self.steps) = (0, 0);
        self.objects.clear();
        self.seen.clear();
        self.stack.clear();
        for variable in &self.module.variables {
            self.place(variable);
        }
        let mut slots = Slots::new();
        for (index, (variable, bytes)) in kernel.parameters.iter().zip(parameters).enumerate() {
            slots.insert(Entity::Parameter(index), bytes.clone());
            self.place_at(variable.name, Space::Param, Some(bytes.len() as u64), 16);
        }
        self.objects.insert("the grid's barrier".to_owned(), (WORKSPACE + 4, 4));
        self.call(kernel, &mut slots, 0)
    }

    fn place(&mut self, variable: &Variable<'_>) {
        let bytes = variable.bytes().filter(|_| variable.linkage != Linkage::Extern);
        self.place_at(variable.name, variable.space, bytes, variable.align());
    }

    fn place_at(&mut self, name: &str, space: Space, bytes: Option<u64>, align: u32) {
        let from = match space {
            Space::Shared => SHARED,
            Space::Local => LOCAL,
            Space::Param => PARAM,
            Space::Const => CONSTANTS,
            _ => VARIABLES,
        };
        // All dynamic shared memory is one array.
        let (at, size) = match (space, bytes) {
            (Space::Shared, None) => (SHARED + 0x8_0000, u64::from(self.shared)),
            (_, bytes) => (from + self.next.next_multiple_of(u64::from(align.max(16))), bytes.unwrap_or(0)),
        };
        if bytes.is_some() {
            self.next = at - from + size + 0x1000;
        }
        self.objects.insert(name.to_owned(), (at, size));
    }

    fn call(&mut self, function: &'m Function<'a>, slots: &mut Slots, depth: u32) -> End {
        let Some(body) = &function.body else { return End::Unknown("a declaration".to_owned()) };
        let mut frame = Frame { body, registers: HashMap::new(), slots: std::mem::take(slots) };
        for (index, it) in body.variables.iter().enumerate() {
            if it.space == Space::Param {
                let bytes = usize::try_from(it.bytes().unwrap_or(0)).unwrap();
                frame.slots.insert(Entity::Local(index), vec![0; bytes]);
            } else if it.space != Space::Global || !self.objects.contains_key(it.name) {
                // A global variable is the same one in each call.
                self.place(it);
            }
        }
        for (index, result) in function.results.iter().enumerate() {
            let bytes = usize::try_from(result.bytes().unwrap_or(0)).unwrap();
            frame.slots.insert(Entity::Result(index), vec![0; bytes]);
        }
        let mut at = 0;
        while let Some(statement) = body.statements.get(at) {
            at += 1;
            let Statement::Instruction(it) = statement else { continue };
            self.steps += 1;
            if self.steps > 3_000 {
                return End::TooLong;
            }
            if let Some((name, is_negated)) = &it.guard
                && (self.register(&mut frame, name) & 1 == 1) == *is_negated
            {
                continue;
            }
            match self.instruction(&mut frame, it, depth) {
                Ok(None) => {}
                Ok(Some(Name { entity: Entity::Label(label), .. })) => at = body.labels[*label].statement,
                Ok(Some(name)) => return End::Unknown(format!("no label {}", name.text)),
                Err(End::Returned) => break,
                Err(end) => return end,
            }
        }
        *slots = frame.slots;
        End::Returned
    }

    fn register(&mut self, frame: &mut Frame<'_, '_>, name: &Name<'_>) -> u64 {
        // What was never written is something else each time.
        frame.registers.get(&name.entity).copied().unwrap_or_else(|| self.random.tricky(&self.near))
    }

    fn set(frame: &mut Frame<'_, '_>, name: &Name<'_>, value: u64) {
        if name.entity != Entity::Sink {
            let bits = frame.width(name).unwrap_or(64);
            frame.registers.insert(name.entity, value & mask(bits));
        }
    }

    fn value(&mut self, frame: &mut Frame<'_, '_>, operand: &Operand<'_>, bits: u32) -> Result<u64, End> {
        let unknown = || Err(End::Unknown(format!("operand {operand:?}")));
        let value = match operand {
            Operand::Constant(constant @ Constant::Integer(_)) => constant.bits(64).unwrap(),
            Operand::Constant(constant) => match constant.bits(bits) {
                Some(bits) => bits,
                None => return unknown(),
            },
            Operand::Not(inner) => 1 ^ self.value(frame, inner, 1)?,
            Operand::Offset(name, by) => {
                self.value(frame, &Operand::Name(*name), bits)?.wrapping_add_signed(*by)
            }
            Operand::Name(name) => match (name.entity, name.part) {
                (Entity::Special(Special::Tid), Some(Part::Element(at))) => self.tid[usize::from(at)].into(),
                (Entity::Special(Special::Ntid), Some(Part::Element(at))) => {
                    self.block[usize::from(at)].into()
                }
                (Entity::Special(Special::Ctaid), Some(Part::Element(at))) => {
                    self.ctaid[usize::from(at)].into()
                }
                (Entity::Special(Special::Nctaid), Some(Part::Element(at))) => {
                    self.grid[usize::from(at)].into()
                }
                (Entity::Special(Special::Laneid), _) => {
                    let [x, y, _] = self.block;
                    u64::from((self.tid[2] * y + self.tid[1]) * x + self.tid[0]) % 32
                }
                (Entity::Special(Special::Envreg(1)), _) => WORKSPACE >> 32,
                (Entity::Special(Special::Envreg(2)), _) => WORKSPACE & mask(32),
                (Entity::Special(_), _) => self.random.tricky(&self.near),
                (Entity::WarpSize, _) => 32,
                (Entity::Register(_), _) => self.register(frame, name),
                _ => match self.objects.get(name.text) {
                    Some((at, _)) => *at,
                    None => return unknown(),
                },
            },
            _ => return unknown(),
        };
        Ok(value & mask(bits))
    }

    fn float(&mut self) -> u64 {
        floats::random(&mut self.random)
    }

    /// Runs an instruction. Returns the label to go to.
    fn instruction<'f>(
        &mut self,
        frame: &mut Frame<'f, 'a>,
        it: &'f Instruction<'a>,
        depth: u32,
    ) -> Result<Option<&'f Name<'a>>, End>
    where
        'm: 'f,
    {
        let name = it.words[0];
        let o = &it.operands[..];
        let has = |word: &str| it.has(word);
        let last = *it.words.last().unwrap();
        let integer = matches!(last.as_bytes().first(), Some(b'u' | b's' | b'b')) && bytes_of(last).is_some();
        let is_signed = last.starts_with('s');
        let bits = bytes_of(last).unwrap_or(4) * 8;
        let unknown = || Err(End::Unknown(it.words.join(".")));
        match name {
            "bra" => {
                let Operand::Name(label) = &o[0] else { return unknown() };
                return Ok(Some(label));
            }
            "brx" => {
                let (index, Operand::Name(Name { entity: Entity::List(list), .. })) =
                    (self.value(frame, &o[0], 32)?, &o[1])
                else {
                    return unknown();
                };
                let body = frame.body;
                let targets = &body.lists[*list].targets;
                // An index past the list is undefined.
                let index = usize::try_from(index).unwrap() % targets.len();
                return Ok(Some(&targets[index]));
            }
            "ret" => return Err(End::Returned),
            "exit" | "trap" => return Err(End::Exited),
            "bar" | "barrier" if !has("red") => {}
            "membar" | "fence" | "nanosleep" | "prefetch" | "sust" => {}
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(frame, it, bits)?,
            "call" => return self.enter(frame, it, depth).map(|()| None),
            "setp" => {
                let relation = it.words[1];
                let mut test = if integer && last != "b128" {
                    let (a, b) = (self.value(frame, &o[1], bits)?, self.value(frame, &o[2], bits)?);
                    let (sa, sb) = (sign(a, bits), sign(b, bits));
                    match relation {
                        "eq" => a == b,
                        "ne" => a != b,
                        "lt" => {
                            if is_signed {
                                sa < sb
                            } else {
                                a < b
                            }
                        }
                        "le" => {
                            if is_signed {
                                sa <= sb
                            } else {
                                a <= b
                            }
                        }
                        "gt" => {
                            if is_signed {
                                sa > sb
                            } else {
                                a > b
                            }
                        }
                        "ge" => {
                            if is_signed {
                                sa >= sb
                            } else {
                                a >= b
                            }
                        }
                        "lo" => a < b,
                        "ls" => a <= b,
                        "hi" => a > b,
                        "hs" => a >= b,
                        _ => return unknown(),
                    }
                } else if last == "f32" || last == "f64" {
                    let (a, b) = (self.value(frame, &o[1], bits)?, self.value(frame, &o[2], bits)?);
                    let float = |it: u64| match u32::try_from(it) {
                        Ok(it) if bits == 32 => f64::from(f32::from_bits(it)),
                        _ => f64::from_bits(it),
                    };
                    let (a, b) = (float(a), float(b));
                    let is_nan = a.is_nan() || b.is_nan();
                    let (relation, of_nan) = match relation.strip_suffix('u') {
                        Some(relation) => (relation, true),
                        None => (relation, false),
                    };
                    match relation {
                        _ if is_nan && ["eq", "ne", "lt", "le", "gt", "ge"].contains(&relation) => of_nan,
                        "eq" => a == b,
                        "ne" => a != b,
                        "lt" => a < b,
                        "le" => a <= b,
                        "gt" => a > b,
                        "ge" => a >= b,
                        _ => self.random.below(2) == 0,
                    }
                } else {
                    self.random.below(2) == 0
                };
                let mut opposite = !test;
                if let Some(more) = o.get(3) {
                    let more = self.value(frame, more, 1)? & 1 == 1;
                    let combine = |test: bool| match it.words[2] {
                        "and" => test && more,
                        "or" => test || more,
                        _ => test ^ more,
                    };
                    (test, opposite) = (combine(test), combine(opposite));
                }
                match &o[0] {
                    Operand::Name(to) => Self::set(frame, to, u64::from(test)),
                    Operand::Pair(both) => {
                        for (to, value) in both.iter().zip([test, opposite]) {
                            if let Operand::Name(to) = to {
                                Self::set(frame, to, u64::from(value));
                            }
                        }
                    }
                    _ => return unknown(),
                }
            }
            "mov" if matches!(o[0], Operand::Vector(_)) || matches!(o[1], Operand::Vector(_)) => {
                self.pack(frame, &o[0], &o[1])?
            }
            "cvta" => {
                let value = self.value(frame, &o[1], 64)?;
                let Operand::Name(to) = &o[0] else { return unknown() };
                let offset = if has("global") { 0 } else { WINDOW };
                Self::set(
                    frame,
                    to,
                    if has("to") { value.wrapping_sub(offset) } else { value.wrapping_add(offset) },
                );
            }
            _ => {
                let Some(to) = o.first() else { return unknown() };
                let value = self.compute(frame, it, bits, is_signed, integer)?;
                match (to, value) {
                    (Operand::Name(to), Some(value)) => Self::set(frame, to, value),
                    (to, _) => self.scatter(frame, to),
                }
            }
        }
        Ok(None)
    }

    /// Writes random numbers.
    fn scatter(&mut self, frame: &mut Frame<'_, '_>, to: &Operand<'_>) {
        match to {
            Operand::Name(to) => {
                let value =
                    if self.random.below(2) == 0 { self.float() } else { self.random.tricky(&self.near) };
                Self::set(frame, to, value);
            }
            Operand::Vector(all) => all.iter().for_each(|to| self.scatter(frame, to)),
            Operand::Pair(both) => both.iter().for_each(|to| self.scatter(frame, to)),
            _ => {}
        }
    }

    fn pack(&mut self, frame: &mut Frame<'_, '_>, to: &Operand<'_>, from: &Operand<'_>) -> Result<(), End> {
        let width = |frame: &Frame<'_, '_>, operand: &Operand<'_>| match operand {
            Operand::Name(name) => frame.width(name).unwrap_or(32),
            _ => 32,
        };
        let mut parts: Vec<(u64, u32)> = Vec::new();
        match from {
            Operand::Vector(all) => {
                for one in all {
                    let bits = width(frame, one);
                    parts.push((self.value(frame, one, bits)?, bits));
                }
            }
            one => {
                let bits = width(frame, one);
                parts.push((self.value(frame, one, bits)?, bits));
            }
        }
        let (mut whole, mut shift) = (0_u128, 0);
        for (value, bits) in parts {
            whole |= u128::from(value) << shift;
            shift += bits;
        }
        let all = match to {
            Operand::Vector(all) => all.clone(),
            one => vec![one.clone()],
        };
        for one in all {
            let bits = width(frame, &one);
            if let Operand::Name(to) = &one {
                Self::set(frame, to, u64::try_from(whole & u128::from(mask(bits))).unwrap());
            }
            whole >>= bits;
        }
        Ok(())
    }

    /// Returns what an instruction computes, or nothing if it is random.
    fn compute(
        &mut self,
        frame: &mut Frame<'_, '_>,
        it: &Instruction<'_>,
        bits: u32,
        is_signed: bool,
        integer: bool,
    ) -> Result<Option<u64>, End> {
        let (name, o) = (it.words[0], &it.operands[..]);
        let known = "mov add sub mul mad mul24 mad24 neg not abs min max and or xor shl shr div rem cvt selp \
            bfe bfi popc clz brev bfind";
        let odd = ["sat", "cc", "relu", "hi"].iter().any(|word| it.words.contains(word)) && name != "mul";
        if let Some(value) = self.computed_float(frame, it)? {
            return Ok(Some(value));
        }
        if !known.split(' ').any(|word| word == name)
            || odd
            || (name == "add" && it.words.len() > 2 && !integer)
        {
            return Ok(None);
        }
        if *it.words.last().unwrap() == "pred" {
            let a = self.value(frame, &o[1], 1)?;
            let b = if o.len() > 2 { self.value(frame, &o[2], 1)? } else { 0 };
            return Ok(Some(match name {
                "mov" => a,
                "not" => 1 ^ a,
                "and" => a & b,
                "or" => a | b,
                _ => a ^ b,
            }));
        }
        if name == "cvt" {
            let types: Vec<&str> = it.words.iter().copied().filter(|word| bytes_of(word).is_some()).collect();
            let whole = |ty: &str| !ty.contains('f');
            let [to, from] = types[..] else { return Ok(None) };
            if !whole(to) {
                return Ok(None);
            }
            if !whole(from) {
                // A float becomes any number of the type.
                let (bits, value) = (bytes_of(to).unwrap() * 8, self.random.tricky(&self.near));
                let is_signed = to.starts_with('s');
                return Ok(Some(if is_signed {
                    sign(value, bits).cast_unsigned()
                } else {
                    value & mask(bits)
                }));
            }
            let (to_bits, from_bits) = (bytes_of(to).unwrap() * 8, bytes_of(from).unwrap() * 8);
            let value = self.value(frame, &o[1], from_bits)?;
            let value = if from.starts_with('s') { sign(value, from_bits).cast_unsigned() } else { value };
            let value = value & mask(to_bits);
            return Ok(Some(if to.starts_with('s') { sign(value, to_bits).cast_unsigned() } else { value }));
        }
        if name == "mov" || name == "selp" {
            let a = self.value(frame, &o[1], bits)?;
            if name == "mov" {
                return Ok(Some(a));
            }
            let b = self.value(frame, &o[2], bits)?;
            return Ok(Some(if self.value(frame, &o[3], 1)? & 1 == 1 { a } else { b }));
        }
        if name == "abs" && matches!(it.words.last(), Some(&("f32" | "f64"))) {
            let whole = self.value(frame, &o[1], bits)? & mask(bits - 1);
            let infinity = if bits == 32 { 0x7f80_0000 } else { 0x7ff0_0000_0000_0000 };
            // Any NaN, for a NaN.
            let other = self.random.tricky(&self.near) & mask(bits) | infinity | 1;
            return Ok(Some(if whole > infinity { other } else { whole }));
        }
        if !integer || bits > 64 {
            return Ok(None);
        }
        let a = self.value(frame, &o[1], bits)?;
        let shifts = name == "shl" || name == "shr";
        let b = match o.get(2) {
            Some(b) => self.value(frame, b, if shifts { 32 } else { bits })?,
            None => 0,
        };
        let (sa, sb) = (sign(a, bits), sign(b, bits));
        let wide = |value: u64| if is_signed { i128::from(sign(value, bits)) } else { i128::from(value) };
        let low = |value: i128| u64::try_from(value & i128::from(u64::MAX)).unwrap();
        Ok(Some(match name {
            "add" => a.wrapping_add(b),
            "sub" => a.wrapping_sub(b),
            "mul" | "mad" => {
                let product = wide(a).wrapping_mul(wide(b));
                let product = if it.words.contains(&"hi") { product >> bits } else { product };
                let is_wide = it.words.contains(&"wide");
                let added = match o.get(3).filter(|_| name == "mad") {
                    Some(c) => self.value(frame, c, if is_wide { bits * 2 } else { bits })?,
                    None => 0,
                };
                low(product).wrapping_add(added)
            }
            "mul24" | "mad24" => {
                let part = |value: u64| {
                    if is_signed { i128::from(sign(value, 24)) } else { i128::from(value & mask(24)) }
                };
                let added = match o.get(3) {
                    Some(c) => self.value(frame, c, bits)?,
                    None => 0,
                };
                low(part(a) * part(b)).wrapping_add(added)
            }
            "neg" => a.wrapping_neg(),
            "not" => !a,
            "abs" => sa.unsigned_abs(),
            "min" => {
                if is_signed {
                    sa.min(sb).cast_unsigned()
                } else {
                    a.min(b)
                }
            }
            "max" => {
                if is_signed {
                    sa.max(sb).cast_unsigned()
                } else {
                    a.max(b)
                }
            }
            "and" => a & b,
            "or" => a | b,
            "xor" => a ^ b,
            "shl" => {
                if b >= u64::from(bits) {
                    0
                } else {
                    a << b
                }
            }
            "shr" if is_signed => (sa >> b.min(u64::from(bits) - 1)).cast_unsigned(),
            "shr" => {
                if b >= u64::from(bits) {
                    0
                } else {
                    a >> b
                }
            }
            // By zero, the result is not specified.
            "div" | "rem" if b == 0 => self.random.tricky(&self.near),
            "div" => {
                if is_signed {
                    sa.wrapping_div(sb).cast_unsigned()
                } else {
                    a / b
                }
            }
            "rem" => {
                if is_signed {
                    sa.wrapping_rem(sb).cast_unsigned()
                } else {
                    a % b
                }
            }
            "popc" => u64::from(a.count_ones()),
            "clz" => u64::from(a.leading_zeros()) - (64 - u64::from(bits)),
            "brev" => a.reverse_bits() >> (64 - bits),
            "bfind" if !is_signed && a == 0 => 0xffff_ffff,
            "bfind" if !is_signed => {
                let place = 63 - u64::from(a.leading_zeros());
                if it.words.contains(&"shiftamt") { u64::from(bits) - 1 - place } else { place }
            }
            "bfi" => {
                let (start, length) =
                    (self.value(frame, &o[3], 32)? & 0xff, self.value(frame, &o[4], 32)? & 0xff);
                let part = mask(u32::try_from(length.min(64)).unwrap());
                let place = |it: u64| if start >= 64 { 0 } else { it << start };
                b & !place(part) | place(a & part)
            }
            "bfe" if !is_signed => {
                let (start, length) = (b & 0xff, self.value(frame, &o[3], 32)? & 0xff);
                let part = if start >= 64 { 0 } else { a >> start };
                part & mask(u32::try_from(length).unwrap())
            }
            _ => return Ok(None),
        }))
    }

    fn memory(&mut self, frame: &mut Frame<'_, '_>, it: &Instruction<'_>, bits: u32) -> Result<(), End> {
        let (name, o) = (it.words[0], &it.operands[..]);
        let is_load = name == "ld" || name == "ldu";
        let at = usize::from(is_load || name == "atom");
        let Some(Operand::Address(base, offset)) = o.get(at) else {
            return Err(End::Unknown(it.words.join(".")));
        };
        let lanes = it.words.iter().find_map(|word| word.strip_prefix('v')?.parse::<u64>().ok()).unwrap_or(1);
        let element = u64::from(bits / 8);
        let size = element * lanes;
        fn list<'o, 'a>(operand: &'o Operand<'a>) -> Vec<&'o Name<'a>> {
            let name = |it: &'o Operand<'a>| if let Operand::Name(it) = it { Some(it) } else { None };
            match operand {
                Operand::Vector(all) => all.iter().filter_map(name).collect(),
                one => name(one).into_iter().collect(),
            }
        }
        if let Some(Name { entity: slot, .. }) = base
            && frame.slots.contains_key(slot)
            && it.words.iter().any(|word| word.starts_with("param"))
        {
            let offset =
                usize::try_from(*offset).map_err(|_| End::Unknown("an offset below zero".to_owned()))?;
            let size = usize::try_from(element).unwrap();
            let operands = match &o[1 - at] {
                Operand::Vector(all) => all.clone(),
                one => vec![one.clone()],
            };
            for (index, operand) in operands.iter().enumerate() {
                let (start, end) = (offset + index * size, offset + (index + 1) * size);
                if is_load {
                    let bytes = frame.slots[slot]
                        .get(start..end)
                        .ok_or(End::Unknown("a parameter's end".to_owned()))?;
                    let mut whole = [0; 8];
                    whole[..size.min(8)].copy_from_slice(&bytes[..size.min(8)]);
                    let value = u64::from_le_bytes(whole);
                    let value = if it.words.last().unwrap().starts_with('s') {
                        sign(value, bits).cast_unsigned()
                    } else {
                        value
                    };
                    if let Operand::Name(to) = operand {
                        Self::set(frame, to, value);
                    }
                } else {
                    let value = self.value(frame, operand, bits)?.to_le_bytes();
                    let bytes = frame.slots.get_mut(slot).and_then(|it| it.get_mut(start..end));
                    bytes
                        .ok_or(End::Unknown("a parameter's end".to_owned()))?
                        .copy_from_slice(&value[..size]);
                }
            }
            return Ok(());
        }
        let base_bits = base.as_ref().and_then(|name| frame.width(name)).unwrap_or(64);
        let base = match base {
            Some(name) => self.value(frame, &Operand::Name(*name), base_bits)?,
            None => 0,
        };
        let address = base.wrapping_add_signed(*offset) & mask(base_bits);
        // Generic addresses of shared and local memory are those of the window.
        let is_generic = !["global", "shared", "local", "const", "param"]
            .iter()
            .any(|space| it.words.iter().any(|word| word.split("::").next() == Some(space)));
        let is_in_window =
            [0, CONSTANTS].iter().any(|it| (WINDOW + it..WINDOW + it + (1 << 32)).contains(&address));
        let address = if is_generic && is_in_window { address - WINDOW } else { address };
        let (reads, writes) = (name != "st", !is_load);
        self.seen.push(Seen { address, size, reads, writes, line: it.line });
        let is_stack = (LOCAL..LOCAL + (1 << 20)).contains(&address);
        if is_stack && name == "st" {
            let values = match &o[1] {
                Operand::Vector(all) => &all[..],
                one => std::slice::from_ref(one),
            };
            for (value, first) in values.iter().zip((address..).step_by(usize::try_from(element).unwrap())) {
                let value = self.value(frame, value, bits)?;
                self.stack.extend((first..first + element.min(8)).zip(value.to_le_bytes()));
            }
        }
        if at == 1 {
            for (to, first) in
                list(&o[0]).into_iter().zip((address..).step_by(usize::try_from(element).unwrap()))
            {
                let mut value = self.random.tricky(&self.near) & mask(bits);
                // What the thread has stored on its stack is there still.
                let bytes = (first..first + element).map(|at| self.stack.get(&at).copied());
                if is_stack
                    && element <= 8
                    && let Some(bytes) = bytes.collect::<Option<Vec<u8>>>()
                {
                    value = bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
                }
                let value = if it.words.last().unwrap().starts_with('s') {
                    sign(value, bits).cast_unsigned()
                } else {
                    value
                };
                Self::set(frame, to, value);
            }
        }
        Ok(())
    }

    fn enter(&mut self, frame: &mut Frame<'_, 'a>, it: &Instruction<'a>, depth: u32) -> Result<(), End> {
        let mut operands = it.operands.iter().peekable();
        let names = |list: Option<&Operand<'_>>| match list {
            Some(Operand::Arguments(all)) => all
                .iter()
                .filter_map(|it| if let Operand::Name(it) = it { Some(it.entity) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        let results: Vec<Entity> = names(operands.next_if(|it| matches!(it, Operand::Arguments(_))));
        let Some(Operand::Name(name)) = operands.next() else {
            return Err(End::Unknown("a call".to_owned()));
        };
        let arguments: Vec<Entity> = names(operands.next_if(|it| matches!(it, Operand::Arguments(_))));
        let module = self.module;
        let Entity::Function(function) = name.entity else {
            return Err(End::Unknown(format!("a call of {}", name.text)));
        };
        let function = &module.functions[function];
        if function.body.is_none() {
            let is_assertion = function.name == "__assertfail";
            return Err(if is_assertion {
                End::Exited
            } else {
                End::Unknown(format!("a call of {}", name.text))
            });
        }
        if depth > 20 {
            return Err(End::TooLong);
        }
        let mut slots = Slots::new();
        for (index, argument) in (0..function.parameters.len()).zip(&arguments) {
            slots.insert(Entity::Parameter(index), frame.slots.get(argument).cloned().unwrap_or_default());
        }
        match self.call(function, &mut slots, depth + 1) {
            End::Returned => {}
            end => return Err(end),
        }
        for (index, to) in (0..function.results.len()).zip(&results) {
            if let Some(bytes) = slots.get(&Entity::Result(index)) {
                frame.slots.insert(*to, bytes.clone());
            }
        }
        Ok(())
    }
}
