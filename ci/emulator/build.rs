//! Prepares the parts that the library is made of: the runtime's types, the names of its errors, a stub for
//! every function that is not written yet, and the link arguments that make the result a drop-in
//! `libcudart.so.13`.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_sys_build::{Bindings, Env, Search};

/// The major version of the runtime that this library stands for.
const STANDS_FOR: u32 = 13;
/// The signatures of CUDA 13.0.
const KEPT: &str = "../../cuda-sys/snapshot/bindings.rs";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let bindings = bindings(&out.join("bindings.rs"))?;
    fs::write(out.join("errors.rs"), errors(&bindings)?)?;
    fs::write(out.join("stubs.rs"), stubs()?)?;
    // The loader looks for this name, and programs ask for symbols of this version. GNU ld gives every symbol
    // the library's name as its version. Other linkers refuse to do so beside the list of exports that rustc
    // passes.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.13");
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
    Ok(())
}

/// The runtime's types and constants. They come from the installed headers if those are of CUDA 13, which
/// this library stands for, and otherwise from the kept signatures of CUDA 13.0.
fn bindings(file: &Path) -> Result<String> {
    let env = Env::from_process();
    let found = Search::new(&env).find().and_then(|toolkit| {
        let suits = toolkit.version().major == STANDS_FOR;
        if suits {
            Bindings::new().types_only().signatures_only().generate(&env, &toolkit, file)?;
        }
        Ok(suits)
    });
    for name in env.asked() {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if !found? {
        println!("cargo:rerun-if-changed={KEPT}");
        fs::copy(KEPT, file)?;
    }
    Ok(fs::read_to_string(file)?)
}

/// A table of the names and numbers of all errors, from the bindings.
fn errors(bindings: &str) -> Result<String> {
    let mut table = String::from("&[\n");
    let mut count = 0;
    for item in bindings.split("pub const ").skip(1) {
        // Where there is no rustfmt, the bindings have blanks in other places.
        let item: String = item.chars().take_while(|c| *c != ';').filter(|c| !c.is_whitespace()).collect();
        let Some((name, rest)) = item.split_once(':') else { continue };
        let Some(number) = rest.strip_prefix("cudaError=cudaError(") else { continue };
        let Some((number, _)) = number.split_once(')') else { continue };
        writeln!(table, "    ({number}, c\"{name}\"),")?;
        count += 1;
    }
    if count < 100 {
        return Err(format!("only {count} error codes found in the bindings").into());
    }
    table.push(']');
    Ok(table)
}

/// A `stub!` line for every exported function that no file of `src/api` defines.
fn stubs() -> Result<String> {
    println!("cargo:rerun-if-changed=exports.txt");
    println!("cargo:rerun-if-changed=src/api");
    let exports = fs::read_to_string("exports.txt")?;
    let exports: BTreeSet<&str> = exports.lines().filter(|line| !line.starts_with('#')).collect();
    let mut written = BTreeSet::new();
    collect(Path::new("src/api"), &exports, &mut written)?;
    let mut stubs = String::new();
    for name in exports.iter().filter(|name| !written.contains(**name)) {
        writeln!(stubs, "stub!({name});")?;
    }
    Ok(stubs)
}

/// Finds the names of `exports` that follow `fn` or `|` in the files of a folder.
fn collect<'a>(folder: &Path, exports: &BTreeSet<&'a str>, written: &mut BTreeSet<&'a str>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, exports, written)?;
            continue;
        }
        let source = fs::read_to_string(&path)?;
        for line in source.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            for word in line.split_inclusive(['(', '|']) {
                let name = word.trim_end_matches(['(', '|']).trim().rsplit(' ').next().unwrap_or("");
                let before = word.trim_end_matches(['(', '|']).trim();
                let defined = before == name || before.ends_with(&format!("fn {name}"));
                if let (true, Some(export)) = (defined, exports.get(name)) {
                    written.insert(*export);
                }
            }
        }
    }
    Ok(())
}
