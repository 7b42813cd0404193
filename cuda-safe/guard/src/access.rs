//! What an instruction accesses, and the instructions with which a kernel has no guarded form.

use cuda_ptx::instruction::Effect;
use cuda_ptx::{Body, Constant, Entity, Function, Instruction, Module, Operand, Space, Special, Statement};

use crate::{Reason, Refusal};

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is read. All threads of a warp may have to take part.
    Load,
    Store,
    /// It is written, and the result comes from it.
    Exchange,
    Prefetch,
}

/// An access whose address is a register and a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// The operand that is the address.
    pub(crate) operand: usize,
    pub(crate) kind: Kind,
    /// `None` is a generic address.
    pub(crate) space: Option<Space>,
    pub(crate) register: usize,
    pub(crate) offset: i64,
    pub(crate) bytes: u64,
}

/// Returns the registers that an instruction writes.
pub(crate) fn written(it: &Instruction<'_>) -> Vec<usize> {
    let mut list = Vec::new();
    if let Some(result) = it.result() {
        result.each_name(&mut |name| list.extend(register(name.entity)));
    }
    list
}

/// Returns the registers that an instruction reads, its predicate among them.
pub(crate) fn read(it: &Instruction<'_>) -> Vec<usize> {
    let mut list: Vec<_> = it.guard.iter().filter_map(|(name, _)| register(name.entity)).collect();
    for operand in it.operands.iter().skip(usize::from(it.result().is_some())) {
        operand.each_name(&mut |name| list.extend(register(name.entity)));
    }
    list
}

pub(crate) fn register(entity: Entity) -> Option<usize> {
    if let Entity::Register(at) = entity { Some(at) } else { None }
}

pub(crate) fn space(it: &Instruction<'_>) -> Option<Space> {
    [Space::Global, Space::Shared, Space::Local, Space::Param, Space::Const]
        .into_iter()
        .find(|space| it.has(space.word()))
}

fn lanes(it: &Instruction<'_>) -> u64 {
    let known = [("v2", 2), ("v4", 4), ("v8", 8)];
    known.into_iter().find(|(word, _)| it.has(word)).map_or(1, |(_, lanes)| lanes)
}

/// Returns the accesses of an instruction that is to be guarded.
pub(crate) fn accesses(it: &Instruction<'_>, body: &Body<'_>) -> Result<Vec<Access>, Reason> {
    let bytes = it.types().next_back().map_or(0, |ty| u64::from(ty.bytes())) * lanes(it);
    let (global, shared) = (Some(Space::Global), Some(Space::Shared));
    let list = match it.opcode() {
        "ld" | "ldu" => vec![(1, Kind::Load, space(it), bytes)],
        "st" | "red" => vec![(0, Kind::Store, space(it), bytes)],
        "atom" => vec![(1, Kind::Exchange, space(it), bytes)],
        "prefetch" | "prefetchu" => vec![(0, Kind::Prefetch, space(it), 1)],
        "ldmatrix" if space(it) == shared => vec![(1, Kind::Load, shared, 16)],
        "cp" if it.row().is_some_and(|row| row.effect == Effect::Copies) => {
            let Some(Operand::Constant(size @ Constant::Integer(4 | 8 | 16))) = it.operands.get(2) else {
                return Err(Reason::Fixed);
            };
            let bytes = size.bits(64).unwrap_or(0);
            vec![(0, Kind::Store, shared, bytes), (1, Kind::Load, global, bytes)]
        }
        "ldmatrix" | "stmatrix" | "wmma" => return Err(Reason::Collective),
        _ => {
            return Err(match it.row().map(|row| row.effect) {
                Some(Effect::Synchronizes) => Reason::Waits,
                Some(Effect::Images) => Reason::Image,
                _ => Reason::NotAnAccess,
            });
        }
    };
    let access = |(operand, kind, space, bytes): (usize, Kind, Option<Space>, u64)| {
        if space == Some(Space::Const) {
            return Err(Reason::Constant);
        }
        let Some(Operand::Address(Some(name), offset)) = it.operands.get(operand) else {
            return Err(Reason::Fixed);
        };
        let register = register(name.entity).ok_or(Reason::Fixed)?;
        let is_wide = match body.registers[register].ty.bits() {
            64 => true,
            32 if matches!(space, Some(Space::Shared | Space::Local | Space::Param)) => false,
            _ => return Err(Reason::Fixed),
        };
        if bytes == 0 || name.part.is_some() || !is_wide && i32::try_from(*offset).is_err() {
            return Err(Reason::Fixed);
        }
        Ok(Access { operand, kind, space, register, offset: *offset, bytes })
    };
    list.into_iter().map(access).collect()
}

/// Returns the statements of a kernel with an access that can be guarded: its address is in a register.
#[must_use]
pub fn guardable(module: &Module<'_>, kernel: &str) -> Vec<usize> {
    let function = module.functions.iter().find(|it| it.is_entry && it.name == kernel);
    let Some(body) = function.and_then(|it| it.body.as_ref()) else { return Vec::new() };
    let is_one = |(at, statement): (usize, &Statement<'_>)| match statement {
        Statement::Instruction(it) => accesses(it, body).is_ok().then_some(at),
        _ => None,
    };
    body.statements.iter().enumerate().filter_map(is_one).collect()
}

/// Returns whether a special register may have another value at each read.
pub(crate) fn varies(special: Special) -> bool {
    use Special as S;
    matches!(
        special,
        S::Clock
            | S::ClockHi
            | S::Clock64
            | S::Globaltimer
            | S::GlobaltimerLo
            | S::GlobaltimerHi
            | S::Smid
            | S::Warpid
            | S::Nwarpid
            | S::Pm(_)
            | S::Pm64(_)
    )
}

/// Refuses what has no guarded form, whatever is to be guarded.
pub(crate) fn check(module: &Module<'_>, function: &Function<'_>) -> Result<(), Refusal> {
    let whole = |reason| Err(Refusal { line: 0, reason });
    let sm = module.target.first().and_then(|it| it.strip_prefix("sm_"));
    let sm = sm.map(|it| it.trim_end_matches(|sign: char| !sign.is_ascii_digit()));
    let is_new = sm.and_then(|it| it.parse().ok()).is_some_and(|it: u32| it >= 70);
    if !is_new || module.version < Some((6, 0)) || module.address_size != Some(64) {
        return whole(Reason::Old);
    }
    let Some(body) = &function.body else { return whole(Reason::Missing) };
    if !module.errors.is_empty() || !body.ambiguous.is_empty() {
        return whole(Reason::Unreadable);
    }
    for statement in &body.statements {
        let Statement::Instruction(it) = statement else { continue };
        let mut found = closed(it);
        for operand in &it.operands {
            operand.each_name(&mut |name| {
                let is_of_module = match name.entity {
                    Entity::Variable(at) => module.variables[at].space != Space::Shared,
                    Entity::Function(_) | Entity::Alias(_) | Entity::Undeclared => true,
                    _ => false,
                };
                found = found.or(is_of_module.then_some(Reason::ModuleVariable));
            });
        }
        if let Some(reason) = found {
            return Err(Refusal { line: it.line, reason });
        }
    }
    Ok(())
}

/// Returns the reason why no kernel with this instruction has a guarded form.
fn closed(it: &Instruction<'_>) -> Option<Reason> {
    let Some(row) = it.row() else { return Some(Reason::Unknown) };
    let is_of_cluster = |word: &&str| *word == "shared::cluster";
    Some(match it.opcode() {
        "call" => Reason::Call,
        "mapa" | "getctarank" | "multimem" => Reason::OtherBlock,
        "wgmma" | "tcgen05" => Reason::Descriptor,
        "tensormap" | "clusterlaunchcontrol" => Reason::Bulk,
        "cp" | "prefetch" | "fence" | "st" | "red" if it.has("bulk") || it.has("tensormap") => Reason::Bulk,
        "cp" if it.has("mbarrier") => Reason::Waits,
        "cp" if it.has("reduce") => Reason::Bulk,
        "st" | "red" if it.has("async") => Reason::Asynchronous,
        "alloca" | "stacksave" | "stackrestore" => Reason::Stack,
        "discard" | "applypriority" => Reason::Discard,
        "createpolicy" => return None,
        _ if it.words.iter().any(is_of_cluster) => Reason::OtherBlock,
        _ if row.effect == Effect::Other => Reason::Unknown,
        _ => return None,
    })
}
