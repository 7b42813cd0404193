//! The programs of the toolkit.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the path of a program of the toolkit, or says on the error output what is not checked without it.
pub(crate) fn tool(name: &str, what: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let toolkits = std::fs::read_dir(root.join("target/cuda-toolkit/nvidia"));
    let installed = toolkits.into_iter().flatten().flatten().map(|it| it.path());
    let given = std::env::var_os("CUDA_PATH").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = given.into_iter().chain(installed).map(|it| it.join("bin"));
    let found = all.chain(std::env::split_paths(&path)).map(|it| it.join(name)).find(|it| it.is_file());
    if found.is_none() {
        // Not through `eprintln!`, which the test harness keeps to itself.
        let _ =
            writeln!(std::io::stderr(), "NOT CHECKED: {what}: there is no {name}; `ci/setup` installs one");
    }
    found
}
