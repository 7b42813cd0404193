//! Prepares the parts that the program is made of: the runtime's types, the names of its errors, a stub for
//! every function that is not written yet, and the link arguments that make the result a drop-in
//! `libcudart.so.13`, too.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The runtime's types, as `cudart-sys` has them. They are those of a newer CUDA than 13.0, for which the
/// library stands: a minor version adds types, and only gives names to reserved bytes of those that exist.
/// Only constants such as `cudaDevAttrMax` are others.
const BINDINGS: &str = "../../cuda-sys/snapshot/bindings.rs";

/// Every function of the runtime, with its version.
const FUNCTIONS: &str = "../../cuda-safe/ledger/functions.tsv";

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
    for file in [BINDINGS, FUNCTIONS, "exports.txt", "src/api"] {
        println!("cargo:rerun-if-changed={file}");
    }
    let bindings = fs::read_to_string(BINDINGS)?;
    fs::write(out.join("bindings.rs"), types(&bindings))?;
    fs::write(out.join("errors.rs"), errors(&bindings)?)?;
    let exports = fs::read_to_string("exports.txt")?;
    let newer = newer(&fs::read_to_string(FUNCTIONS)?)?;
    let all: BTreeSet<&str> = exports.lines().chain(newer.lines()).collect();
    fs::write(out.join("exports-newer.txt"), &newer)?;
    fs::write(out.join("stubs.rs"), stubs(&all)?)?;
    link(&out, &all.into_iter().collect::<Vec<_>>().join(" "))
}

/// The functions that CUDA added after 13.0, one a line, and the per-thread variants that `src/api` defines.
fn newer(functions: &str) -> Result<String> {
    let mut names = BTreeSet::new();
    for line in functions.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(name), Some(since)) = (fields.next(), fields.nth(1)) else {
            return Err(format!("{FUNCTIONS}: {line:?}").into());
        };
        let since = since.split_once('.').ok_or(format!("{FUNCTIONS}: {line:?}"))?;
        if (since.0.parse::<u32>()?, since.1.parse::<u32>()?) > (13, 0) {
            names.insert(name.to_owned());
        }
    }
    let variants: Vec<_> =
        names.iter().flat_map(|name| [format!("{name}_ptsz"), format!("{name}_ptds")]).collect();
    let mut written = BTreeSet::new();
    collect(Path::new("src/api"), &variants.iter().map(String::as_str).collect(), &mut written)?;
    names.extend(written.into_iter().map(str::to_owned));
    Ok(names.into_iter().map(|name| name + "\n").collect())
}

/// Makes the program a library as well, as `libc.so.6` is both: the linker makes a shared library with the
/// loader's name and a program's entry point. The loader looks for the name, and programs ask for functions
/// of that version.
fn link(out: &Path, exports: &str) -> Result<()> {
    // The C library's versions are those of `src/system_calls.rs`, which says what they are for.
    let mut map = format!("libcudart.so.13 {{ global: {}; local: *; }};\n", exports.replace(' ', "; "));
    for version in ["GLIBC_2.2.5", "GLIBC_2.10", "GLIBC_2.17", "GLIBC_2.25", "GLIBC_2.32"] {
        writeln!(map, "{version} {{}};")?;
    }
    fs::write(out.join("exports.map"), map)?;
    // Without a reference, the linker leaves the functions in their archive.
    fs::write(out.join("exports.ld"), format!("EXTERN({exports} cuda_emulate_read)\n"))?;
    // The linker that is configured for the target has its start file. Cargo does not run a build script
    // again if only the linker is another.
    let target = std::env::var("TARGET")?.to_uppercase().replace('-', "_");
    println!("cargo:rerun-if-env-changed=CARGO_TARGET_{target}_LINKER");
    let linker = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let start = Command::new(linker).arg("-print-file-name=Scrt1.o").output()?;
    let out = out.display();
    for argument in [
        "-shared",
        String::from_utf8(start.stdout)?.trim(),
        "-Wl,-e,_start",
        "-Wl,-soname,libcudart.so.13",
        &format!("-Wl,--version-script={out}/exports.map"),
        &format!("{out}/exports.ld"),
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    Ok(())
}

/// The bindings without functions, which this library defines.
fn types(bindings: &str) -> String {
    let mut parts = bindings.split("unsafe extern \"C\" {\n");
    let before = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once("\n}\n")).fold(before, |types, (_, after)| types + after)
}

/// A table of the names and numbers of the errors that CUDA 13.0 has, from the bindings. A later one has its
/// version in the line above.
fn errors(bindings: &str) -> Result<String> {
    let mut table = String::from("&[\n");
    let mut count = 0;
    let items: Vec<&str> = bindings.split("pub const ").collect();
    for (before, item) in items.iter().zip(items.iter().skip(1)) {
        if before.lines().last().is_some_and(|line| line.starts_with("/// Since CUDA ")) {
            continue;
        }
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

/// The exported functions that no file of `src/api` defines, for the macro `stubs!`.
fn stubs(exports: &BTreeSet<&str>) -> Result<String> {
    let mut written = BTreeSet::new();
    collect(Path::new("src/api"), exports, &mut written)?;
    let rest: Vec<&str> = exports.difference(&written).copied().collect();
    Ok(format!("stubs! {{ {} }}\n", rest.join("\n")))
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
