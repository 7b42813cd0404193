//! A drawn kernel: how it is made, and its text.

use std::fmt::Write;

use super::forms::{COMPARISONS, Class, FORMS, OF_FLOATS, Run, Type};
use crate::tests::oracle::Random;

/// A register: its class and its number.
pub(super) type Register = (Class, usize);

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Register(Register),
    /// A number, or the bits of a float.
    Number(Class, u64),
    /// A special register by its number among `SPECIAL`.
    Special(usize),
}

pub(super) const SPECIAL: [&str; 13] = [
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%laneid",
];

/// Memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// What the first parameter points to, and the second one.
    First,
    Second,
    /// An array on the stack, and one in shared memory.
    Stack,
    Tile,
}

/// The bytes of the stack's array, and of the one in shared memory.
pub(super) const BYTES: u64 = 64;

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Computes(Type, Run),
    /// The comparison, and the word that combines it with the last operand.
    Compares(Type, &'static str, &'static str),
    Converts(Type, Type, &'static str),
    /// The upper and the lower half of a number.
    Splits,
    /// A number of the launch.
    Parameter(usize),
    Loads(Place, Type, Index),
    Stores(Place, Type, Index),
}

/// Where in its memory an access is: `scale * index + offset`. The index is the last operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    /// Of the index, if there is one.
    pub(super) ty: Option<Type>,
    pub(super) scale: i64,
    pub(super) offset: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Instruction {
    text: String,
    pub(super) guard: Option<(usize, bool)>,
    pub(super) act: Act,
    pub(super) to: Vec<Register>,
    pub(super) from: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Do(Instruction),
    /// One way where a predicate holds (or does not), another one else.
    If(usize, bool, Vec<Node>, Vec<Node>),
    Loop(Vec<Node>),
    /// Out of the loop, to its next round, or out of the function, where a predicate holds (or does not).
    Leave(Way, usize, bool),
    /// Calls a function with a word, and has one from it.
    Call(usize, Register, Register),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Break,
    Next,
    Return,
}

/// Numbers that draw programs.
pub(super) struct Draw {
    pub(super) random: Random,
    /// Numbers that the program has.
    pub(super) near: Vec<u64>,
    /// Registers of each class that are used: of few, each is read more often.
    few: usize,
    /// Registers that count rounds.
    locked: Vec<Register>,
    functions: usize,
}

/// A kernel, and the functions that it calls. Their first word is the parameter, and then the result.
pub(super) struct Program {
    pub(super) kernel: Vec<Node>,
    pub(super) functions: Vec<Vec<Node>>,
    pub(super) near: Vec<u64>,
    pub(super) text: String,
}

fn show(value: Value) -> String {
    match value {
        Value::Register((class, at)) => format!("{}{at}", class.declared().0),
        Value::Number(Class::Float, bits) => format!("0f{bits:08X}"),
        Value::Number(Class::Double, bits) => format!("0d{bits:016X}"),
        Value::Number(class, bits) => {
            let unused = 64 - class.bits();
            ((bits << unused).cast_signed() >> unused).to_string()
        }
        Value::Special(at) => SPECIAL[at].to_owned(),
    }
}

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.random.below(end as u64)).unwrap()
    }

    fn is(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn ty(&mut self, of: &'static str) -> Type {
        let all: Vec<&str> = of.split(' ').collect();
        Type(self.one(&all))
    }

    fn register(&mut self, class: Class) -> Register {
        (class, self.below(class.declared().2.min(self.few)))
    }

    /// Returns a register that may be written.
    fn target(&mut self, class: Class) -> Register {
        let all = (0..20).map(|_| self.register(class)).collect::<Vec<_>>();
        let free = all.into_iter().find(|it| !self.locked.contains(it));
        free.unwrap_or((class, class.declared().2 - 1))
    }

    /// Returns a number, which is often one at which something changes.
    fn number(&mut self, class: Class) -> Value {
        let power = 1_u64 << self.random.below(u64::from(class.bits()));
        let small = self.random.below(40);
        let bits = match (class, self.below(8)) {
            (Class::Float | Class::Double, 0) => self.random.next(),
            (Class::Float, _) => u64::from((small as f32 - 8.0).to_bits()),
            (Class::Double, _) => (small as f64 / 2.0 - 8.0).to_bits(),
            (_, 0..3) => small,
            (_, 3) => small.wrapping_neg(),
            (_, 4) => power,
            (_, 5) => power.wrapping_sub(1),
            (_, 6) => power.wrapping_neg(),
            _ => self.random.below(1000),
        };
        let bits = if class.bits() == 64 { bits } else { bits & ((1 << class.bits()) - 1) };
        self.near.push(bits);
        Value::Number(class, bits)
    }

    fn value(&mut self, class: Class) -> Value {
        if self.is(25) { self.number(class) } else { Value::Register(self.register(class)) }
    }

    fn instruction(&mut self, name: &str, act: Act, to: Vec<Register>, from: Vec<Value>) -> Instruction {
        let results: Vec<String> = to.iter().map(|it| show(Value::Register(*it))).collect();
        let operands: Vec<String> =
            std::iter::once(results.join("|")).chain(from.iter().map(|it| show(*it))).collect();
        Instruction { text: format!("{name} {};", operands.join(", ")), guard: None, act, to, from }
    }

    fn form(&mut self) -> Instruction {
        let (name, types, operands, run) = FORMS[self.below(FORMS.len())];
        let ty = self.ty(types);
        let twice = if ty.bits() == 32 { Class::Wide } else { Class::Word };
        let start = self.random.below(32);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for letter in operands.chars() {
            match letter {
                'd' => to.push(self.target(ty.class())),
                'D' => to.push(self.target(twice)),
                'w' => to.push(self.target(Class::Word)),
                'a' => from.push(Value::Register(self.register(ty.class()))),
                'v' => from.push(self.value(ty.class())),
                'V' => from.push(self.value(twice)),
                's' if self.is(70) => {
                    from.push(Value::Number(Class::Word, self.random.below(u64::from(ty.bits()) + 3)));
                }
                's' => from.push(Value::Register(self.register(Class::Word))),
                'i' => from.push(Value::Number(Class::Word, start)),
                // The rest of the bits, or some of them.
                'n' if self.is(70) => from.push(Value::Number(Class::Word, 32 - start)),
                'n' => from.push(Value::Number(Class::Word, 1 + self.random.below(32 - start))),
                _ => from.push(Value::Register(self.register(Class::Truth))),
            }
        }
        // Most numbers are divided by constants.
        if ["div", "rem"].contains(&name) && self.is(70) {
            from[1] = self.number(ty.class());
        }
        self.instruction(&format!("{name}.{}", ty.0), Act::Computes(ty, run), to, from)
    }

    fn comparison(&mut self) -> Instruction {
        let (ty, name) = if self.is(25) {
            (self.ty("f32 f64"), self.one(&OF_FLOATS))
        } else {
            (self.ty("u32 s32 u32 s32 u64 s64 u16 s16"), self.one(&COMPARISONS))
        };
        let (first, second) = (self.target(Class::Truth), self.target(Class::Truth));
        let to = if self.is(20) && first != second { vec![first, second] } else { vec![first] };
        let mut from = vec![Value::Register(self.register(ty.class())), self.value(ty.class())];
        let combined = if self.is(25) { self.one(&[".and", ".or", ".xor"]) } else { "" };
        if !combined.is_empty() {
            from.push(Value::Register(self.register(Class::Truth)));
        }
        let text = format!("setp.{name}{combined}.{}", ty.0);
        self.instruction(&text, Act::Compares(ty, name, combined), to, from)
    }

    fn conversion(&mut self) -> Instruction {
        const WHOLE: &str = "u32 s32 u64 s64 u16 s16 u8 s8";
        let (into, from) = match self.below(5) {
            0 => (self.ty("f32 f64"), self.ty("u32 s32 u64 s64 u16 s16")),
            1 => (self.ty("u32 s32 u64 s64 u16 s16"), self.ty("f32 f64")),
            2 => (self.ty("f32 f64"), self.ty("f32 f64")),
            _ => (self.ty(WHOLE), self.ty(WHOLE)),
        };
        let (is_into, is_from) = (into.0.starts_with('f'), from.0.starts_with('f'));
        let rounding = match (is_into, is_from) {
            (true, true) if into.bits() > from.bits() => "",
            (true, true) if into.bits() < from.bits() => ".rn",
            (_, true) => self.one(&[".rni", ".rzi", ".rmi", ".rpi"]),
            (true, false) => ".rn",
            _ => "",
        };
        let (to, a) = (self.target(into.class()), Value::Register(self.register(from.class())));
        let text = format!("cvt{rounding}.{}.{}", into.0, from.0);
        self.instruction(&text, Act::Converts(into, from, rounding), vec![to], vec![a])
    }

    /// Bits that become a float, and the other way round, and halves of a number.
    fn bits(&mut self) -> Instruction {
        let pairs = [(Class::Float, Class::Word), (Class::Double, Class::Wide)];
        let (one, other) = self.one(&pairs);
        let (to, from) = if self.is(50) { (one, other) } else { (other, one) };
        if self.is(40) {
            let (upper, lower) = (self.target(Class::Word), self.target(Class::Word));
            let from = Value::Register(self.register(Class::Wide));
            let names = [lower, upper, (Class::Wide, 0)].map(|it| show(Value::Register(it)));
            if upper != lower {
                let text = format!("mov.b64 {{{}, {}}}, {};", names[0], names[1], show(from));
                return Instruction {
                    text,
                    guard: None,
                    act: Act::Splits,
                    to: vec![lower, upper],
                    from: vec![from],
                };
            }
        }
        let name = if to.bits() == 64 { "mov.b64" } else { "mov.b32" };
        let (to, from) = (self.target(to), Value::Register(self.register(from)));
        self.instruction(name, Act::Computes(Type("b64"), |_, _, [a, ..]| a), vec![to], vec![from])
    }

    /// A load or a store. Most indexes of arrays on the stack and in shared memory are within these.
    fn access(&mut self, place: Place, is_store: bool) -> Vec<Instruction> {
        let ty = self.ty("u32 s32 u32 u32 u8 s8 u16 s16 u64");
        let bytes = i64::from(ty.bits() / 8);
        let is_own = matches!(place, Place::Stack | Place::Tile);
        let mut before = Vec::new();
        let index = if self.is(if is_own { 50 } else { 20 }) {
            // Few places: what is stored is loaded again.
            let offset = bytes * self.one(&[0, 0, 1, 2]);
            (Index { ty: None, scale: 0, offset }, None)
        } else {
            let of = self.ty("u32 s32 u32 s32 s64");
            let mut register = self.register(of.class());
            if is_own && self.is(85) {
                let (to, mask) = ((of.class(), of.class().declared().2 - 1), (64 / bytes - 1).unsigned_abs());
                let from = vec![Value::Register(register), Value::Number(of.class(), mask)];
                let act = Act::Computes(of, |_, _, [a, b, ..]| a & b);
                before.push(self.instruction(&format!("and.b{}", of.bits()), act, vec![to], from));
                register = to;
            }
            let scale = if self.is(80) { bytes } else { self.one(&[1, 2, 4, 8, 12, -4, 16]) };
            let offset = if is_own || self.is(60) { 0 } else { bytes * self.one(&[-1, 1, 2, -4, 100]) };
            (Index { ty: Some(of), scale, offset }, Some(Value::Register(register)))
        };
        let (index, register) = index;
        let register_of = |this: &mut Self| Value::Register(this.register(ty.class()));
        let (base, space) = match place {
            Place::First => ("%x", "global"),
            Place::Second => ("%y", "global"),
            Place::Stack => ("stack", "local"),
            Place::Tile => ("tile", "shared"),
        };
        let (mut text, mut at) = (String::new(), base.to_owned());
        if let (Some(of), Some(register)) = (index.ty, register) {
            let (to, name) = (show(register), of.0);
            // The sum is an address of its own, perhaps a generic one.
            let is_generic = is_own && self.is(30);
            let _ = write!(text, "mov.u64 %b, {base}; ");
            if is_generic {
                let _ = write!(text, "cvta.{space}.u64 %b, %b; ");
            }
            let _ = if of.bits() == 64 {
                write!(text, "mad.lo.s64 %a, {to}, {}, %b; ", index.scale)
            } else if self.is(50) || index.scale < 0 && !of.is_signed() {
                write!(text, "cvt.{}64.{name} %a, {to}; mad.lo.s64 %a, %a, {}, %b; ", &name[..1], index.scale)
            } else {
                write!(text, "mul.wide.{name} %a, {to}, {}; add.s64 %a, %a, %b; ", index.scale)
            };
            at = "%a".to_owned();
            if is_generic {
                text += "GENERIC ";
            }
        }
        let space = if text.contains("GENERIC ") { String::new() } else { format!(".{space}") };
        let mut text = text.replace("GENERIC ", "");
        let (mut to, mut from, act) = (
            Vec::new(),
            Vec::new(),
            match is_store {
                true => Act::Stores(place, ty, index),
                false => Act::Loads(place, ty, index),
            },
        );
        let offset = index.offset;
        if is_store {
            let value = register_of(self);
            let _ = write!(text, "st{space}.{} [{at}+{offset}], {};", ty.0.replace('s', "u"), show(value));
            from.push(value);
        } else {
            let target = self.target(ty.class());
            let lanes = i64::from(if place == Place::Stack { self.one(&[1, 2, 4]) } else { 1 });
            text += &if lanes > 1 && bytes * lanes <= 16 && index.ty.is_none() {
                // One number of a vector, at its place.
                let lane = offset / bytes % lanes;
                let name = |it| if it == lane { show(Value::Register(target)) } else { "_".to_owned() };
                let (start, list) =
                    (offset - lane * bytes, (0..lanes).map(name).collect::<Vec<_>>().join(", "));
                format!("ld{space}.v{lanes}.{} {{{list}}}, [{at}+{start}];", ty.0)
            } else {
                format!("ld{space}.{} {}, [{at}+{offset}];", ty.0, show(Value::Register(target)))
            };
            to.push(target);
        }
        from.extend(register);
        before.push(Instruction { text, guard: None, act, to, from });
        before
    }

    fn node(&mut self, depth: u32, nodes: &mut Vec<Node>) {
        let mut it = match self.below(48) {
            0..24 => self.form(),
            24..28 => self.conversion(),
            28..32 => self.comparison(),
            32 => self.bits(),
            33..39 => {
                let place = self.one(&[
                    Place::First,
                    Place::Second,
                    Place::Tile,
                    Place::Stack,
                    Place::Stack,
                    Place::Stack,
                ]);
                let is_store = place != Place::Second && self.is(50);
                let all = self.access(place, is_store);
                return nodes.extend(all.into_iter().map(Node::Do));
            }
            44..46 if self.functions > 0 => {
                let function = self.below(self.functions);
                let (argument, result) = (self.register(Class::Word), self.target(Class::Word));
                return nodes.push(Node::Call(function, argument, result));
            }
            46 => return self.float_guard(nodes),
            47 => return self.spill(nodes),
            39..41 if depth > 0 => return self.repeated(depth, nodes),
            41 => {
                let test = self.comparison();
                let way = Node::Leave(Way::Return, test.to[0].1, self.is(50));
                return nodes.extend([Node::Do(test), way]);
            }
            _ if depth > 0 => {
                let (test, is_not) = (self.register(Class::Truth).1, self.is(50));
                let on = self.nodes(depth - 1, 4);
                let off = if self.is(50) { self.nodes(depth - 1, 4) } else { Vec::new() };
                return nodes.push(Node::If(test, is_not, on, off));
            }
            _ => self.form(),
        };
        if self.is(8) {
            it.guard = Some((self.register(Class::Truth).1, self.is(50)));
        }
        nodes.push(Node::Do(it));
    }

    /// Numbers of the launch that are stored on the stack, perhaps one over the other, and loaded again.
    fn spill(&mut self, nodes: &mut Vec<Node>) {
        let act = Act::Computes(Type("b32"), |_, _, [a, ..]| a);
        for _ in 0..2 + self.below(2) {
            for at in 0..Class::Word.declared().2.min(self.few) {
                let to = (Class::Word, at);
                if self.locked.contains(&to) {
                    continue;
                }
                let special = Value::Special(self.below(SPECIAL.len()));
                let from = if self.is(70) { special } else { self.number(Class::Word) };
                nodes.push(Node::Do(self.instruction("mov.b32", act, vec![to], vec![from])));
            }
            nodes.extend(self.access(Place::Stack, true).into_iter().map(Node::Do));
        }
        nodes.extend(self.access(Place::Stack, false).into_iter().map(Node::Do));
    }

    /// A float of any bits that is compared with a positive one, and its upper bits.
    fn float_guard(&mut self, nodes: &mut Vec<Node>) {
        let (float, word) = (self.target(Class::Float), self.target(Class::Word));
        let (from, test) = (Value::Register(self.register(Class::Word)), self.target(Class::Truth));
        let limit = ((self.below(4000) as f32) / 16.0).to_bits().into();
        self.near.push(limit);
        let (name, ty) = (self.one(&OF_FLOATS), Type("f32"));
        let shift = Value::Number(Class::Word, 14 + self.random.below(12));
        let moves = Act::Computes(Type("b32"), |_, _, [a, ..]| a);
        let shifts = Act::Computes(Type("u32"), |_, _, [a, b, ..]| a >> b);
        let value = Value::Register(float);
        let compared = vec![value, Value::Number(Class::Float, limit)];
        let leaves = Node::Leave(Way::Return, test.1, self.is(50));
        nodes.extend([
            Node::Do(self.instruction("mov.b32", moves, vec![float], vec![from])),
            Node::Do(self.instruction(
                &format!("setp.{name}.f32"),
                Act::Compares(ty, name, ""),
                vec![test],
                compared,
            )),
            leaves,
            Node::Do(self.instruction("mov.b32", moves, vec![word], vec![value])),
            Node::Do(self.instruction("shr.u32", shifts, vec![word], vec![Value::Register(word), shift])),
        ]);
    }

    /// A loop with a counter that grows, shrinks or is shifted until a comparison ends it.
    fn repeated(&mut self, depth: u32, nodes: &mut Vec<Node>) {
        let counter = self.target(Class::Word);
        let (test, is_last) = (self.target(Class::Truth), self.is(50));
        if self.is(70) {
            let from = vec![self.value(Class::Word)];
            let act = Act::Computes(Type("b32"), |_, _, [a, ..]| a);
            nodes.push(Node::Do(self.instruction("mov.b32", act, vec![counter], from)));
        }
        self.locked.extend([counter, test]);
        let mut body = self.nodes(depth - 1, 5);
        let steps: [(&str, Run); 4] = [
            ("add.s32", |_, _, [a, b, ..]| a.wrapping_add(b)),
            ("sub.s32", |_, _, [a, b, ..]| a.wrapping_sub(b)),
            ("shl.b32", |_, it, [a, b, ..]| a << (b % u64::from(it.bits()))),
            ("shr.u32", |_, it, [a, b, ..]| a >> (b % u64::from(it.bits()))),
        ];
        let (name, run) = self.one(&steps);
        let by =
            Value::Number(Class::Word, 1 + self.random.below(if name.starts_with('s') { 3 } else { 40 }));
        let step = vec![Value::Register(counter), by];
        let step = Node::Do(self.instruction(name, Act::Computes(Type("u32"), run), vec![counter], step));
        let (ty, compared) = (self.ty("u32 s32"), self.one(&COMPARISONS));
        let from = vec![Value::Register(counter), self.value(Class::Word)];
        let act = Act::Compares(ty, compared, "");
        let ends = [
            Node::Do(self.instruction(&format!("setp.{compared}.{}", ty.0), act, vec![test], from)),
            Node::Leave(Way::Break, test.1, self.is(50)),
        ];
        if is_last {
            body.push(step);
            body.extend(ends);
        } else {
            body.splice(0..0, ends);
            if self.is(15) {
                body.push(Node::Leave(Way::Next, self.register(Class::Truth).1, self.is(50)));
            }
            body.push(step);
        }
        self.locked.truncate(self.locked.len() - 2);
        nodes.push(Node::Loop(body));
    }

    fn nodes(&mut self, depth: u32, most: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        for _ in 0..=self.below(most) {
            self.node(depth, &mut nodes);
        }
        nodes
    }

    /// Gives all registers values, those of the launch and loaded ones.
    fn start(&mut self, nodes: &mut Vec<Node>) {
        for at in 0..Class::Word.declared().2 {
            let to = vec![(Class::Word, at)];
            let act = Act::Computes(Type("b32"), |_, _, [a, ..]| a);
            nodes.push(Node::Do(match self.below(10) {
                0..4 => {
                    let from = vec![Value::Special(self.below(SPECIAL.len()))];
                    self.instruction("mov.b32", act, to, from)
                }
                4 => {
                    let from = vec![self.number(Class::Word)];
                    self.instruction("mov.b32", act, to, from)
                }
                5 | 6 => {
                    let which = self.below(2);
                    let text =
                        format!("ld.param.u32 {}, [{}];", show(Value::Register(to[0])), ["n", "m"][which]);
                    Instruction { text, guard: None, act: Act::Parameter(which), to, from: Vec::new() }
                }
                _ => {
                    let (text, index) = (
                        format!("ld.global.u32 {}, [%y];", show(Value::Register(to[0]))),
                        Index { ty: None, scale: 0, offset: 0 },
                    );
                    let act = Act::Loads(Place::Second, Type("u32"), index);
                    Instruction { text, guard: None, act, to, from: Vec::new() }
                }
            }));
        }
        // A thread's number in the grid along an axis.
        let axis = self.below(3);
        let act = Act::Computes(Type("u32"), |_, _, [a, b, c, _]| a.wrapping_mul(b).wrapping_add(c));
        for (to, from) in [(1, 6 + axis), (2, 3 + axis), (3, axis)] {
            let mov = Act::Computes(Type("b32"), |_, _, [a, ..]| a);
            let from = vec![Value::Special(from)];
            nodes.push(Node::Do(self.instruction("mov.b32", mov, vec![(Class::Word, to)], from)));
        }
        let from = [1, 2, 3].map(|at| Value::Register((Class::Word, at))).to_vec();
        nodes.push(Node::Do(self.instruction("mad.lo.u32", act, vec![(Class::Word, 0)], from)));
        self.fill(nodes);
    }

    /// Gives the registers of the other classes values that come from words.
    fn fill(&mut self, nodes: &mut Vec<Node>) {
        for (class, into) in
            [(Class::Half, "u16"), (Class::Wide, "s64"), (Class::Float, "f32"), (Class::Double, "f64")]
        {
            for at in 0..class.declared().2 {
                let (from, word) = (self.ty("u32 s32"), Value::Register(self.register(Class::Word)));
                let into = if into == "s64" && from.0 == "u32" { "u64" } else { into };
                let rounding = if into.starts_with('f') { ".rn" } else { "" };
                let act = Act::Converts(Type(into), from, rounding);
                let text = format!("cvt{rounding}.{into}.{}", from.0);
                nodes.push(Node::Do(self.instruction(&text, act, vec![(class, at)], vec![word])));
            }
        }
        for at in 0..Class::Truth.declared().2 {
            let (ty, name) = (self.ty("u32 s32"), self.one(&COMPARISONS));
            let from = vec![Value::Register(self.register(Class::Word)), self.value(Class::Word)];
            let act = Act::Compares(ty, name, "");
            let text = format!("setp.{name}.{}", ty.0);
            nodes.push(Node::Do(self.instruction(&text, act, vec![(Class::Truth, at)], from)));
        }
    }
}

impl Program {
    /// Draws a kernel. A seed makes the same one each time.
    pub(super) fn new(seed: u64) -> Self {
        let mut draw =
            Draw { random: Random(seed), near: Vec::new(), few: 99, locked: Vec::new(), functions: 0 };
        let functions = draw.below(3);
        let few = if draw.is(60) { 2 + draw.below(5) } else { 99 };
        let bodies: Vec<Vec<Node>> = (0..functions)
            .map(|_| {
                draw.few = 99;
                let mut body = Vec::new();
                // Some of the registers have no value in a function.
                if draw.is(70) {
                    draw.fill(&mut body);
                }
                draw.few = few;
                // A function accesses its own stack alone.
                let nodes = draw.nodes(1, 8);
                body.extend(nodes.into_iter().filter(is_of_function));
                body
            })
            .collect();
        (draw.functions, draw.few) = (functions, 99);
        let mut kernel = Vec::new();
        draw.start(&mut kernel);
        draw.few = few;
        for _ in 0..6 + draw.below(20) {
            draw.node(3, &mut kernel);
        }
        let last = draw.access(Place::First, true);
        kernel.extend(last.into_iter().map(Node::Do));
        let mut program = Self { kernel, functions: bodies, near: draw.near, text: String::new() };
        program.write();
        program
    }

    fn write(&mut self) {
        let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n");
        let registers: String = Class::ALL
            .map(Class::declared)
            .map(|(name, ty, count)| format!(".reg .{ty} {name}<{count}>;\n"))
            .concat();
        let registers = registers + ".reg .b64 %a, %b, %x, %y;\n.param .b32 p;\n.param .b32 q;\n";
        let mut labels = 0;
        for (at, body) in self.functions.iter().enumerate() {
            let _ = write!(
                text,
                ".func (.param .b32 out) f{at}(.param .b32 in)\n{{\n{registers}.local .align 16 .b8 \
                 stack[{BYTES}];\nld.param.b32 %w0, [in];\n"
            );
            write_nodes(body, None, &mut labels, &mut text);
            let _ = write!(text, "st.param.b32 [out], %w0;\nret;\n}}\n");
        }
        let _ = write!(
            text,
            ".visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n, .param .u32 m)\n{{\n{registers}\
             .local .align 16 .b8 stack[{BYTES}];\n.shared .align 16 .b8 tile[{BYTES}];\n\
             ld.param.u64 %x, [x];\nld.param.u64 %y, [y];\n"
        );
        write_nodes(&self.kernel, None, &mut labels, &mut text);
        text += "ret;\n}\n";
        self.text = text;
    }
}

/// Returns whether a function may have a node: one without global and shared memory.
fn is_of_function(node: &Node) -> bool {
    match node {
        Node::Do(Instruction { act: Act::Loads(place, ..) | Act::Stores(place, ..), .. }) => {
            *place == Place::Stack
        }
        Node::If(.., on, off) => on.iter().chain(off).all(is_of_function),
        Node::Loop(body) => body.iter().all(is_of_function),
        _ => true,
    }
}

fn write_nodes(nodes: &[Node], around: Option<usize>, labels: &mut usize, text: &mut String) {
    let guard = |test: usize, is_not: bool| format!("@{}%t{test}", if is_not { "!" } else { "" });
    for node in nodes {
        match node {
            Node::Do(it) => {
                // The parts of an address are computed in any case.
                let own = it.guard.map_or_else(String::new, |(test, is_not)| guard(test, is_not) + " ");
                let _ = writeln!(text, "{own}{}", it.text);
            }
            Node::If(test, is_not, on, off) => {
                *labels += 2;
                let (other, end) = (*labels - 1, *labels);
                let _ = writeln!(text, "{} bra L{other};", guard(*test, !is_not));
                write_nodes(on, around, labels, text);
                let _ = writeln!(text, "bra L{end};\nL{other}:");
                write_nodes(off, around, labels, text);
                let _ = writeln!(text, "L{end}:");
            }
            Node::Loop(body) => {
                *labels += 2;
                let start = *labels - 1;
                let _ = writeln!(text, "L{start}:");
                write_nodes(body, Some(start), labels, text);
                let _ = writeln!(text, "bra L{start};\nL{}:", start + 1);
            }
            Node::Leave(way, test, is_not) => {
                let to = match (way, around) {
                    (Way::Next, Some(start)) => format!("bra L{start}"),
                    (Way::Break, Some(start)) => format!("bra L{}", start + 1),
                    _ => "ret".to_owned(),
                };
                let _ = writeln!(text, "{} {to};", guard(*test, *is_not));
            }
            Node::Call(function, argument, result) => {
                let [argument, result] = [argument, result].map(|it| show(Value::Register(*it)));
                let _ = writeln!(
                    text,
                    "st.param.b32 [p], {argument}; call (q), f{function}, (p); ld.param.b32 {result}, [q];"
                );
            }
        }
    }
}
