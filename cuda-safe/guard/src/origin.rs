//! Where addresses come from: the memory that each may lead to, which of it is written, and the loads that an
//! address depends on.

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
pub(crate) fn arguments(it: &Instruction<'_>) -> Vec<(usize, Region)> {
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

/// Instructions whose result may be an address that an operand is.
const PASSES: [&str; 11] = ["mov", "cvta", "cvt", "add", "sub", "mad", "selp", "and", "or", "min", "max"];

/// Whether the result of an instruction is a number: no address is made of it alone.
fn is_number(it: &Instruction<'_>) -> bool {
    let is_widening = || it.types().next_back().is_some_and(|from| from.bits() < 64);
    matches!(it.opcode(), "mul" | "shl" | "shr" | "div" | "rem" | "setp")
        || it.opcode() == "cvt" && is_widening()
}

/// Returns the registers of which one may be the address that the result is based on.
fn sources(it: &Instruction<'_>) -> Vec<usize> {
    match it.opcode() {
        // A product is a number.
        "mad" => it.operands.last().map_or(Vec::new(), |last| {
            let mut list = Vec::new();
            last.each_name(&mut |name| list.extend(register(name.entity)));
            list
        }),
        opcode if PASSES.contains(&opcode) => read(it),
        _ => Vec::new(),
    }
}

/// The memory to which the registers of a kernel may lead.
#[derive(Debug)]
pub(crate) struct Origins {
    of: Vec<BTreeSet<Region>>,
    /// Registers with addresses that may have been in memory, or in another thread.
    lost: Vec<bool>,
    all: BTreeSet<Region>,
}

impl Origins {
    pub(crate) fn new(module: &Module<'_>, body: &Body<'_>) -> Self {
        let count = body.registers.len();
        let mut this =
            Self { of: vec![BTreeSet::new(); count], lost: vec![false; count], all: BTreeSet::new() };
        let memory = |entity| match entity {
            Entity::Local(at) if matches!(body.variables[at].space, Space::Shared | Space::Local) => {
                Some(Region::Local(at))
            }
            Entity::Variable(at) if module.variables[at].space == Space::Shared => Some(Region::Shared(at)),
            Entity::Parameter(at) => Some(Region::Parameter(at)),
            _ => None,
        };
        let list: Vec<_> = instructions(body).map(|(_, it)| (it, written(it), sources(it))).collect();
        let mut is_changing = true;
        while is_changing {
            is_changing = false;
            for (it, written, sources) in &list {
                let mut found = arguments(it);
                for operand in &it.operands {
                    let (Operand::Name(name) | Operand::Offset(name, _)) = operand else { continue };
                    if let Some(region) = memory(name.entity) {
                        found.extend(written.iter().map(|to| (*to, region)));
                    }
                }
                let is_lost = match is_number(it) {
                    true => false,
                    false if PASSES.contains(&it.opcode()) => sources.iter().any(|from| this.lost[*from]),
                    false => found.is_empty(),
                };
                for to in written {
                    is_changing |= is_lost && !this.lost[*to];
                    this.lost[*to] |= is_lost;
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

    /// Returns all memory that an address may lead to, or `None` if that was lost.
    fn known(&self, address: usize) -> Option<Vec<Region>> {
        let own = &self.of[address];
        let is_known = !own.is_empty() && !self.lost[address];
        is_known.then(|| own.iter().copied().collect())
    }

    /// Returns the memory of a space that an address may lead to: all of the kernel if that was lost.
    pub(crate) fn of(&self, address: usize, is_of_space: impl Fn(&Region) -> bool) -> Vec<Region> {
        let own: Vec<_> = self.of[address].iter().copied().filter(&is_of_space).collect();
        if own.is_empty() { self.all.iter().copied().filter(is_of_space).collect() } else { own }
    }
}

/// Returns the loads of memory that may be written meanwhile, by their statement. `guarded` are the regions
/// in which the guarded accesses are, by statement and operand; each other access is in memory of an argument
/// from which its address comes.
pub(crate) fn varying(
    body: &Body<'_>,
    origins: &Origins,
    guarded: impl Fn(usize, usize) -> Option<Vec<Region>>,
) -> BTreeSet<usize> {
    // The arguments to which the addresses of an instruction lead, or `None` if there may be others.
    let arguments = |at: usize, it: &Instruction<'_>| -> Option<BTreeSet<Region>> {
        let mut found = BTreeSet::new();
        for (place, operand) in it.operands.iter().enumerate() {
            let Operand::Address(name, _) = operand else { continue };
            let own = match guarded(at, place) {
                Some(regions) => regions,
                None => origins.known(register(name.as_ref()?.entity)?)?,
            };
            found.extend(own);
        }
        let is_known = found.iter().all(|it| matches!(it, Region::Argument { .. }));
        Some(found).filter(|found| is_known && !found.is_empty())
    };
    let is_global = |it: &Instruction<'_>| matches!(space(it), None | Some(Space::Global));
    // All arguments if an address that is written was lost.
    let mut targets = Some(BTreeSet::new());
    for (at, it) in instructions(body).filter(|(_, it)| is_global(it)) {
        if matches!(it.row().map(|row| row.effect), Some(Effect::Stores | Effect::Exchanges)) {
            targets = targets.zip(arguments(at, it)).map(|(all, own)| &all | &own);
        }
    }
    let may_vary = |(at, it): &(usize, &Instruction<'_>)| match space(it) {
        Some(Space::Shared) => true,
        Some(Space::Global) | None => match (arguments(*at, it), &targets) {
            (Some(own), Some(targets)) => !own.is_disjoint(targets),
            (Some(_), None) => true,
            // A generic address may be one of shared memory.
            (None, targets) => space(it).is_none() || targets.as_ref().is_none_or(|it| !it.is_empty()),
        },
        Some(_) => false,
    };
    let is_load = |it: &Instruction<'_>| matches!(it.opcode(), "ld" | "ldu");
    instructions(body).filter(|(_, it)| is_load(it)).filter(may_vary).map(|(at, _)| at).collect()
}

/// Returns the statements of the weak loads among those that may vary, on which the addresses depend. A
/// register that such a load has written could have another value at its next use.
pub(crate) fn weak_loads(
    body: &Body<'_>,
    addresses: impl Iterator<Item = usize>,
    varying: &BTreeSet<usize>,
) -> Result<BTreeSet<usize>, Refusal> {
    let mut open: Vec<usize> = addresses.collect();
    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
    let mut loads = BTreeSet::new();
    let mut writers = vec![Vec::new(); body.registers.len()];
    for (at, it) in instructions(body) {
        written(it).into_iter().for_each(|to| writers[to].push((at, it)));
    }
    while let Some(of) = open.pop() {
        for (at, it) in std::mem::take(&mut writers[of]) {
            let refused = Err(Refusal { line: it.line, reason: Reason::Varying });
            let mut is_varying = false;
            for operand in &it.operands {
                operand.each_name(&mut |name| {
                    is_varying |= matches!(name.entity, Entity::Special(special) if varies(special));
                });
            }
            if is_varying {
                return refused;
            }
            match it.row().map(|row| row.effect) {
                Some(Effect::Loads) if matches!(it.opcode(), "ld" | "ldu") => {
                    let is_strong =
                        ["volatile", "relaxed", "acquire", "mmio"].iter().any(|word| it.has(word));
                    if varying.contains(&at) && !is_strong {
                        loads.insert(at);
                    }
                }
                Some(Effect::Loads | Effect::Images) => return refused,
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
