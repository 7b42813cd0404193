//! Compiles the kernels to PTX with the lines of their source. Without nvcc the texts are empty.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_sys_build::{Env, Search};

fn main() {
    let env = Env::from_process();
    let nvcc = Search::new(&env).find().ok().and_then(|it| it.nvcc().map(Path::to_owned));
    for variable in env.asked() {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(env.get("OUT_DIR").unwrap_or_default());
    for name in ["patterns", "planted"] {
        println!("cargo::rerun-if-changed={name}.cu");
        let text = nvcc.as_ref().map(|nvcc| compile(nvcc, name, &out)).unwrap_or_default();
        if let Err(error) = std::fs::write(out.join(format!("{name}.ptx")), text) {
            println!("cargo::error={name}.ptx: {error}");
        }
    }
}

/// Compiles a file. The text is the same in each folder.
fn compile(nvcc: &Path, name: &str, out: &Path) -> String {
    let to = out.join(format!("{name}.of-nvcc"));
    let mut command = Command::new(nvcc);
    command.args(["-ptx", "-lineinfo", "-arch=compute_75", &format!("{name}.cu"), "-o"]).arg(&to);
    let text = match command.output() {
        Ok(output) if output.status.success() => std::fs::read_to_string(&to),
        Ok(output) => Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        Err(error) => Err(error),
    };
    match text {
        Ok(text) => text.lines().map(|line| without_hash(&without_folders(line)) + "\n").collect(),
        Err(error) => {
            println!("cargo::error={} {name}.cu: {error}", nvcc.display());
            String::new()
        }
    }
}

/// A line of PTX without the folders of this machine.
fn without_folders(line: &str) -> String {
    match (line.strip_prefix("\t.file\t").and_then(|it| it.split_once(' ')), line.rsplit_once('/')) {
        (Some((number, _)), Some((_, name))) => format!("\t.file\t{number} \"{name}"),
        _ => line.to_owned(),
    }
}

/// A line of PTX without the hash that nvcc puts into names of a file's own, `_INTERNAL_eb97be9e_`. It
/// depends on the file's path. The bytes of such names are numbers in the debug information.
fn without_hash(line: &str) -> String {
    const INTERNAL: &str = "95,73,78,84,69,82,78,65,76,95,";
    let Some((before, after)) = line.split_once(INTERNAL) else { return line.to_owned() };
    let rest = after.splitn(9, ',').nth(8).unwrap_or_default();
    format!("{before}{INTERNAL}{}{rest}", "48,".repeat(8))
}
