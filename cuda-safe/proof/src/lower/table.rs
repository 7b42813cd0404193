//! What the table of instructions says of a proof is what the lowering does.

use cuda_ptx::instruction::{Proof, ROWS};
use cuda_ptx::parse;

use super::{Lowering, PTX};
use crate::ir::Op;

/// Returns what becomes of an instruction, which is on a line of its own.
fn lowered(instruction: &str) -> Proof {
    let head = "\
.version 9.0
.target sm_90
.address_size 64
.shared .align 128 .b8 tile[1024];
.func F { ret; }
.entry k(.param .u64 out, .param .u64 image) { .reg .b64 m, t; .reg .b32 s;
ld.param.u64 m, [out]; ld.param.u64 t, [image]; mov.u32 s, tile;
";
    let line = u32::try_from(head.lines().count()).unwrap() + 2;
    let text = format!("{head}{instruction}ret; }}");
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}: {instruction}"));
    let lowering = Lowering::kernel(&module, 1, module.functions[1].body.as_ref().unwrap()).unwrap();
    let steps = lowering.kernel.steps.iter().filter(|step| step.at == (PTX, line));
    let ops: Vec<Op> = steps.map(|step| step.op).collect();
    if ops.contains(&Op::Refuse) {
        Proof::Refused
    } else if !ops.is_empty() && ops.iter().all(|op| *op == Op::Unknown) {
        Proof::Unknown
    } else {
        Proof::Exact
    }
}

#[test]
fn the_table_of_instructions_says_what_becomes_of_each() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let found: Vec<Proof> = row.examples().iter().map(|it| lowered(it)).collect();
        // Of some types, nothing may be known.
        let is_right = match row.proof {
            Proof::Exact => found.contains(&Proof::Exact) && !found.contains(&Proof::Refused),
            other => found.iter().all(|it| *it == other),
        };
        if !is_right {
            wrong.push(format!("{}: {found:?}, not {:?}", row.name, row.proof));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
