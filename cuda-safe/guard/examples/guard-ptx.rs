//! Guards all accesses of a kernel: `guard-ptx FILE.ptx KERNEL FOLDER`.
//!
//! Writes `KERNEL.ptx` with the guarded form, and `KERNEL.limits` with a line for each limit: the parameter,
//! the bytes and the alignment.

use std::error::Error;
use std::path::Path;

use cuda_guard::{Region, guard, guardable, verify};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, kernel, folder] = &arguments[..] else {
        return Err("guard-ptx FILE.ptx KERNEL FOLDER".into());
    };
    let text = std::fs::read_to_string(file)?;
    let module = cuda_ptx::parse(&text)?;
    let asked: std::collections::BTreeSet<usize> = guardable(&module, kernel).into_iter().collect();
    let guarded = guard(&module, kernel, &asked)?;
    verify(&module, &asked, &guarded)?;
    let mut limits = String::new();
    for limit in &guarded.limits {
        let parameter = match limit.region {
            Region::Argument { parameter, offset: 0 } => i64::try_from(parameter)?,
            Region::Argument { .. } => return Err("a pointer in a structure".into()),
            // Dynamic shared memory.
            _ => -1,
        };
        limits += &format!("{parameter} {} {}\n", limit.span, limit.align);
    }
    let folder = Path::new(folder);
    std::fs::write(folder.join(format!("{kernel}.ptx")), &guarded.text)?;
    std::fs::write(folder.join(format!("{kernel}.limits")), limits)?;
    println!("{kernel}: {} accesses, {} checks", asked.len(), guarded.sites.len());
    Ok(())
}
