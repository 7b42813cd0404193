//! Which values are multiples of a power of two, whatever a launch's numbers are: an address that is one
//! needs no check of its alignment.

use cuda_ptx::{Body, Constant, Entity, Instruction, Module, Operand, Statement, Type};

use crate::Region;
use crate::access::{register, written};
use crate::origin::arguments;

/// What a value is that is 0.
const ZERO: u32 = 64;

/// Returns of each register how many of its low bits are always 0. If the region is memory of an argument,
/// the argument counts as 0: its limit is 0 if it is not aligned.
pub(crate) fn low_zeros(module: &Module<'_>, body: &Body<'_>, region: Region) -> Vec<u32> {
    let mut zeros = vec![ZERO; body.registers.len()];
    let mut is_changing = true;
    while is_changing {
        is_changing = false;
        for statement in &body.statements {
            let Statement::Instruction(it) = statement else { continue };
            let pointers = arguments(it);
            let computed = computed(it, |operand| of(module, body, &zeros, operand));
            for to in written(it) {
                let value = if pointers.contains(&(to, region)) { ZERO } else { computed };
                is_changing |= value < zeros[to];
                zeros[to] = zeros[to].min(value);
            }
        }
    }
    zeros
}

fn of(module: &Module<'_>, body: &Body<'_>, zeros: &[u32], operand: &Operand<'_>) -> u32 {
    let variable = |entity| match entity {
        Entity::Local(at) => body.variables[at].align().max(1).trailing_zeros(),
        Entity::Variable(at) => module.variables[at].align().max(1).trailing_zeros(),
        entity => register(entity).map_or(0, |at| zeros[at]),
    };
    let number = |value: u64| if value == 0 { ZERO } else { value.trailing_zeros() };
    match operand {
        Operand::Name(name) if name.part.is_none() => variable(name.entity),
        Operand::Constant(it @ Constant::Integer(_)) => it.bits(64).map_or(0, number),
        _ => 0,
    }
}

/// Returns how many low bits of a result are 0, or 0 if that is not known.
fn computed(it: &Instruction<'_>, of: impl Fn(&Operand<'_>) -> u32) -> u32 {
    use Type as T;
    let is_whole = |ty| {
        let wide = matches!(ty, T::U64 | T::S64 | T::B64);
        wide || matches!(ty, T::U32 | T::S32 | T::B32 | T::U16 | T::S16 | T::B16)
    };
    let is_one = matches!(it.result(), Some(Operand::Name(name)) if name.part.is_none());
    if !is_one || !it.types().all(is_whole) || it.has("sat") || it.has("hi") {
        return 0;
    }
    let list: Vec<u32> = it.operands.iter().skip(1).map(of).collect();
    match (it.opcode(), &list[..]) {
        ("mov" | "cvta" | "cvt", [a]) => *a,
        ("add" | "sub" | "or" | "xor" | "min" | "max", [a, b]) | ("selp", [a, b, _]) => *a.min(b),
        ("and", [a, b]) => *a.max(b),
        ("mul", [a, b]) => (a + b).min(ZERO),
        ("mad", [a, b, c]) => (a + b).min(*c),
        ("shl", [a, _]) => match it.operands.get(2) {
            Some(Operand::Constant(by)) => {
                let by = by.bits(32).and_then(|by| u32::try_from(by).ok()).unwrap_or(0);
                a.saturating_add(by).min(ZERO)
            }
            _ => *a,
        },
        _ => 0,
    }
}
