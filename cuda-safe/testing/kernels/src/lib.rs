//! What tests of packages without CUDA share: the programs of the toolkit, and the PTX of two files of
//! kernels, made by nvcc when this package is built.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Says on the error output what is not checked.
pub fn not_checked(what: &str) {
    // Not through `eprintln!`, which the test harness keeps to itself.
    let _ = writeln!(std::io::stderr(), "NOT CHECKED: {what}");
}

/// Returns the path of a program of the toolkit, or says on the error output what is not checked without it.
#[must_use]
pub fn tool(name: &str, what: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let toolkits = std::fs::read_dir(root.join("target/cuda-toolkit/nvidia"));
    let installed = toolkits.into_iter().flatten().flatten().map(|it| it.path());
    let given = std::env::var_os("CUDA_PATH").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = given.into_iter().chain(installed).map(|it| it.join("bin"));
    let found = all.chain(std::env::split_paths(&path)).map(|it| it.join(name)).find(|it| it.is_file());
    if found.is_none() {
        not_checked(&format!("{what}: there is no {name}; `ci/setup` installs one"));
    }
    found
}

/// Returns the PTX of `patterns.cu`: usual kernels, which are proven.
///
/// # Panics
/// If this package was built without nvcc.
#[must_use]
pub fn patterns() -> &'static str {
    made(include_str!(concat!(env!("OUT_DIR"), "/patterns.ptx")))
}

/// Returns the PTX of `planted.cu`: kernels with planted errors, and right ones beside them.
///
/// # Panics
/// If this package was built without nvcc.
#[must_use]
pub fn planted() -> &'static str {
    made(include_str!(concat!(env!("OUT_DIR"), "/planted.ptx")))
}

fn made(text: &'static str) -> &'static str {
    assert!(
        !text.is_empty(),
        "the kernels of cuda-safe/testing/kernels were built without nvcc: `ci/setup` installs one"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a, which is the same on each machine.
    fn hash(text: &str) -> u64 {
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// The tests were written for these texts: a change of the kernels or of the flags is seen.
    #[test]
    fn the_ptx_is_that_of_the_pins() {
        let row = |(name, text): (&str, &str)| {
            let version = text.lines().find_map(|it| it.strip_prefix("// Cuda compilation tools, "));
            format!("{name}\t{}\t{:016x}\n", version.unwrap_or("no version"), hash(text))
        };
        let now: String = [("patterns", patterns()), ("planted", planted())].map(row).concat();
        if std::env::var_os("PROOF_PTX").is_some_and(|it| it == "write") {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("pins.tsv");
            std::fs::write(file, &now).unwrap_or_else(|error| panic!("pins.tsv: {error}"));
            return;
        }
        let pins = include_str!("../pins.tsv");
        let version = |table: &str| table.split('\t').nth(1).map(str::to_owned);
        if version(pins) != version(&now) {
            return not_checked(&format!(
                "whether the PTX of cuda-safe/testing/kernels is as it was: its pins are those of {}, and \
                 nvcc is {}",
                version(pins).unwrap_or_default(),
                version(&now).unwrap_or_default()
            ));
        }
        assert_eq!(
            now, pins,
            "the kernels have other PTX than pinned: read what differs, then \
             PROOF_PTX=write cargo test -p cuda-testing-kernels"
        );
    }
}
