//! NVIDIA's Python wheels as pip installs them.

use std::path::{Path, PathBuf};

/// Returns the folders that may be a toolkit in a Python environment, either virtual or conda's.
pub(crate) fn toolkits_in_environment(prefix: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for lib in ["lib", "lib64"] {
        for python in children(&prefix.join(lib), "python") {
            found.extend(toolkits_in_site(&python.join("site-packages")));
        }
    }
    found
}

/// Returns the folders that may be a toolkit in one folder of installed wheels: `nvidia/cu13` and newer,
/// newest first, then `nvidia` itself, which the wheels of CUDA 12 share.
pub(crate) fn toolkits_in_site(site: &Path) -> Vec<PathBuf> {
    let nvidia = site.join("nvidia");
    let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("cu")?.parse::<u32>().ok();
    let mut found: Vec<_> =
        children(&nvidia, "cu").into_iter().filter(|path| number(path).is_some()).collect();
    found.sort_by_key(|path| std::cmp::Reverse(number(path)));
    if nvidia.join("cuda_runtime").is_dir() {
        found.push(nvidia);
    }
    found
}

/// Returns the folders in `folder` whose names begin with `start`, in order.
fn children(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut found: Vec<_> = named.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
