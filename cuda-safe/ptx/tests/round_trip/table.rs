//! The table of instructions: ptxas takes each form with each of its types, and the emulator's page names
//! what it does not run. (The proof's own tests try what it does with them.)

use std::collections::BTreeSet;

use super::ptxas::Ptxas;
use cuda_ptx::Statement;
use cuda_ptx::instruction::{ROWS, Row, opcodes, row};

/// The architectures that know an instruction, from the most to the least usual.
const ARCHITECTURES: [&str; 3] = ["sm_90", "sm_90a", "sm_100a"];

#[test]
fn each_opcode_has_its_rows_in_order_and_an_instruction_finds_its_own() {
    let names: Vec<&str> = opcodes().collect();
    assert!(names.is_sorted() && names.len() > 130, "{}", names.len());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for own in ROWS {
        for text in own.examples() {
            let text = format!(".entry k() {{ {text} }}");
            let module = cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let body = module.functions[0].body.as_ref().unwrap();
            let [.., Statement::Instruction(it), Statement::Label(_), Statement::Close] =
                &body.statements[..]
            else {
                panic!("{text}")
            };
            assert_eq!(it.row().map(|row| row.name), Some(own.name), "{text}");
            assert_eq!(it.result().is_some(), own.has_result(), "{text}");
        }
    }
    for (words, name) in [
        ("cp.async.bulk.tensor.2d.shared::cluster.global", Some("cp.async.bulk")),
        ("cp.reduce.async.bulk.global.shared::cta", Some("cp.reduce")),
        ("cp.async.bulk.commit_group", Some("cp.async.commit_group")),
        ("cp.async.cg.shared.global", Some("cp.async")),
        ("mul.wide.s32", Some("mul.wide")),
        ("mul.lo.s32", Some("mul")),
        ("fence.proxy.tensormap::generic.acquire.gpu", Some("fence.proxy.tensormap")),
        ("madness.u32", None),
        ("", None),
    ] {
        assert_eq!(row(&words.split('.').collect::<Vec<_>>()).map(|it| it.name), name, "{words}");
    }
}

#[test]
fn the_emulators_page_names_what_it_does_not_run() {
    let page = include_str!("../../../../ci/emulator/README.md");
    let (_, sentence) = page.split_once("Unknown instructions are ").unwrap();
    let (listed, _) = sentence.split_once(". ").unwrap();
    let listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    let runs =
        |opcode: &str| ROWS.iter().any(|it| it.is_emulated && it.name.split('.').next() == Some(opcode));
    assert_eq!(listed, opcodes().filter(|opcode| !runs(opcode)).collect::<Vec<_>>());
}

#[test]
fn ptxas_takes_each_row_with_each_of_its_types() {
    let Some(ptxas) = Ptxas::find() else { return };
    let all = || ROWS.iter().flat_map(Row::examples);
    let mut left: Vec<String> = all().collect();
    let before = left.len();
    for architecture in ARCHITECTURES {
        let takes = |text: &[String]| ptxas.compile(&kernel(architecture, text)).is_some();
        left = refused(&left, &takes);
    }
    assert_eq!(left, [""; 0], "of {before}");
}

/// Returns those of some instructions that are refused: halves that are taken as a whole need few calls.
fn refused(list: &[String], takes: &impl Fn(&[String]) -> bool) -> Vec<String> {
    if takes(list) {
        return Vec::new();
    }
    if list.len() == 1 {
        return list.to_vec();
    }
    let (one, other) = list.split_at(list.len() / 2);
    [refused(one, takes), refused(other, takes)].concat()
}

/// Puts instructions of the table into a kernel.
fn kernel(architecture: &str, instructions: &[String]) -> String {
    let mut text = format!(
        ".version 9.0\n.target {architecture}\n.address_size 64\n.shared .align 128 .b8 tile[1024];
         .func F {{ ret; }}
         .visible .entry k(.param .u64 out, .param .u64 image) {{ .reg .b64 m, t; .reg .b32 s;
         ld.param.u64 m, [out]; ld.param.u64 t, [image]; mov.u32 s, tile;\n"
    );
    for instruction in instructions {
        text += instruction;
    }
    text + "ret; }"
}
