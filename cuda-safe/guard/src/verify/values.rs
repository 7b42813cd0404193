//! What the verifier knows of a kernel's values: where addresses come from, which loads may vary, and which
//! values are multiples of what.

use std::collections::{BTreeSet, HashSet};

use cuda_ptx::instruction::Effect;
use cuda_ptx::{Body, Constant, Entity, Instruction, Module, Name, Operand, Statement, Type};

use crate::{Member, Region, Site};

/// How an operand of an original instruction accesses memory, as this file reads it: the operand, the bytes,
/// and the letter of the kind.
pub(super) fn accesses(it: &Instruction<'_>) -> Vec<(usize, u64, char)> {
    let lanes = it.words.iter().find_map(|word| word.strip_prefix('v')?.parse::<u64>().ok()).unwrap_or(1);
    let bytes = it.types().last().map_or(0, |ty| u64::from(ty.bits()) / 8) * lanes;
    match it.words[0] {
        "ld" | "ldu" => vec![(1, bytes, 'l')],
        "st" | "red" => vec![(0, bytes, 's')],
        "atom" => vec![(1, bytes, 'x')],
        "prefetch" | "prefetchu" => vec![(0, 1, 'p')],
        "ldmatrix" => vec![(1, 16, 'l')],
        "cp" => match it.operands.get(2) {
            Some(Operand::Constant(Constant::Integer(size))) => {
                let size = u64::try_from(*size).unwrap_or(0);
                vec![(0, size, 's'), (1, size, 'l')]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

pub(super) fn registers<'o>(operands: impl Iterator<Item = &'o Operand<'o>>) -> Vec<usize> {
    let mut list = Vec::new();
    for operand in operands {
        operand.each_name(&mut |name| {
            if let Entity::Register(at) = name.entity {
                list.push(at);
            }
        });
    }
    list
}

/// Returns the registers that an instruction writes, each with its place in a vector.
fn results(it: &Instruction<'_>) -> Vec<(i64, usize)> {
    let (mut list, mut place) = (Vec::new(), 0);
    if let Some(result) = it.result() {
        result.each_name(&mut |name| {
            if let Entity::Register(at) = name.entity {
                list.push((place, at));
            }
            place += 1;
        });
    }
    list
}

pub(super) fn effect(it: &Instruction<'_>) -> Effect {
    it.row().map_or(Effect::Other, |row| row.effect)
}

/// Returns the pointers that each register may be based on, each by its place in the parameters. `?` is any
/// other address: it was loaded, is that of a variable, or comes from an instruction that is not known here.
fn bases(body: &Body<'_>) -> Vec<BTreeSet<String>> {
    let mut bases = vec![BTreeSet::new(); body.registers.len()];
    let mut is_changing = true;
    while is_changing {
        is_changing = false;
        for statement in &body.statements {
            let Statement::Instruction(it) = statement else { continue };
            let last = it.types().last();
            let is_long = last.is_some_and(|ty| ty.bits() == 64);
            let is_pointer = matches!(last, Some(Type::U64 | Type::S64 | Type::B64));
            for (place, to) in results(it) {
                let mut own = BTreeSet::new();
                match (it.words[0], it.operands.get(1)) {
                    ("mul" | "shl" | "shr" | "div" | "rem" | "setp", _) => {}
                    ("cvt", _) if !is_long => {}
                    ("ld", Some(Operand::Address(Some(Name { entity: Entity::Parameter(of), .. }), by)))
                        if is_pointer =>
                    {
                        own.insert(format!("{of}+{}", by + 8 * place));
                    }
                    (
                        "mov" | "cvta" | "cvt" | "add" | "sub" | "mad" | "selp" | "and" | "or" | "min"
                        | "max",
                        _,
                    ) => {
                        let skipped = if it.words[0] == "mad" { 3 } else { 1 };
                        for from in it.operands.iter().skip(skipped) {
                            from.each_name(&mut |name| match name.entity {
                                Entity::Register(from) => own.extend(bases[from].iter().cloned()),
                                Entity::Special(_) => {}
                                _ => _ = own.insert("?".to_owned()),
                            });
                        }
                    }
                    _ => _ = own.insert("?".to_owned()),
                }
                let before = bases[to].len();
                bases[to].extend(own);
                is_changing |= bases[to].len() > before;
            }
        }
    }
    bases
}

/// Returns the loads of memory that the launch may write, by the index of their statement: shared memory, and
/// that of arguments to which stores may lead. `sites` says where guarded accesses are, which is checked.
pub(super) fn varying(body: &Body<'_>, asked: &BTreeSet<usize>, sites: &[Site]) -> HashSet<usize> {
    let bases = bases(body);
    let unknown = || BTreeSet::from(["?".to_owned()]);
    let leads = |at: usize, it: &Instruction<'_>| {
        let mut all = BTreeSet::new();
        for (operand, place) in it.operands.iter().enumerate() {
            let Operand::Address(name, _) = place else { continue };
            let is_asked = asked.contains(&at) && accesses(it).iter().any(|own| own.0 == operand);
            let is_it = |own: &Member| (own.statement, own.operand) == (at, operand);
            let site = sites.iter().find(|site| is_asked && site.members.iter().any(is_it));
            let own = match (site, name.as_ref().map(|it| it.entity)) {
                (Some(site), _) => site
                    .regions
                    .iter()
                    .map(|region| match region {
                        Region::Argument { parameter, offset } => format!("{parameter}+{offset}"),
                        _ => "?".to_owned(),
                    })
                    .collect(),
                (None, Some(Entity::Register(register))) => bases[register].clone(),
                _ => unknown(),
            };
            all.extend(if own.is_empty() { unknown() } else { own });
        }
        if all.is_empty() { unknown() } else { all }
    };
    let is_outside =
        |it: &Instruction<'_>| !["shared", "local", "param", "const"].iter().any(|word| it.has(word));
    let (mut stored, mut loads) = (BTreeSet::new(), Vec::new());
    for (at, statement) in body.statements.iter().enumerate() {
        let Statement::Instruction(it) = statement else { continue };
        match effect(it) {
            Effect::Stores | Effect::Exchanges if is_outside(it) => stored.extend(leads(at, it)),
            Effect::Loads => loads.push((at, it)),
            _ => {}
        }
    }
    let may_vary = |(at, it): &(usize, &Instruction<'_>)| {
        if !is_outside(it) {
            return it.has("shared");
        }
        let own = leads(*at, it);
        let (is_lost, is_any) = (own.contains("?"), stored.contains("?"));
        // Without a space, a lost address may be one of shared memory.
        is_any || !own.is_disjoint(&stored) || is_lost && !(stored.is_empty() && it.has("global"))
    };
    loads.into_iter().filter(may_vary).map(|(at, _)| at).collect()
}

/// Returns of each register a power of two of which it is always a multiple, or 0 if it is always 0. A
/// pointer to the region counts as 0: the limit of an argument that is not aligned is 0.
pub(super) fn factors(module: &Module<'_>, body: &Body<'_>, region: Region) -> Vec<u64> {
    const MOST: u64 = 1 << 16;
    const WHOLE: [&str; 9] = ["u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64"];
    let lowest = |value: u64| (value & value.wrapping_neg()).min(MOST);
    let both = |a: u64, b: u64| if a == 0 || b == 0 { a | b } else { a.min(b) };
    let mut factors = vec![0; body.registers.len()];
    loop {
        let before = factors.clone();
        for statement in &body.statements {
            let Statement::Instruction(it) = statement else { continue };
            let of = |place: usize| match it.operands.get(place) {
                Some(Operand::Constant(Constant::Integer(value))) => {
                    lowest((*value & i128::from(u64::MAX)).try_into().unwrap_or(1))
                }
                Some(Operand::Name(Name { entity, part: None, .. })) => match *entity {
                    Entity::Register(at) => factors[at],
                    Entity::Local(at) => lowest(body.variables[at].align().into()).max(1),
                    Entity::Variable(at) => lowest(module.variables[at].align().into()).max(1),
                    _ => 1,
                },
                _ => 1,
            };
            let is_whole = it.types().all(|ty| WHOLE.contains(&ty.word())) && !it.has("sat") && !it.has("hi");
            let is_single = matches!(it.result(), Some(Operand::Name(Name { part: None, .. })));
            let value = match it.words[0] {
                _ if !is_whole || !is_single => 1,
                "mov" | "cvt" | "cvta" => of(1),
                "add" | "sub" | "or" | "xor" | "min" | "max" | "selp" => both(of(1), of(2)),
                "and" if of(1) == 0 || of(2) == 0 => 0,
                "and" => of(1).max(of(2)),
                "mul" => (of(1) * of(2)).min(MOST),
                "mad" => both((of(1) * of(2)).min(MOST), of(3)),
                "shl" => match it.operands.get(2) {
                    Some(Operand::Constant(Constant::Integer(by @ 0..=16))) => (of(1) << by).min(MOST),
                    Some(Operand::Constant(_)) => MOST,
                    _ => of(1),
                },
                _ => 1,
            };
            for (place, to) in results(it) {
                let is_start = match (it.words[0], it.operands.get(1), region) {
                    (
                        "ld",
                        Some(Operand::Address(Some(name), by)),
                        Region::Argument { parameter, offset },
                    ) => {
                        let is_long = it.types().all(|ty| ty.bits() == 64);
                        is_long && name.entity == Entity::Parameter(parameter) && by + 8 * place == offset
                    }
                    _ => false,
                };
                factors[to] = both(factors[to], if is_start { 0 } else { value });
            }
        }
        if factors == before {
            return factors;
        }
    }
}

/// Returns the loads on which the addresses of accesses depend, and which may not be repeated, by the index
/// of their statement.
pub(super) fn strong(body: &Body<'_>, asked: &BTreeSet<usize>, varying: &HashSet<usize>) -> HashSet<usize> {
    let list: Vec<_> = body
        .statements
        .iter()
        .enumerate()
        .filter_map(|(at, it)| match it {
            Statement::Instruction(it) => Some((at, it, registers(it.result().into_iter()))),
            _ => None,
        })
        .collect();
    let (mut matter, mut found) = (HashSet::new(), HashSet::new());
    for (_, it, _) in list.iter().filter(|(at, ..)| asked.contains(at)) {
        let addresses = accesses(it).into_iter().filter_map(|(operand, ..)| it.operands.get(operand));
        matter.extend(registers(addresses));
    }
    loop {
        let before = matter.len();
        for (at, it, written) in &list {
            if !written.iter().any(|to| matter.contains(to)) {
                continue;
            }
            if effect(it) == Effect::Loads {
                if varying.contains(at) {
                    found.insert(*at);
                }
            } else if matches!(effect(it), Effect::Computes | Effect::Compares) {
                let guard = it.guard.iter().filter_map(|(name, _)| match name.entity {
                    Entity::Register(at) => Some(at),
                    _ => None,
                });
                matter.extend(guard.chain(registers(it.operands.iter().skip(1))));
            }
        }
        if matter.len() == before {
            return found;
        }
    }
}
