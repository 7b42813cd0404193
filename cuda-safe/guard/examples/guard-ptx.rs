//! Guards the accesses of all kernels of a text: `guard-ptx FILE.ptx mixed|full FOLDER`.
//!
//! `full` guards all of them, and `mixed` those whose address depends on memory. For each kernel it writes
//! `KERNEL.ptx`, the guarded form, and `KERNEL.limits` with a line for each limit: the parameter, the bytes
//! and the alignment. `benches/prices.cu` runs them on a GPU.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use cuda_guard::{Region, guard, guardable, verify};
use cuda_ptx::{Body, Entity, Operand, Statement};

fn registers(operands: &[Operand<'_>]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for operand in operands {
        operand.each_name(&mut |name| {
            if let Entity::Register(at) = name.entity {
                found.insert(at);
            }
        });
    }
    found
}

/// Returns the registers whose values come from memory.
fn from_memory(body: &Body<'_>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for statement in &body.statements {
            let Statement::Instruction(it) = statement else { continue };
            let Some(result) = it.result() else { continue };
            let is_load = matches!(it.opcode(), "ld" | "ldu" | "atom") && !it.has("param");
            if is_load || !registers(&it.operands[1..]).is_disjoint(&found) {
                found.extend(registers(std::slice::from_ref(result)));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, form @ ("mixed" | "full"), folder] =
        &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        return Err("guard-ptx FILE.ptx mixed|full FOLDER".into());
    };
    let text = std::fs::read_to_string(file)?;
    let module = cuda_ptx::parse(&text)?;
    std::fs::create_dir_all(folder)?;
    for function in module.functions.iter().filter(|it| it.is_entry) {
        let (Some(body), kernel) = (&function.body, function.name) else { continue };
        let mut asked: BTreeSet<usize> = guardable(&module, kernel).into_iter().collect();
        let all = asked.len();
        if *form == "mixed" {
            let unknown = from_memory(body);
            asked.retain(|at| {
                let Statement::Instruction(it) = &body.statements[*at] else { return false };
                let is_address = |it: &&Operand<'_>| matches!(it, Operand::Address(..));
                let addresses: Vec<_> = it.operands.iter().filter(is_address).cloned().collect();
                !registers(&addresses).is_disjoint(&unknown)
            });
        }
        let guarded = guard(&module, kernel, &asked)?;
        verify(&module, &asked, &guarded)?;
        let mut limits = String::new();
        for limit in &guarded.limits {
            let Region::Argument { parameter, offset: 0 } = limit.region else {
                return Err(format!("{kernel}: {:?} is no argument", limit.region).into());
            };
            limits += &format!("{parameter} {} {}\n", limit.span, limit.align);
        }
        std::fs::write(Path::new(folder).join(format!("{kernel}.ptx")), &guarded.text)?;
        std::fs::write(Path::new(folder).join(format!("{kernel}.limits")), limits)?;
        println!("{kernel}: {} of {all} accesses guarded, by {} checks", asked.len(), guarded.sites.len());
    }
    Ok(())
}
