//! A CUDA toolkit that was found: its folders, its version, and the libcudart in it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::layout::{Layout, Target};
use crate::version::Version;

/// A toolkit with headers and a libcudart of the same major version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    root: PathBuf,
    layout: Layout,
    version: Version,
    cudart: PathBuf,
    found_by: String,
}

impl Toolkit {
    /// Looks for a toolkit under `root`. The error says what is wrong there, without the path.
    pub(crate) fn at(root: &Path, target: &Target, found_by: &str) -> Result<Self, String> {
        let layout = Layout::of(root, target)?;
        let header = layout.header().ok_or("no include folder")?;
        let version = Version::of_header(&header).map_err(|error| error.to_string())?;
        if version < Version::OLDEST {
            return Err(format!("CUDA {version} is older than {}", Version::OLDEST));
        }
        let cudart = cudart(&layout, version, target.arch())?;
        Ok(Self { root: root.to_owned(), layout, version, cudart, found_by: found_by.to_owned() })
    }

    /// Returns the folder that contains all others.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folders to include from, that of `cuda_runtime_api.h` first.
    #[must_use]
    pub fn includes(&self) -> &[PathBuf] {
        &self.layout.includes
    }

    /// Returns the header that declares the runtime API.
    #[must_use]
    pub fn header(&self) -> PathBuf {
        self.layout.header().unwrap_or_default()
    }

    /// Returns the version that the header states.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the shared library.
    #[must_use]
    pub fn cudart(&self) -> &Path {
        &self.cudart
    }

    /// Returns the folder of the shared library.
    #[must_use]
    pub fn lib(&self) -> &Path {
        self.cudart.parent().unwrap_or(&self.root)
    }

    /// Returns the folders of the shared libraries.
    pub(crate) fn libs(&self) -> &[PathBuf] {
        &self.layout.libs
    }

    /// Returns the static library if the toolkit has one.
    #[must_use]
    pub fn cudart_static(&self) -> Option<PathBuf> {
        self.layout.libs.iter().map(|folder| folder.join("libcudart_static.a")).find(|file| file.is_file())
    }

    /// Returns the compiler if the toolkit has one.
    #[must_use]
    pub fn nvcc(&self) -> Option<&Path> {
        self.layout.nvcc.as_deref()
    }

    /// Returns the location that led to the toolkit: a variable, `nvcc on PATH`, or a folder.
    #[must_use]
    pub fn found_by(&self) -> &str {
        &self.found_by
    }

    /// Returns the library name that programs linked with this toolkit request from the loader.
    #[must_use]
    pub fn soname(&self) -> String {
        format!("libcudart.so.{}", self.version.major)
    }
}

/// Returns the shared library of the header's major version. NVIDIA's wheels have no plain
/// `libcudart.so`, so the numbered name comes first. A plain one counts only if it is not a library of
/// another major version. A library for another processor does not count.
fn cudart(layout: &Layout, version: Version, arch: &str) -> Result<PathBuf, String> {
    let numbered = format!("libcudart.so.{}", version.major);
    let is_for = |file: &PathBuf| file.is_file() && processor(file).is_none_or(|found| found == arch);
    let find = |name: &str| layout.libs.iter().map(|folder| folder.join(name)).find(is_for);
    if let Some(found) = find(&numbered) {
        return Ok(found);
    }
    let Some(plain) = find("libcudart.so") else { return Err(why_none(layout, version, arch, &numbered)) };
    let real = plain.canonicalize().unwrap_or_else(|_| plain.clone());
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name.strip_prefix("libcudart.so.") {
        Some(number) if number.split('.').next() != Some(&version.major.to_string()) => {
            Err(format!("the headers are CUDA {version}, but the library there is {name}"))
        }
        _ => Ok(plain),
    }
}

/// Returns why no folder has the library.
fn why_none(layout: &Layout, version: Version, arch: &str, numbered: &str) -> String {
    for file in layout.libs.iter().flat_map(|folder| [folder.join(numbered), folder.join("libcudart.so")]) {
        if let Some(other) = processor(&file) {
            return format!("no libcudart for {arch}: {} is for {other}", file.display());
        }
        if let (Ok(to), false) = (fs::read_link(&file), file.exists()) {
            return format!("{} is a link to {}, which does not exist", file.display(), to.display());
        }
    }
    match other_major(layout) {
        Some(other) => format!("the headers are CUDA {version}, but the library there is {other}"),
        None => format!("headers of CUDA {version}, but no {numbered}"),
    }
}

/// Returns Rust's name of the processor that a library is for, if it is one of CUDA's.
fn processor(file: &Path) -> Option<&'static str> {
    let mut head = [0_u8; 20];
    File::open(file).ok()?.read_exact(&mut head).ok()?;
    match head {
        [0x7F, b'E', b'L', b'F', .., 62, 0] => Some("x86_64"),
        [0x7F, b'E', b'L', b'F', .., 183, 0] => Some("aarch64"),
        _ => None,
    }
}

/// Returns the name of a numbered libcudart of any version, for an error.
fn other_major(layout: &Layout) -> Option<String> {
    let entries = layout.libs.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with("libcudart.so."))
}
