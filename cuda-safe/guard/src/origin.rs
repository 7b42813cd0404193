//! Where addresses come from: the memory that each may lead to, and the loads that it depends on.

use std::collections::BTreeSet;

use cuda_ptx::instruction::Effect;
use cuda_ptx::{Body, Entity, Instruction, Module, Operand, Space, Statement, Type};

use crate::access::{read, register, space, varies, written};
use crate::{Reason, Refusal, Region};

fn instructions<'b, 'a>(body: &'b Body<'a>) -> impl Iterator<Item = (usize, &'b Instruction<'a>)> {
    body.statements.iter().enumerate().filter_map(|(at, statement)| match statement {
        Statement::Instruction(it) => Some((at, it)),
        _ => None,
    })
}

/// Returns the pointers that an instruction loads from the kernel's parameters, with their registers.
fn arguments(it: &Instruction<'_>) -> Vec<(usize, Region)> {
    let is_wide = matches!(it.types().next_back(), Some(Type::U64 | Type::S64 | Type::B64));
    let (Some(result), Some(Operand::Address(Some(from), offset))) = (it.result(), it.operands.get(1)) else {
        return Vec::new();
    };
    let (Entity::Parameter(parameter), true, "ld") = (from.entity, is_wide, it.opcode()) else {
        return Vec::new();
    };
    let mut list = Vec::new();
    let mut offset = *offset;
    result.each_name(&mut |name| {
        list.extend(register(name.entity).map(|to| (to, Region::Argument { parameter, offset })));
        offset += 8;
    });
    list
}

/// The memory to which the registers of a kernel may lead.
#[derive(Debug)]
pub(crate) struct Origins {
    of: Vec<BTreeSet<Region>>,
    all: BTreeSet<Region>,
}

impl Origins {
    pub(crate) fn new(module: &Module<'_>, body: &Body<'_>) -> Self {
        let mut this = Self { of: vec![BTreeSet::new(); body.registers.len()], all: BTreeSet::new() };
        let memory = |entity| match entity {
            Entity::Local(at) if matches!(body.variables[at].space, Space::Shared | Space::Local) => {
                Some(Region::Local(at))
            }
            Entity::Variable(at) if module.variables[at].space == Space::Shared => Some(Region::Shared(at)),
            Entity::Parameter(at) => Some(Region::Parameter(at)),
            _ => None,
        };
        let list: Vec<_> = instructions(body).map(|(_, it)| (it, written(it), read(it))).collect();
        let mut is_changing = true;
        while is_changing {
            is_changing = false;
            for (it, written, read) in &list {
                let mut found = arguments(it);
                for operand in &it.operands {
                    let (Operand::Name(name) | Operand::Offset(name, _)) = operand else { continue };
                    if let Some(region) = memory(name.entity) {
                        found.extend(written.iter().map(|to| (*to, region)));
                    }
                }
                let passes = matches!(
                    it.opcode(),
                    "mov" | "cvta" | "cvt" | "add" | "sub" | "mad" | "selp" | "and" | "or" | "min" | "max"
                );
                let sources = if passes { &read[..] } else { &[] };
                for to in written {
                    let from = sources.iter().flat_map(|from| &this.of[*from]);
                    found.extend(from.map(|region| (*to, *region)));
                }
                for (to, region) in found {
                    this.all.insert(region);
                    is_changing |= this.of[to].insert(region);
                }
            }
        }
        this
    }

    /// Returns the memory of a space that an address may lead to: all of the kernel if that was lost.
    pub(crate) fn of(&self, address: usize, is_of_space: impl Fn(&Region) -> bool) -> Vec<Region> {
        let own: Vec<_> = self.of[address].iter().copied().filter(&is_of_space).collect();
        if own.is_empty() { self.all.iter().copied().filter(is_of_space).collect() } else { own }
    }
}

/// Whether a kernel writes memory that other threads see.
pub(crate) fn writes_global(body: &Body<'_>) -> bool {
    instructions(body).any(|(_, it)| {
        let effect = it.row().map(|row| row.effect);
        matches!(effect, Some(Effect::Stores | Effect::Exchanges))
            && matches!(space(it), None | Some(Space::Global))
    })
}

/// Returns the statements of the weak loads of memory that may be written meanwhile, on which the addresses
/// depend. A register that such a load has written could have another value at its next use.
pub(crate) fn weak_loads(
    body: &Body<'_>,
    addresses: impl Iterator<Item = usize>,
) -> Result<BTreeSet<usize>, Refusal> {
    let mut open: Vec<usize> = addresses.collect();
    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
    let mut loads = BTreeSet::new();
    let is_written = writes_global(body);
    let mut writers = vec![Vec::new(); body.registers.len()];
    for (at, it) in instructions(body) {
        written(it).into_iter().for_each(|to| writers[to].push((at, it)));
    }
    while let Some(of) = open.pop() {
        for (at, it) in std::mem::take(&mut writers[of]) {
            let varying = Err(Refusal { line: it.line, reason: Reason::Varying });
            let mut is_varying = false;
            for operand in &it.operands {
                operand.each_name(&mut |name| {
                    is_varying |= matches!(name.entity, Entity::Special(special) if varies(special));
                });
            }
            if is_varying {
                return varying;
            }
            match it.row().map(|row| row.effect) {
                Some(Effect::Loads) if matches!(it.opcode(), "ld" | "ldu") => {
                    let is_strong =
                        ["volatile", "relaxed", "acquire", "mmio"].iter().any(|word| it.has(word));
                    let may_vary = match space(it) {
                        None | Some(Space::Global) => is_written,
                        space => space == Some(Space::Shared),
                    };
                    if may_vary && !is_strong {
                        loads.insert(at);
                    }
                }
                Some(Effect::Loads | Effect::Images) => return varying,
                Some(Effect::Computes | Effect::Compares) => {
                    open.extend(read(it).into_iter().filter(|from| seen.insert(*from)));
                }
                // Its result is there once: such an instruction is not repeated.
                _ => {}
            }
        }
    }
    Ok(loads)
}
