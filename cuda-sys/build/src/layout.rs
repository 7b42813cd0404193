//! The folders of a toolkit: its headers, its libraries and nvcc.

use std::path::{Path, PathBuf};

/// The target machine, as the folders of a toolkit and of Debian name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Rust's name of the processor: `x86_64`.
    arch: String,
    /// The names under `targets/`: `x86_64-linux`; on ARM servers also `sbsa-linux`.
    folders: Vec<String>,
    /// Debian's name: `x86_64-linux-gnu`.
    multiarch: String,
}

impl Target {
    /// Returns the target for a Rust target triple.
    pub(crate) fn of(triple: &str) -> Self {
        let arch = triple.split('-').next().unwrap_or(triple);
        let mut folders = vec![format!("{arch}-linux")];
        if arch == "aarch64" {
            folders.insert(0, "sbsa-linux".to_owned());
        }
        Self { arch: arch.to_owned(), folders, multiarch: format!("{arch}-linux-gnu") }
    }

    /// Returns Rust's name of the processor.
    pub(crate) fn arch(&self) -> &str {
        &self.arch
    }

    /// Returns Debian's name.
    pub(crate) fn multiarch(&self) -> &str {
        &self.multiarch
    }
}

/// The folders and files of one toolkit, before its version is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The folders to include from. The first has `cuda_runtime_api.h`.
    pub(crate) includes: Vec<PathBuf>,
    /// The folders that may have libcudart, best first.
    pub(crate) libs: Vec<PathBuf>,
    /// The compiler, if there is one.
    pub(crate) nvcc: Option<PathBuf>,
}

const HEADER: &str = "cuda_runtime_api.h";
/// A header that every runtime header includes. NVIDIA packages it separately.
const COMPANION: &str = "crt/host_defines.h";

impl Layout {
    /// Looks for a toolkit under `root`. The error names the missing part.
    pub(crate) fn of(root: &Path, target: &Target) -> Result<Self, String> {
        if !root.is_dir() {
            return Err("no such directory".to_owned());
        }
        if root.join("cuda_runtime/include").join(HEADER).is_file() {
            return Self::wheels_of_12(root);
        }
        // The target's own folders come first: in a toolkit that compiles for several machines, `include`
        // and `lib64` are links to the folders of the machine that compiles.
        let per_target = target.folders.iter().map(|folder| root.join("targets").join(folder));
        let (mut includes, mut libs): (Vec<_>, Vec<_>) =
            per_target.map(|folder| (folder.join("include"), folder.join("lib"))).unzip();
        includes.push(root.join("include"));
        libs.extend([root.join("lib64"), root.join("lib"), root.join("lib").join(&target.multiarch)]);
        let nvcc = Some(root.join("bin/nvcc"));
        Self { includes, libs, nvcc }.checked()
    }

    /// Looks for the Python wheels of CUDA 12, which have one folder for each component.
    fn wheels_of_12(root: &Path) -> Result<Self, String> {
        let part = |component: &str, folder: &str| root.join(component).join(folder);
        let includes = ["cuda_runtime", "cuda_nvcc", "cuda_cccl"].map(|component| part(component, "include"));
        let nvcc = Some(part("cuda_nvcc", "bin/nvcc"));
        Self { includes: includes.to_vec(), libs: vec![part("cuda_runtime", "lib")], nvcc }.checked()
    }

    /// Removes folders that do not exist, and checks that there are headers.
    fn checked(self) -> Result<Self, String> {
        let mut includes: Vec<_> = self.includes.into_iter().filter(|folder| folder.is_dir()).collect();
        for wanted in [HEADER, COMPANION] {
            if !includes.iter().any(|folder| folder.join(wanted).is_file()) {
                return Err(format!("no {wanted}"));
            }
        }
        includes.sort_by_key(|folder| !folder.join(HEADER).is_file());
        let libs = self.libs.into_iter().filter(|folder| folder.is_dir()).collect();
        let nvcc = self.nvcc.filter(|file| file.is_file());
        Ok(Self { includes, libs, nvcc })
    }

    /// Returns the header that contains the version.
    pub(crate) fn header(&self) -> Option<PathBuf> {
        self.includes.first().map(|folder| folder.join(HEADER))
    }
}
