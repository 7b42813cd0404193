//! Each form of instruction that the lowering takes as exact or as bounded is in the table, or ptxas refuses
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_ptx::instruction::{Effect, Proof, ROWS, Row};

use super::table::{self, Register, bits_of, forms, header, registers, tokens, with_bits};
use crate::ir::{Op, Operand, Space};
use crate::kernels;
use cuda_testing_kernels::tool;

/// Opcodes with results beside those that compute.
const OTHERS: &str = "cvta setp";

/// The modifiers of such opcodes.
const MODIFIERS: &str = "\
    lo hi wide cc sat ftz rn rz rm rp rni rzi rmi rpi NaN relu xorsign abs full approx shiftamt to global \
    shared local const eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan and or xor l r clamp wrap";

const TYPES: &[&str] = &[
    "u32", "b32", "f32", "s32", "pred", "u64", "s64", "b64", "f64", "u16", "s16", "b16", "f16", "bf16", "u8",
    "s8", "b8", "f16x2", "bf16x2", "u16x2", "s16x2", "tf32", "b128",
];

/// Operands, as in the table. The first are tried with each opcode.
const SHAPES: &[&str] = &[
    "d, a",
    "d, a, b",
    "d, a, b32",
    "d, a, b, c",
    "d, a, b, c32",
    "D, a, b",
    "D, a, b, C",
    "d32, a",
    "d32, a, b",
    "d, a, b32, c32",
    "d, a, 1, 5",
    "d, a, b, 8, 24",
    "d, a, b, c32, 8",
    "d, a, b, cp",
    "dp, a, b",
    "dp, ap, bp",
    "d16, a16",
    "D, a",
    "d, a, b, 32, 32",
    "dp, a",
    "dp, ap",
    "dp, ap, !bp",
    "dp|ep, a, b",
    "dp|dp, a, b",
    "dp, a, b, cp",
    "dp|ep, a, b, cp",
    "dp|ep, a, b, !cp",
    "dp, a, 0f3f800000",
    "dp|ep, a, 0f3f800000",
    "dp|ep, a, 0f3f800000, cp",
    "dp, a, 0d3ff0000000000000",
    "dp|ep, a, 0d3ff0000000000000",
    "dp, a, 0f3f800000, cp",
    "dp, a, 0d3ff0000000000000, cp",
    "dp|ep, a, 0d3ff0000000000000, cp",
    "x32, a; setp.ge.f32 dp, x32, 0f3f800000",
    "x64, a; setp.ge.f64 dp, x64, 0d3ff0000000000000",
    "{d16, e16}, a",
    "{d32, e32}, a",
    "{d16, e16, f16, g16}, a",
    "{d16, d16}, a",
    "{d32, d32}, a",
    "{d8, e8}, a",
    "d, {a16, b16}",
    "d, {a32, b32}",
];

/// A kernel with instructions and what uses their results, and the instruction that each line belongs to.
pub(super) fn text(instructions: &[&str], mut uses: impl FnMut(&Register) -> String) -> (String, Vec<usize>) {
    let mut text =
        header() + ".visible .entry k()\n{\n.reg .b16 z;\n.reg .b32 y;\n.shared .align 16 .b8 m[16];\n";
    for operand in ["a", "b", "c"] {
        for (bits, name) in [(1, "p"), (8, "8"), (16, "16"), (32, "32"), (64, "64"), (128, "128")] {
            let register = Register { name: format!("{operand}{name}"), bits };
            text += &(register.declaration() + &uses(&register));
        }
    }
    let mut of = vec![usize::MAX; text.lines().count()];
    for (at, instruction) in instructions.iter().enumerate() {
        let scope = table::scope(instruction, &mut uses);
        of.resize(of.len() + scope.lines().count(), at);
        text += &scope;
    }
    (text + "ret;\n}\n", of)
}

/// Returns which of the instructions the lowering takes as exact or as bounded in some result.
fn known(instructions: &[&str]) -> Vec<bool> {
    let (text, of) = text(instructions, |it| match it.bits {
        1 => format!("selp.b16 z, 1, 2, {};\nst.global.b8 [z], z;\n", it.name),
        _ => format!("st.global.b8 [{}], z;\n", it.name),
    });
    let kernel = kernels(&text).unwrap().remove(0);
    let mut found = vec![false; instructions.len()];
    let (mut current, mut is_refused, mut exact, mut unknown) =
        (usize::MAX, false, BTreeSet::new(), BTreeSet::new());
    for step in &kernel.steps {
        let Some(at) = of.get(step.at.1 as usize - 1).copied().filter(|at| *at != usize::MAX) else {
            continue;
        };
        if at != current {
            (current, is_refused, exact, unknown) = (at, false, BTreeSet::new(), BTreeSet::new());
        }
        let is_in = |set: &BTreeSet<u32>, it: &Operand| match it {
            Operand::Register(it) | Operand::Negated(it) => set.contains(it),
            _ => false,
        };
        match step.op {
            Op::Store => found[at] |= !is_refused && is_in(&exact, &step.from[0]),
            // No result is written then.
            Op::Refuse => is_refused = true,
            _ => {}
        }
        let is_bounded = |to: u32| match step.from[..] {
            [Operand::Number(low), Operand::Number(high), ..] => {
                let bits = kernel.registers[to as usize];
                (2..=64).contains(&bits) && i128::from(high) - i128::from(low) < (1 << bits) - 1
            }
            _ => false,
        };
        for to in &step.to {
            let is_known = match step.op {
                Op::Unknown => is_bounded(*to),
                // An address of these is known as one, and not as a number.
                Op::ToGeneric | Op::FromGeneric if step.space != Space::Global => false,
                _ => !step.from.iter().any(|it| is_in(&unknown, it)),
            };
            let (into, out_of) =
                if is_known { (&mut exact, &mut unknown) } else { (&mut unknown, &mut exact) };
            into.insert(*to);
            out_of.remove(to);
        }
    }
    found
}

/// An instruction without the bits of its registers and without its numbers, and with its modifiers in order.
fn key(instruction: &str) -> String {
    let one = |it: &str| {
        let (opcode, operands) = it.split_once(' ').unwrap();
        let mut words: Vec<&str> = opcode.split('.').collect();
        let types = words.iter().rposition(|it| !TYPES.contains(it)).unwrap() + 1;
        words[1..types].sort_unstable();
        let plain = |token| match token {
            "ap" | "bp" | "cp" | "dp" | "ep" => token,
            _ if token.starts_with(|it: char| it.is_ascii_digit()) => "#",
            _ => token.trim_end_matches(|it: char| it.is_ascii_digit()),
        };
        format!("{} {}", words.join("."), tokens(operands).map(plain).collect::<String>())
    };
    instruction.split("; ").map(one).collect::<Vec<_>>().join("; ")
}

/// A type, or two of a conversion, and the operands.
type Tail = (String, String);

/// Makes an instruction, if there are registers of such bits.
fn instruction(opcode: &str, (types, shape): &Tail) -> Option<String> {
    let (first, rest) = shape.split_once("; ").unwrap_or((shape, ""));
    let mut text = with_bits(&format!("{opcode}.{types} {first}"));
    if !rest.is_empty() {
        text += &format!("; {rest}");
    }
    let fits = |it: &Register| matches!(it.bits, 1 | 8 | 16 | 32 | 64 | 128);
    registers(&text).iter().all(fits).then_some(text)
}

fn tails(types: &[&str], shapes: &[&str]) -> Vec<Tail> {
    let of =
        |ty: &&str| shapes.iter().map(|shape| ((*ty).to_owned(), (*shape).to_owned())).collect::<Vec<_>>();
    types.iter().flat_map(of).collect()
}

/// Two types, and registers that have no fewer bits.
fn conversions() -> Vec<Tail> {
    let bits = |ty: &str| bits_of(ty).unwrap_or(32).max(16);
    let pair = |to: &str, from: &str| {
        let shapes = [(bits(to), bits(from)), (64, 64)].map(|(to, from)| format!("d{to}, a{from}"));
        shapes.map(|shape| (format!("{to}.{from}"), shape))
    };
    TYPES.iter().flat_map(|to| TYPES.iter().flat_map(|from| pair(to, from))).collect()
}

/// Looks for instructions of which the lowering knows something.
struct Search {
    ptxas: PathBuf,
    table: BTreeSet<String>,
    /// What the table lacks.
    missing: Vec<String>,
    tried: usize,
}

impl Search {
    /// Tries opcodes with their modifiers. Returns the instructions of which something is known.
    fn known(&mut self, all: impl Iterator<Item = (String, Tail)>) -> Vec<(String, Tail, String)> {
        let made = |(opcode, tail): (String, Tail)| Some((instruction(&opcode, &tail)?, opcode, tail));
        let all: Vec<_> = all.filter_map(made).map(|(text, opcode, tail)| (opcode, tail, text)).collect();
        self.tried += all.len();
        // The time of the lowering grows with the square of the length.
        let known = |some: &[(String, Tail, String)]| {
            let instructions: Vec<&str> = some.iter().map(|it| &*it.2).collect();
            let known = some.iter().zip(known(&instructions)).filter(|it| it.1);
            known.map(|it| it.0.clone()).collect::<Vec<_>>()
        };
        all.chunks(40).flat_map(known).collect()
    }

    /// Does the same, and returns those that ptxas accepts.
    fn accepted(&mut self, all: impl Iterator<Item = (String, Tail)>) -> Vec<(String, Tail)> {
        let mut found = self.known(all);
        let is_new = |it: &&str| !self.table.contains(&key(it));
        let new: Vec<&str> = found.iter().map(|it| &*it.2).filter(is_new).collect();
        let refused: BTreeSet<String> = refused(&self.ptxas, &new).into_iter().map(str::to_owned).collect();
        found.retain(|it| !refused.contains(&it.2));
        for (_, _, text) in &found {
            if self.table.insert(key(text)) {
                self.missing.push(text.clone());
            }
        }
        found.into_iter().map(|(opcode, tail, _)| (opcode, tail)).collect()
    }
}

/// Returns the instructions that ptxas refuses.
pub(super) fn refused<'i>(ptxas: &Path, instructions: &[&'i str]) -> BTreeSet<&'i str> {
    let (text, of) = text(instructions, |_| String::new());
    let path = std::env::temp_dir().join(format!("cuda-proof-{}.ptx", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let output = Command::new(ptxas).args(["-arch=sm_90", "-o", "/dev/null"]).arg(&path).output().unwrap();
    std::fs::remove_file(path).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = |error: &str| {
        let (_, rest) = error.split_once(", line ")?;
        let (line, _) = rest.split_once("; error")?;
        of.get(line.parse::<usize>().ok()? - 1).copied().filter(|at| *at != usize::MAX)
    };
    let refused: BTreeSet<&str> = errors.lines().filter_map(line).map(|at| instructions[at]).collect();
    assert_eq!(output.status.success(), refused.is_empty(), "{errors}");
    refused
}

/// Opcodes with one modifier more, in one order.
fn modified(opcode: &str) -> impl Iterator<Item = String> {
    let is_new = |modifier: &&str| !opcode.split('.').any(|own| own == *modifier);
    MODIFIERS.split_whitespace().filter(is_new).map(move |it| format!("{opcode}.{it}"))
}

#[test]
fn each_form_that_is_taken_as_exact_is_in_the_table_or_refused_by_ptxas() {
    let forms = forms();
    for form in &forms {
        let instructions: Vec<&str> = form.instructions.iter().map(|it| &**it).collect();
        assert!(known(&instructions).contains(&true), "nothing is known of {}: leave it out", form.name);
    }
    let Some(ptxas) =
        tool("ptxas", "whether each form of instruction that a proof takes as exact was tried on a GPU")
    else {
        return;
    };
    let all: Vec<&str> = forms.iter().flat_map(|it| it.instructions.iter().map(|it| &**it)).collect();
    assert_eq!(refused(&ptxas, &all), BTreeSet::new(), "ptxas refuses a form of the table");
    let table = forms.iter().flat_map(|it| it.instructions.iter().map(|it| key(it))).collect();
    let mut search = Search { ptxas, table, missing: Vec::new(), tried: 0 };
    let with_modifier =
        |opcode: &str| std::iter::once(opcode.to_owned()).chain(modified(opcode)).collect::<Vec<_>>();
    let product = |opcodes: Vec<String>, tails: Vec<Tail>| {
        opcodes
            .into_iter()
            .flat_map(move |opcode| tails.clone().into_iter().map(move |tail| (opcode.clone(), tail)))
    };
    // The opcodes of which something is known with one modifier or none.
    let computes = |row: &&Row| row.effect == Effect::Computes && row.proof != Proof::Refused;
    let rows = ROWS.iter().filter(computes).filter_map(|row| row.name.split('.').next());
    let opcodes: BTreeSet<&str> = rows.chain(OTHERS.split(' ')).collect();
    let opcodes = opcodes.into_iter().flat_map(with_modifier).collect();
    let found = search.known(product(opcodes, tails(&TYPES[..3], &SHAPES[..16])));
    let names: BTreeSet<&str> = found.iter().map(|it| it.0.split('.').next().unwrap()).collect();
    let opcodes = names.into_iter().flat_map(with_modifier).collect();
    let mut open = search.accepted(product(opcodes, tails(&TYPES[..5], SHAPES)));
    open.extend(search.accepted(product(with_modifier("cvt"), conversions())));
    for _ in 0..2 {
        // What is accepted with one type is tried with all.
        let other = |(opcode, (types, shape)): &(String, Tail)| {
            let types = if types.contains('.') { vec![&**types] } else { TYPES.to_vec() };
            types.into_iter().map(|it| (opcode.clone(), (it.to_owned(), shape.clone()))).collect::<Vec<_>>()
        };
        let all: BTreeSet<(String, Tail)> = open.iter().flat_map(other).collect();
        open = search.accepted(all.into_iter());
        // Then with more modifiers, whose operands come behind those of the opcode.
        let mut more = BTreeMap::new();
        for (opcode, (types, shape)) in &open {
            let shapes: Vec<&str> =
                SHAPES.iter().copied().filter(|it| it.starts_with(&**shape)).chain([&**shape]).collect();
            for opcode in modified(opcode) {
                let mut words: Vec<String> = opcode.split('.').map(str::to_owned).collect();
                words[1..].sort_unstable();
                for shape in &shapes {
                    let tail = (types.clone(), (*shape).to_owned());
                    more.entry((words.clone(), tail.clone())).or_insert((opcode.clone(), tail));
                }
            }
        }
        open = search.accepted(more.into_values());
    }
    assert!(
        search.tried > 500_000 && !open.is_empty(),
        "{} tried, {} with three modifiers",
        search.tried,
        open.len()
    );
    assert!(search.missing.is_empty(), "ptxas accepts, and the table lacks: {:#?}", search.missing);
}
