//! A thread of a drawn kernel.

use super::forms::{Class, compares, converts};
use super::program::{Act, BYTES, Index, Instruction, Node, Place, Program, Register, Value, Way};
use crate::Launch;
use crate::tests::oracle::Random;

/// Nodes that a thread goes through at most.
const FUEL: u32 = 3000;

/// An access: what it is to, from where on, and so many bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) place: Place,
    pub(super) at: i128,
    pub(super) size: u32,
    pub(super) is_write: bool,
}

/// The registers and the stack of a function.
struct Frame {
    registers: [Vec<u64>; 6],
    stack: Vec<u8>,
}

pub(super) struct Thread<'p> {
    program: &'p Program,
    random: Random,
    special: Vec<u64>,
    numbers: [u64; 2],
    near: Vec<u64>,
    fuel: u32,
    pub(super) seen: Vec<Seen>,
}

impl<'p> Thread<'p> {
    pub(super) fn new(
        program: &'p Program,
        launch: &Launch<'_>,
        (tid, ctaid): ([u32; 3], [u32; 3]),
        numbers: [u32; 2],
        random: Random,
    ) -> Self {
        let [x, y, _] = launch.block;
        let lane = ((tid[2] * y + tid[1]) * x + tid[0]) % 32;
        let special = [tid, launch.block, ctaid, launch.grid].into_iter().flatten().chain([lane]);
        let numbers = numbers.map(u64::from);
        let near = program.near.iter().copied().chain(numbers).collect();
        let special = special.map(u64::from).collect();
        Self { program, random, special, numbers, near, fuel: FUEL, seen: Vec::new() }
    }

    /// Runs the kernel. What is loaded is any number, but for the stack. Registers without a value have any.
    pub(super) fn run(&mut self) {
        let mut frame = self.frame();
        self.nodes(&self.program.kernel, &mut frame);
    }

    fn frame(&mut self) -> Frame {
        let mut registers = |class: Class| -> Vec<u64> {
            let any = (0..class.declared().2).map(|_| self.random.tricky(&self.near));
            any.map(|it| if class.bits() == 64 { it } else { it & ((1 << class.bits()) - 1) }).collect()
        };
        let registers = Class::ALL.map(&mut registers);
        let stack = (0..BYTES).map(|_| self.random.next().to_le_bytes()[0]).collect();
        Frame { registers, stack }
    }

    fn nodes(&mut self, nodes: &[Node], frame: &mut Frame) -> Option<Way> {
        let holds = |frame: &Frame, test: usize, is_not: bool| {
            (frame.registers[Class::Truth as usize][test] == 1) != is_not
        };
        for node in nodes {
            if self.fuel == 0 {
                return Some(Way::Return);
            }
            self.fuel -= 1;
            let left = match node {
                Node::Do(it) => {
                    if it.guard.is_none_or(|(test, is_not)| holds(frame, test, is_not)) {
                        self.instruction(it, frame);
                    }
                    None
                }
                Node::If(test, is_not, on, off) => {
                    self.nodes(if holds(frame, *test, *is_not) { on } else { off }, frame)
                }
                Node::Loop(body) => loop {
                    match self.nodes(body, frame) {
                        Some(Way::Break) => break None,
                        Some(Way::Return) => break Some(Way::Return),
                        _ => self.fuel = self.fuel.saturating_sub(1),
                    }
                    if self.fuel == 0 {
                        break Some(Way::Return);
                    }
                },
                Node::Leave(way, test, is_not) => holds(frame, *test, *is_not).then_some(*way),
                Node::Call(function, argument, result) => {
                    let mut inner = self.frame();
                    inner.registers[argument.0 as usize][0] =
                        frame.registers[argument.0 as usize][argument.1];
                    let way = self.nodes(&self.program.functions[*function], &mut inner);
                    // A function that returns early has no result.
                    let value =
                        if way.is_none() { inner.registers[result.0 as usize][0] } else { self.any() };
                    set(frame, *result, value);
                    None
                }
            };
            if left.is_some() {
                return left;
            }
        }
        None
    }

    fn any(&mut self) -> u64 {
        self.random.tricky(&self.near)
    }

    fn instruction(&mut self, it: &Instruction, frame: &mut Frame) {
        let mut a = [0; 4];
        for (value, from) in a.iter_mut().zip(&it.from) {
            *value = match *from {
                Value::Register((class, at)) => frame.registers[class as usize][at],
                Value::Number(_, bits) => bits,
                Value::Special(at) => self.special[at],
            };
        }
        let result = match it.act {
            Act::Computes(ty, run) => run(&mut self.random, ty, a),
            Act::Converts(into, from, rounding) => converts(&mut self.random, into, from, rounding, a[0]),
            Act::Parameter(which) => self.numbers[which],
            Act::Compares(ty, name, combined) => {
                let test = compares(name, ty, a[0], a[1]);
                let combine = |test: bool| match combined {
                    ".and" => test && a[2] == 1,
                    ".or" => test || a[2] == 1,
                    ".xor" => test != (a[2] == 1),
                    _ => test,
                };
                if let Some(second) = it.to.get(1) {
                    set(frame, *second, combine(!test).into());
                }
                combine(test).into()
            }
            Act::Splits => {
                set(frame, it.to[1], a[0] >> 32);
                a[0]
            }
            Act::Loads(place, ty, index) => {
                let within = self.access(place, (ty.bits() / 8, false), index, a[0]);
                let bits = match within.filter(|_| place == Place::Stack) {
                    Some(within) => {
                        let mut bytes = [0; 8];
                        let own = &frame.stack[within];
                        bytes[..own.len()].copy_from_slice(own);
                        u64::from_le_bytes(bytes)
                    }
                    None => self.any(),
                };
                low(ty.number(bits))
            }
            Act::Stores(place, ty, index) => {
                let within = self.access(place, (ty.bits() / 8, true), index, a[1]);
                if let Some(within) = within.filter(|_| place == Place::Stack) {
                    let count = within.len();
                    frame.stack[within].copy_from_slice(&a[0].to_le_bytes()[..count]);
                }
                return;
            }
        };
        set(frame, it.to[0], result);
    }

    /// Notes an access. Returns the bytes if they are those of an array of its own.
    fn access(
        &mut self,
        place: Place,
        (size, is_write): (u32, bool),
        index: Index,
        value: u64,
    ) -> Option<std::ops::Range<usize>> {
        let value = index.ty.map_or(0, |ty| low(ty.number(value)).cast_signed());
        let at = value.wrapping_mul(index.scale).wrapping_add(index.offset);
        self.seen.push(Seen { place, at: at.into(), size, is_write });
        let start = usize::try_from(at).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end as u64 <= BYTES).then_some(start..end)
    }
}

/// The lowest 64 bits.
fn low(value: i128) -> u64 {
    u64::try_from(value & i128::from(u64::MAX)).unwrap()
}

fn set(frame: &mut Frame, (class, at): Register, value: u64) {
    let bits = class.bits();
    frame.registers[class as usize][at] = if bits == 64 { value } else { value & ((1 << bits) - 1) };
}
