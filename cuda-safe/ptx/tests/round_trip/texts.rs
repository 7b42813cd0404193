//! The PTX texts that are tried.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the files below a folder with the extension `ptx`.
fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            // Its files are parts of kernels.
            if !path.ends_with("filetests") {
                find(&path, found);
            }
        } else if path.extension().is_some_and(|it| it == "ptx") {
            found.push(path);
        }
    }
}

fn read(folders: &[PathBuf]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| find(folder, &mut files));
    files.sort();
    let read = |file: PathBuf| (file.display().to_string(), std::fs::read_to_string(&file).unwrap());
    files.into_iter().map(read).collect()
}

/// Returns the texts that the repository has, and those of the kernels of tests, with their files.
pub(crate) fn tracked() -> Vec<(String, String)> {
    let mut all = read(&["cuda-safe", "cuda-kernels", "examples", "ci"].map(|it| Path::new(ROOT).join(it)));
    let made = [("patterns", cuda_testing_kernels::patterns()), ("planted", cuda_testing_kernels::planted())];
    all.extend(made.map(|(name, text)| (name.to_owned(), text.to_owned())));
    all
}

/// Returns these and those of the project's own kernels, which builds leave.
pub(crate) fn all() -> Vec<(String, String)> {
    let mut all = tracked();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    let built = read(&[target.join("debug/build"), target.join("release/build")]);
    if built.is_empty() {
        cuda_testing_kernels::not_checked(
            "the PTX of the project's kernels: `cargo build -p cuda-kernels` leaves it",
        );
    }
    // Several builds leave one text.
    for (name, text) in built {
        if all.iter().all(|(_, own)| *own != text) {
            all.push((name, text));
        }
    }
    all
}
