//! A number that is an operand is cut to the bits of its place, as ptxas cuts it, or it is refused.

use std::path::Path;
use std::process::Command;

use cuda_testing_kernels::tool;

use super::complete::{refused, text};
use super::table::{Register, forms, registers, tokens};
use crate::ir::Op;
use crate::kernels;

/// Numbers with more bits than some places have, and others in front of these bits.
const NUMBERS: [u64; 4] = [0x1_0001, 0x1_0000_0003, 0x8000_0000_8000_8080, 0xffff_fffe_ffff_fe85];

/// An instruction with a number in place of a register, and with the number that the register takes.
struct Pair {
    whole: String,
    cut: String,
}

/// Returns an instruction with each number in place of each register that it reads.
fn pairs(instruction: &str) -> Vec<Pair> {
    let operand = |it: &Register| it.name.starts_with(['a', 'b', 'c']) && (8..=64).contains(&it.bits);
    let mut all = Vec::new();
    for register in registers(instruction).into_iter().filter(operand) {
        for number in NUMBERS {
            let cut = number & (u64::MAX >> (64 - register.bits));
            let with = |number: u64| {
                let one = |token: &str| {
                    if token == register.name { format!("{number:#x}") } else { token.to_owned() }
                };
                // Words have the names of registers, such as `b32`.
                let each = instruction.split("; ").map(|it| {
                    let (words, operands) = it.split_once(' ').unwrap_or((it, ""));
                    format!("{words} {}", tokens(operands).map(one).collect::<String>())
                });
                each.collect::<Vec<_>>().join("; ")
            };
            if cut != number {
                all.push(Pair { whole: with(number), cut: with(cut) });
            }
        }
    }
    all
}

/// What gives operands their values and uses results.
fn uses(it: &Register) -> String {
    let Register { name, bits } = it;
    match (name.starts_with(['a', 'b', 'c']), bits) {
        (true, 1) => format!("ld.volatile.shared.b16 z, [m];\nsetp.ne.b16 {name}, z, 0;\n"),
        // ptxas joins a conversion with what follows, and reads numbers in other ways then.
        (true, 64) => format!("ld.volatile.shared.b32 y, [m];\ncvt.u64.u32 {name}, y;\n"),
        (true, _) => format!("ld.volatile.shared.b{bits} {name}, [m];\n"),
        (false, 1) => format!("selp.b16 z, 1, 2, {name};\nst.volatile.shared.b16 [m], z;\n"),
        (false, _) => format!("st.volatile.shared.b{bits} [m], {name};\n"),
    }
}

/// Returns which of the instructions the lowering takes.
fn taken(instructions: &[&str]) -> Vec<bool> {
    let (text, of) = text(instructions, uses);
    let mut taken = vec![true; instructions.len()];
    for step in kernels(&text).unwrap()[0].steps.iter().filter(|step| step.op == Op::Refuse) {
        if let Some(taken) = of.get(step.at.1 as usize - 1).and_then(|at| taken.get_mut(*at)) {
            *taken = false;
        }
    }
    taken
}

/// Returns the machine code of instructions.
fn code(ptxas: &Path, instructions: &[&str]) -> Vec<u8> {
    let path =
        |kind| std::env::temp_dir().join(format!("cuda-proof-{}-constants.{kind}", std::process::id()));
    std::fs::write(path("ptx"), text(instructions, uses).0).unwrap();
    let mut command = Command::new(ptxas);
    command.args(["-arch=sm_90", "-O1"]).arg(path("ptx")).arg("-o").arg(path("cubin"));
    assert!(command.status().unwrap().success());
    let code = std::fs::read(path("cubin")).unwrap();
    ["ptx", "cubin"].into_iter().for_each(|kind| std::fs::remove_file(path(kind)).unwrap());
    code
}

#[test]
fn numbers_are_cut_as_ptxas_cuts_them() {
    let Some(ptxas) = tool("ptxas", "to how many bits ptxas cuts each number that is an operand") else {
        return;
    };
    let instructions = forms().into_iter().flat_map(|it| it.instructions);
    let all: Vec<Pair> = instructions.flat_map(|it| pairs(&it)).collect();
    // One of many in the quick tier: each opcode and type has several.
    let step = if std::env::var_os("CUDA_TEST_ALL").is_some() { 1 } else { 7 };
    let (mut tried, mut wrong) = (0, Vec::new());
    for some in all.iter().step_by(step).collect::<Vec<_>>().chunks(100) {
        let whole: Vec<&str> = some.iter().map(|it| &*it.whole).collect();
        let taken = taken(&whole);
        let some: Vec<_> = some.iter().zip(taken).filter(|it| it.1).map(|it| it.0).collect();
        let both: Vec<&str> = some.iter().flat_map(|it| [&*it.whole, &*it.cut]).collect();
        let refused = refused(&ptxas, &both);
        let is_read = |it: &&&&Pair| [&*it.whole, &*it.cut].iter().all(|it| !refused.contains(it));
        let some: Vec<_> = some.iter().filter(is_read).collect();
        let differ = |some: &[&&&Pair]| {
            let texts = |of: fn(&Pair) -> &str| some.iter().map(|it| of(it)).collect::<Vec<_>>();
            code(&ptxas, &texts(|it| &it.whole)) != code(&ptxas, &texts(|it| &it.cut))
        };
        tried += some.len();
        if differ(&some) {
            wrong.extend(some.iter().filter(|it| differ(&[it])).map(|it| &*it.whole));
        }
    }
    assert!(tried > 100, "{tried} tried");
    println!("{tried} tried");
    assert_eq!(wrong, [""; 0], "ptxas cuts a number to other bits, of {tried}");
}
