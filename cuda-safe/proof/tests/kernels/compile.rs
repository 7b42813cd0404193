//! The kernels of this project as PTX.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A launch of each kernel.
pub(crate) const PROJECT: &str = include_str!("project.tsv");

/// Compiles a file to PTX with the lines of its source.
pub(crate) fn compile(nvcc: &Path, file: &Path, arch: &str) -> String {
    let name = file.to_string_lossy().replace(['/', '.'], "_");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{arch}.ptx"));
    let mut command = Command::new(nvcc);
    command.args(["-ptx", "-lineinfo", &format!("-arch={arch}")]).arg("-o").arg(&to).arg(file);
    let output = command.output().expect("nvcc starts");
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(to).expect("the PTX")
}

/// Returns the path of a file of the list.
pub(crate) fn path_of(file: &str) -> PathBuf {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folders = ["cuda-kernels/kernels", "cuda-kernels/fixtures/kernels", "examples/kernels", ""];
    let paths = folders.map(|folder| root.join(folder).join(file));
    paths.into_iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("{file}: no such file"))
}

/// Compiles each file of the list.
pub(crate) fn compile_all(nvcc: &Path) -> BTreeMap<&'static str, String> {
    let files = PROJECT.lines().filter_map(|line| Some(line.split_once('|')?.0.trim()));
    let compile = |file| {
        // Clusters need a newer architecture. Older ones have a trap in place of them.
        let arch = if ["cluster.cu", "places.cu"].contains(&file) { "compute_90" } else { "compute_75" };
        (file, compile(nvcc, &path_of(file), arch))
    };
    let files: std::collections::BTreeSet<&str> = files.collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = files.into_iter().map(|file| scope.spawn(move || compile(file))).collect();
        threads.into_iter().map(|it| it.join().expect("nvcc")).collect()
    })
}
