//! NVIDIA's Python wheels as pip installs them.

use std::path::{Path, PathBuf};

/// The folders of the wheels of CUDA 12 that became part of `cu13`.
const COMPONENTS_OF_12: [&str; 10] =
    ["cublas", "cufft", "cufile", "curand", "cusolver", "cusparse", "npp", "nvjitlink", "nvjpeg", "nvtx"];

/// Returns the folders of installed wheels in a Python environment, either virtual or conda's.
pub(crate) fn sites(prefix: &Path) -> Vec<PathBuf> {
    let libs = ["lib", "lib64"].into_iter().flat_map(|lib| children(&prefix.join(lib), "python"));
    libs.map(|python| python.join("site-packages")).collect()
}

/// Returns the folders that may be a toolkit in a Python environment.
pub(crate) fn toolkits_in_environment(prefix: &Path) -> Vec<PathBuf> {
    sites(prefix).iter().flat_map(|site| toolkits_in_site(site)).collect()
}

/// Returns the folders of libraries under `nvidia` that do not belong to another major version of CUDA.
pub(crate) fn library_folders(nvidia: &Path, major: Option<u32>) -> Vec<PathBuf> {
    let of_other = |name: &str| match (name.strip_prefix("cu").and_then(|number| number.parse().ok()), major)
    {
        (Some(number), Some(major)) => u32::ne(&number, &major),
        (None, Some(13..)) => name.starts_with("cuda_") || COMPONENTS_OF_12.contains(&name),
        _ => false,
    };
    let of_other = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()).is_some_and(of_other);
    let folders = children(nvidia, "").into_iter().filter(|folder| !of_other(folder));
    folders.map(|folder| folder.join("lib")).collect()
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
