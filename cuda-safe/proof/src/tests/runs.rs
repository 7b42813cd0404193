//! Runs threads of kernels under launches that were proven: each access must lie in the proven bytes. The
//! launches are random, and so are changes of the PTX: a changed kernel is refused, or proven with bytes that
//! hold for what it does now.

use super::oracle::{End, Machine, Random};
use super::spec::Spec;
use super::work::prove_in_time;
use crate::{Kernel, Proof, Verdict, kernels};
use cuda_ptx::{Module, parse};
use cuda_testing_kernels::{patterns, planted};

const PLANTED_LAUNCHES: &str = include_str!("../../tests/kernels/planted.tsv");
const PATTERN_LAUNCHES: &str = include_str!("../../tests/kernels/patterns.tsv");

/// Work for one proof: less than that of launches, for the tests' time.
const WORK: u64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Count {
    proven: u32,
    refused: u32,
    threads: u32,
    accesses: u64,
    unknown: u32,
}

/// The address of the pointer with a number: a multiple of what the proof requires, and of no more.
fn address(number: usize, align: u64) -> u64 {
    (1 << 44) + ((number as u64) << 36) + align
}

/// Runs some threads of a launch, and compares their accesses with the proof. Returns what was wrong.
pub(super) fn run(
    module: &Module<'_>,
    kernel: &Kernel,
    spec: &Spec,
    proof: &Proof,
    random: &mut Random,
    count: &mut Count,
) -> Result<(), String> {
    let function =
        module.functions.iter().find(|it| it.is_entry && it.name == kernel.name()).ok_or("no kernel")?;
    let mut parameters: Vec<Vec<u8>> = spec.arguments.iter().map(|(bytes, _)| bytes.clone()).collect();
    let pointers = spec.pointers();
    let mut bases = Vec::new();
    for (number, (parameter, offset, _)) in pointers.iter().enumerate() {
        let need = proof.needs().iter().find(|it| (it.parameter, it.offset) == (*parameter, *offset));
        let at = address(number, need.map_or(1, |it| u64::from(it.align)));
        let start = usize::try_from(*offset).unwrap();
        parameters[*parameter][start..start + 8].copy_from_slice(&at.to_le_bytes());
        bases.push((at, need));
    }
    let mut machine = Machine::new(module, spec.grid, spec.block, spec.shared, Random(random.next()));
    for (bytes, pointers) in &spec.arguments {
        if pointers.is_empty() && bytes.len() <= 8 {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            machine.near.push(u64::from_le_bytes(whole));
        }
    }
    for thread in 0..16 {
        // The first and the last thread, those near them, and others.
        let pick = |of: u32, random: &mut Random| match random.below(4) {
            0 => 0,
            1 => of - 1,
            _ => u32::try_from(random.below(u64::from(of))).unwrap(),
        };
        machine.tid = spec.block.map(|of| if thread == 0 { of - 1 } else { pick(of, random) });
        machine.ctaid = spec.grid.map(|of| if thread == 0 { of - 1 } else { pick(of, random) });
        let end = machine.run(function, &parameters);
        count.threads += 1;
        count.unknown += u32::from(matches!(end, End::Unknown(_)));
        for seen in &machine.seen {
            count.accesses += 1;
            let owner = bases.iter().find(|(base, _)| seen.address.wrapping_sub(base - (1 << 35)) < 1 << 36);
            let is_right = match owner {
                Some((base, need)) => {
                    let at = i128::from(seen.address) - i128::from(*base);
                    let end = at + i128::from(seen.size);
                    let within = |bytes: &Option<crate::Bytes>| {
                        bytes
                            .as_ref()
                            .is_some_and(|it| at >= i128::from(it.low) && end <= i128::from(it.high))
                    };
                    need.is_some_and(|need| {
                        (!seen.reads || within(&need.reads)) && (!seen.writes || within(&need.writes))
                    })
                }
                None => machine
                    .objects
                    .values()
                    .any(|(start, size)| seen.address >= *start && seen.address + seen.size <= start + size),
            };
            if !is_right || seen.address % seen.size != 0 {
                return Err(format!(
                    "{}: line {} of the PTX accesses {:#x} ({} bytes) in thread {:?} of block {:?}, \
                     grid {:?}, block {:?}: \
                     {spec:?}, proven {:?}",
                    kernel.name(),
                    seen.line,
                    seen.address,
                    seen.size,
                    machine.tid,
                    machine.ctaid,
                    spec.grid,
                    spec.block,
                    proof.needs()
                ));
            }
        }
    }
    Ok(())
}

fn prove_and_run(text: &str, spec: &Spec, random: &mut Random, count: &mut Count) -> Result<(), String> {
    let (Ok(module), Ok(list)) = (parse(text), kernels(text)) else { return Ok(()) };
    let Some(kernel) = list.iter().find(|it| it.name() == spec.kernel) else { return Ok(()) };
    let bytes = kernel.to_bytes();
    assert_eq!(Kernel::from_bytes(&bytes).as_ref(), Ok(kernel), "what is written is read again");
    match spec.with(|launch| prove_in_time(kernel, launch, WORK)) {
        // No memory is that long, or begins before its pointer: the launch is refused whatever it passes.
        Verdict::Proven(proof) if proof.needs().iter().any(|it| is_far(&it.reads) || is_far(&it.writes)) => {
            count.refused += 1;
            Ok(())
        }
        Verdict::Proven(proof) => {
            count.proven += 1;
            run(&module, kernel, spec, &proof, random, count)
        }
        Verdict::Refused(_) => {
            count.refused += 1;
            Ok(())
        }
    }
}

pub(super) fn is_far(bytes: &Option<crate::Bytes>) -> bool {
    bytes.as_ref().is_some_and(|it| it.low < 0 || it.high > 1 << 34)
}

/// Changes grid, block and numbers.
fn vary(spec: &Spec, random: &mut Random) -> Spec {
    let mut spec = spec.clone();
    let other = |old: u32, random: &mut Random| match random.below(4) {
        0 => 1,
        1 => old,
        _ => 1 + u32::try_from(random.below(u64::from(old) + 3)).unwrap(),
    };
    spec.grid = spec.grid.map(|it| other(it, random));
    spec.block = spec.block.map(|it| other(it, random));
    for (bytes, pointers) in &mut spec.arguments {
        if !pointers.is_empty() || bytes.len() > 8 || random.below(3) == 0 {
            continue;
        }
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        let old = u64::from_le_bytes(whole);
        let new = match random.below(6) {
            0 => old.wrapping_add(random.below(7)).wrapping_sub(3),
            1 => random.next(),
            2 => random.below(40).wrapping_sub(8),
            _ => random.below(old.wrapping_mul(2) + 2),
        };
        let size = bytes.len();
        bytes.copy_from_slice(&new.to_le_bytes()[..size]);
    }
    spec
}

/// Changes an instruction of a kernel.
fn mutate(text: &str, kernel: &str, random: &mut Random) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start =
        lines.iter().position(|line| line.contains(".entry") && line.contains(&format!("{kernel}(")))?;
    let end = start + lines[start..].iter().position(|line| line.starts_with('}'))?;
    let is_instruction = |line: &&usize| {
        let line = lines[**line].trim();
        line.ends_with(';') && !line.starts_with('.') && !line.starts_with("ret")
    };
    let all: Vec<usize> = (start..end).collect();
    let all: Vec<usize> = all.iter().filter(is_instruction).copied().collect();
    let at = *all.get(usize::try_from(random.below(all.len() as u64)).unwrap())?;
    let line = lines[at].clone();
    let replace = |from: &[&str], random: &mut Random| -> Option<String> {
        let found: Vec<&&str> = from.iter().filter(|it| line.contains(**it)).collect();
        let old = found.get(usize::try_from(random.below(found.len().max(1) as u64)).unwrap())?;
        let new = from[usize::try_from(random.below(from.len() as u64)).unwrap()];
        Some(line.replacen(**old, new, 1))
    };
    let new = match random.below(11) {
        // Another register of the same kind, or a line that comes elsewhere, or twice.
        7 => {
            let register = |line: &str, at: usize| -> Option<(usize, usize)> {
                let starts: Vec<usize> = line.match_indices('%').map(|it| it.0).collect();
                let start = *starts.get(at % starts.len().max(1))?;
                let rest = &line[start + 1..];
                let length = rest.find(|sign: char| !sign.is_ascii_alphanumeric()).unwrap_or(rest.len());
                Some((start, start + 1 + length))
            };
            let (start, end) = register(&line, random.next().to_le_bytes()[0].into())?;
            let other = &lines[all[usize::try_from(random.below(all.len() as u64)).unwrap()]];
            let (from, to) = register(other, random.next().to_le_bytes()[0].into())?;
            let kind = |name: &str| name.trim_end_matches(|sign: char| sign.is_ascii_digit()).to_owned();
            if kind(&line[start..end]) != kind(&other[from..to]) {
                return None;
            }
            format!("{}{}{}", &line[..start], &other[from..to], &line[end..])
        }
        8 => {
            let other = all[usize::try_from(random.below(all.len() as u64)).unwrap()];
            let moved = std::mem::replace(&mut lines[other], line);
            if random.below(2) == 0 { moved } else { lines[other].clone() }
        }
        0 => replace(&[".lt.", ".le.", ".gt.", ".ge.", ".eq.", ".ne."], random)?,
        1 => replace(&[".u32", ".s32"], random)?,
        2 => replace(&[".u64", ".s64"], random)?,
        3 => replace(&["\tadd.", "\tsub.", "\tmin.", "\tmax.", "\trem.", "\tdiv."], random)?,
        4 => replace(&["\tand.b32", "\tor.b32", "\txor.b32", "\tand.b64", "\tor.b64"], random)?,
        5 => replace(
            &["ld.global.u32", "ld.global.s8", "ld.global.u8", "ld.global.nc.u32", "ld.volatile.global.u32"],
            random,
        )?,
        6 => {
            // Another number.
            let digits = line.rfind(|sign: char| sign.is_ascii_digit())?;
            let first = line[..=digits].rfind(|sign: char| !sign.is_ascii_digit() && sign != '-')? + 1;
            if line[..first].ends_with(|sign: char| sign.is_ascii_alphabetic() || "_x%$".contains(sign)) {
                return None;
            }
            let old: i64 = line[first..=digits].parse().ok()?;
            let new = match random.below(5) {
                0 => old + 1,
                1 => old - 1,
                2 => old * 2,
                3 => -old,
                _ => i64::try_from(random.below(2000)).unwrap(),
            };
            let new = if line.contains('[') { new.abs() } else { new };
            format!("{}{new}{}", &line[..first], &line[digits + 1..])
        }
        _ => {
            // The instruction is left out, or its guard.
            match line.trim_start().strip_prefix('@').and_then(|it| it.split_once(char::is_whitespace)) {
                Some((_, rest)) if random.below(2) == 0 => format!("\t{rest}"),
                _ => String::new(),
            }
        }
    };
    lines[at] = new;
    Some(lines.join("\n"))
}

/// Changes tokens or lines of a text, or cuts it: seldom into PTX that ptxas takes.
fn garble(text: &str, random: &mut Random) -> String {
    let mut pieces: Vec<&str> = text.split_inclusive([' ', '\t', '\n', ',', '{', '[', '.']).collect();
    for _ in 0..1 + random.below(2) {
        let mut pick = || usize::try_from(random.below(pieces.len() as u64)).unwrap();
        let (at, other) = (pick(), pick());
        match random.below(6) {
            0 => pieces.swap(at, other),
            1 => drop(pieces.remove(at)),
            2 => pieces.insert(at, pieces[other]),
            3 => {
                pieces[at] =
                    ["{", "[", "-", "!", "@", ";", "99999999999999999999", "%r<4>", "$", ".b8 x[", "\""]
                        [other % 11]
            }
            4 if random.below(8) == 0 => pieces.truncate(at),
            _ => {
                let end = (at + 1 + usize::try_from(random.below(30)).unwrap()).min(pieces.len());
                let part: Vec<&str> = pieces[at..end].to_vec();
                pieces.splice(other..other, part);
            }
        }
        if pieces.is_empty() {
            break;
        }
    }
    pieces.concat()
}

fn launches(text: &str, list: &str) -> Vec<Spec> {
    let kernels = kernels(text).expect("the kernels");
    list.lines().map(|line| Spec::parse(line, &kernels).expect(line).0).collect()
}

fn each(then: impl Fn(&str, &Spec, &mut Random, &mut Count)) -> Count {
    let mut count = Count::default();
    let mut random = Random(seed(28));
    for (text, list) in [(planted(), PLANTED_LAUNCHES), (patterns(), PATTERN_LAUNCHES)] {
        for spec in launches(text, list) {
            then(text, &spec, &mut random, &mut count);
        }
    }
    count
}

pub(super) fn seed(usual: u64) -> u64 {
    std::env::var("PROOF_SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}

/// Ten times as many in `ci/test --all`. `PROOF_ROUNDS=100` and `PROOF_SEED=7` run others.
pub(super) fn rounds(usual: u32) -> u32 {
    let more = std::env::var("PROOF_ROUNDS").ok().and_then(|it| it.parse().ok());
    more.unwrap_or(if std::env::var_os("CUDA_TEST_ALL").is_some() { 10 } else { 1 }) * usual
}

#[test]
fn the_threads_of_random_launches_access_what_was_proven() {
    let count = each(|text, spec, random, count| {
        for _ in 0..rounds(6) {
            let spec = vary(spec, random);
            prove_and_run(text, &spec, random, count).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    });
    println!("{count:?}");
    assert!(count.proven > 100 && count.accesses > 10_000 && count.unknown == 0, "{count:?}");
}

#[test]
fn the_threads_of_changed_kernels_access_what_was_proven() {
    let count = each(|text, spec, random, count| {
        for _ in 0..rounds(20) {
            let Some(text) = mutate(text, &spec.kernel, random) else { continue };
            let spec = if random.below(2) == 0 { spec.clone() } else { vary(spec, random) };
            if let Err(wrong) = prove_and_run(&text, &spec, random, count) {
                std::fs::write(std::env::temp_dir().join("changed.ptx"), &text).unwrap();
                panic!("{wrong}; the PTX is changed.ptx in {:?}", std::env::temp_dir());
            }
        }
    });
    println!("{count:?}");
    assert!(count.proven > 100 && count.refused > 20 && count.accesses > 10_000, "{count:?}");
}

#[test]
fn any_text_is_an_error_or_has_a_verdict() {
    let count = each(|text, spec, random, count| {
        for _ in 0..rounds(12) {
            let text = garble(text, random);
            let Ok(list) = kernels(&text) else {
                count.refused += 1;
                continue;
            };
            for kernel in &list {
                let slice = Kernel::from_bytes(&kernel.to_bytes());
                assert!(slice.as_ref().is_ok_and(|it| it == kernel) || slice.is_err());
                if kernel.name() == spec.kernel {
                    count.proven += 1;
                    let _ = spec.with(|launch| prove_in_time(kernel, launch, 5_000));
                }
            }
        }
    });
    println!("{count:?}");
    assert!(count.refused > 100 && count.proven > 50, "{count:?}");
    // Much within much.
    let nested = |open: &str, close: &str, times: usize| {
        let operand = open.repeat(times) + "%r1" + &close.repeat(times);
        format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n\
             mov.b32 %r1, {operand};\n}}\n"
        )
    };
    for (open, close) in [("{", "}"), ("[", "]"), ("(", ")"), ("!", ""), ("-", "")] {
        assert!(kernels(&nested(open, close, 100_000)).is_err(), "{open}");
    }
    for body in ["$l: ", "{ ", "and.pred %p1, %p1, %p2; ", "$l: @%p1 bra $l; "] {
        let lines: String = (0..5000).map(|at| body.replace("$l", &format!("$l{at}"))).collect();
        let ends: String = (0..5000).rev().map(|at| format!("@%p1 bra $l{at};\n")).collect();
        let ends = if body == "$l: " { ends } else { "}".repeat(if body == "{ " { 5000 } else { 0 }) };
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>;\n\
             {lines}{ends}\nret;\n}}\n"
        );
        let kernels = kernels(&text).expect("PTX");
        let (spec, _) = Spec::parse("k | 1 | 1 |  | ", &kernels).expect("a launch");
        let _ = spec.with(|launch| prove_in_time(&kernels[0], launch, WORK));
    }
}

#[test]
fn any_bytes_are_an_error_or_a_slice_that_has_a_verdict() {
    let mut random = Random(7);
    let (mut read, mut slices) = (0, Vec::new());
    for (text, list) in [(planted(), PLANTED_LAUNCHES), (patterns(), PATTERN_LAUNCHES)] {
        let kernels = kernels(text).expect("the kernels");
        for spec in launches(text, list) {
            let kernel = kernels.iter().find(|it| it.name() == spec.kernel).expect("the kernel");
            slices.push((kernel.to_bytes(), spec));
        }
    }
    for round in 0..rounds(3000) {
        let (slice, spec) = &slices[round as usize % slices.len()];
        let mut bytes = slice.clone();
        for _ in 0..1 + random.below(3) {
            let mut pick = || usize::try_from(random.below(bytes.len() as u64)).unwrap();
            let (at, other) = (pick(), pick());
            match random.below(5) {
                0 => bytes[at] = random.next().to_le_bytes()[0],
                1 => bytes[at] = bytes[other],
                2 => bytes.insert(at, random.next().to_le_bytes()[0]),
                3 => bytes[at] = bytes[at].wrapping_add(1),
                _ => bytes.swap(at, other),
            }
        }
        if let Ok(kernel) = Kernel::from_bytes(&bytes) {
            read += 1;
            let _ = kernel.doubts();
            let _ = spec.with(|launch| prove_in_time(&kernel, launch, 5_000));
        }
        let noise: Vec<u8> = (0..random.below(60)).map(|_| random.next().to_le_bytes()[0]).collect();
        let prefix = &slice[..usize::try_from(random.below(40)).unwrap().min(slice.len())];
        let _ = Kernel::from_bytes(&[prefix, &noise].concat());
    }
    println!("{read} changed slices are read");
    assert!(read > 100, "{read}");
}
