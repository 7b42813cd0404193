//! The machine code that ptxas makes of guarded accesses. A proof is about PTX: an access behind a comparison
//! must not come before it in machine code, and an index that is loaded once and tested must not be loaded
//! again. `machine.tsv` lists the lines of the project's kernels where machine code has such an access
//! without a comparison, or more loads than PTX. Each was read, and another ptxas must not lengthen the list.
//!
//! `MACHINE_PTX=FOLDER` lists those of other PTX, as of the corpus, and compares nothing.
//!
//! Not under sanitizers: it uses no GPU.
//! Not in the bundle: it compiles sources with nvcc.

#![allow(clippy::expect_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

mod code;
#[path = "../kernels/compile.rs"]
mod compile;
use code::{Code, Line};
use compile::{compile_all, path_of};
use cuda_testing_kernels::{patterns, planted, tool};

const LIST: &str = include_str!("machine.tsv");
const ARCHITECTURES: [&str; 2] = ["sm_75", "sm_90"];

/// What machine code has on a line of a kernel: `free` accesses without a comparison where PTX has guarded
/// ones only, or more `loads` of an index than PTX.
type Finding = (String, Line, &'static str);

/// Compiles PTX to machine code, and returns it as text.
fn disassemble(ptxas: &Path, nvdisasm: &Path, name: &str, ptx: &str, arch: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = name.replace(['/', '.'], "_");
    let (from, to) = (folder.join(format!("{name}.ptx")), folder.join(format!("{name}-{arch}.cubin")));
    std::fs::write(&from, ptx).expect("the PTX is written");
    // A function of another file: the code is not linked.
    let extra = ptx.contains("\n.extern .func").then_some("-c");
    let arch = format!("-arch={arch}");
    let arguments = [&*arch, "--generate-line-info", "-o"];
    let output = Command::new(ptxas).args(extra).args(arguments).args([&to, &from]).output();
    let output = output.expect("ptxas starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(nvdisasm).args(["-g", "-c"]).arg(&to).output().expect("nvdisasm starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the accesses of each line: all, guarded ones, and loads.
fn lines(code: &Code) -> BTreeMap<&Line, [usize; 3]> {
    let mut lines = BTreeMap::new();
    for (node, is_guarded) in code.nodes.iter().zip(code.guarded()).filter(|it| it.0.is_access) {
        let counts: &mut [usize; 3] = lines.entry(&node.line).or_default();
        counts[0] += 1;
        counts[1] += usize::from(is_guarded);
        counts[2] += usize::from(node.is_load);
    }
    lines
}

/// Compares machine code with its PTX. Returns what was found, and how many accesses and loads of machine
/// code were compared.
fn compare(ptx: &str, machine: &str) -> (BTreeMap<Finding, (usize, usize)>, [usize; 2]) {
    let (ptx, machine) = (code::ptx(ptx), code::machine(machine));
    let (mut found, mut counts) = (BTreeMap::new(), [0; 2]);
    for (name, own) in &machine {
        let Some(code) = ptx.get(name) else { continue };
        let (before, after, indices) = (lines(code), lines(own), code.index_lines());
        for (line, [all, guarded, loads]) in &before {
            let [own, own_guarded, own_loads] = after.get(line).copied().unwrap_or_default();
            if all == guarded {
                counts[0] += own;
                if own > own_guarded {
                    found.insert((name.clone(), (*line).clone(), "free"), (0, own - own_guarded));
                }
            }
            if indices.contains(line) {
                counts[1] += own_loads;
                if own_loads > *loads {
                    found.insert((name.clone(), (*line).clone(), "loads"), (*loads, own_loads));
                }
            }
        }
    }
    (found, counts)
}

/// What is put in place of machine code, so that the comparison finds it: an end without its predicate does
/// nothing, and a load happens twice.
const FAULTS: [(&str, &str); 2] = [("EXIT", "NOP"), ("LDG", "LDG")];

/// Puts a fault into a line: what has this opcode gets another one, if a predicate stands before it, or is
/// there twice.
fn plant(line: &str, of: &str, by: &str) -> String {
    let has = line.contains(&format!(" {of}")) && line.trim_start().starts_with("/*");
    match line.split_once('@') {
        Some((before, _)) if has && of != by => format!("{before}{by} ;\n"),
        None if has && of == by => format!("{line}\n{line}\n"),
        _ => format!("{line}\n"),
    }
}

/// The PTX that is looked at, by name, with the folder of the source.
fn sources() -> Option<Vec<(String, String)>> {
    if let Some(folder) = std::env::var_os("MACHINE_PTX") {
        let all = std::fs::read_dir(folder).expect("the folder").flatten().map(|it| it.path());
        let read =
            |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(path).expect("the PTX"));
        return Some(all.filter(|it| it.extension().is_some_and(|it| it == "ptx")).map(read).collect());
    }
    let nvcc = tool("nvcc", "the machine code of the kernels of this project")?;
    let mut all: Vec<(String, String)> =
        compile_all(&nvcc).into_iter().map(|(file, text)| (file.to_owned(), text)).collect();
    for (name, text) in [("patterns", patterns()), ("planted", planted())] {
        all.push((format!("cuda-safe/testing/kernels/{name}.cu"), text.to_owned()));
    }
    Some(all)
}

/// The rows of the list that a file gives.
fn rows(file: &str, arch: &str, found: BTreeMap<Finding, (usize, usize)>) -> Vec<String> {
    let source = std::fs::read_to_string(path_of(file)).unwrap_or_default();
    let row = |((kernel, (name, line), what), (before, after)): (Finding, (usize, usize))| {
        // The text of a line stays when others move it.
        let text = source.lines().nth(line as usize - 1).filter(|_| file.ends_with(&*name));
        let text = text.map_or_else(|| line.to_string(), |it| it.trim().to_owned());
        format!("{arch}\t{kernel}\t{what}\t{before}\t{after}\t{name}\t{text}")
    };
    found.into_iter().map(row).collect()
}

#[test]
#[ignore = "needs nvdisasm: ci/steps/machine fetches it"]
fn machine_code_has_guarded_accesses_and_loaded_indices_as_ptx_has_them() {
    let nvdisasm = PathBuf::from(std::env::var_os("NVDISASM").expect("ci/steps/machine sets NVDISASM"));
    let (Some(ptxas), Some(sources)) = (tool("ptxas", "the machine code of guarded accesses"), sources())
    else {
        return;
    };
    let (mut found, mut counts, mut planted) = (BTreeSet::new(), [0; 2], [0; 2]);
    for (file, ptx) in &sources {
        let is_old = !ptx.contains(".target sm_8") && !ptx.contains(".target sm_9");
        for arch in ARCHITECTURES.into_iter().filter(|it| is_old || *it == "sm_90") {
            let machine = disassemble(&ptxas, &nvdisasm, file, ptx, arch);
            for (planted, (of, by)) in planted.iter_mut().zip(FAULTS) {
                let changed: String = machine.lines().map(|it| plant(it, of, by)).collect();
                *planted += compare(ptx, &changed).0.len();
            }
            let (own, compared) = compare(ptx, &machine);
            counts = [counts[0] + compared[0], counts[1] + compared[1]];
            found.extend(rows(file, arch, own));
        }
    }
    println!(
        "{} accesses of guarded lines, {} loads of indices; of planted faults {planted:?}",
        counts[0], counts[1]
    );
    if std::env::var_os("MACHINE_PTX").is_some() {
        return println!("{}", found.into_iter().collect::<Vec<_>>().join("\n"));
    }
    let known: BTreeSet<&str> = LIST.lines().filter(|it| !it.starts_with('#')).collect();
    let new: Vec<&String> = found.iter().filter(|it| !known.contains(&***it)).collect();
    assert!(new.is_empty(), "machine.tsv lacks these lines. Read the machine code: {new:#?}");
    // Most of the accesses, and the faults, are of few kernels: they may become fewer, but not vanish.
    assert!(counts[0] > 2000 && counts[1] > 300, "{counts:?}");
    assert!(planted[0] > 150 && planted[1] > 25, "{planted:?}");
}
