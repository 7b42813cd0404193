//! The search for a toolkit: an ordered list of locations. The first with a toolkit is used.
//!
//! 1. `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR`: one that is set but wrong is an
//!    error, and is never skipped
//! 2. `nvcc` on `PATH`, links resolved
//! 3. `/usr/local/cuda`, `/opt/cuda`, `/usr`
//! 4. `CONDA_PREFIX`
//! 5. NVIDIA's Python wheels in the active virtual environment (`VIRTUAL_ENV`)
//! 6. `cuda-toolkit` in the target folder of the workspace that is built, and of the workspace of this
//!    library: `ci/setup` installs it there. The second serves other crates that depend on these crates
//!    by path.

use std::path::{Path, PathBuf};

use crate::layout::Target;
use crate::{Env, Error, Result, Toolkit, python};

/// The variables that name a toolkit, in the order of precedence.
const VARIABLES: [&str; 4] = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

/// The locations to search for a toolkit.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    env: &'a Env,
    target: Target,
    system: Vec<PathBuf>,
    workspace: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    /// Returns the locations of a Linux system and those that `env` names.
    ///
    /// Also reads cargo's `TARGET` for the machine, and `OUT_DIR` and `CARGO_MANIFEST_DIR` for the
    /// workspace.
    #[must_use]
    pub fn new(env: &'a Env) -> Self {
        let triple = env.cargo("TARGET").map(|triple| triple.to_string_lossy().into_owned());
        let triple = triple.unwrap_or_else(|_| format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
        let system = ["/usr/local/cuda", "/opt/cuda", "/usr"].map(PathBuf::from).to_vec();
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { env, target: Target::of(&triple), system, workspace: workspace(env, Some(own)) }
    }

    /// Searches these folders instead of those of the running system, and skips the workspace of this
    /// library.
    #[must_use]
    pub fn system(mut self, folders: Vec<PathBuf>) -> Self {
        self.system = folders;
        self.workspace = workspace(self.env, None);
        self
    }

    /// Finds the toolkit.
    ///
    /// # Errors
    /// A variable names a location without a toolkit, or no location has one. The error lists all
    /// locations.
    pub fn find(&self) -> Result<Toolkit> {
        if let Some(toolkit) = self.named()? {
            return Ok(toolkit);
        }
        let mut looked: Vec<_> = VARIABLES.map(|variable| format!("{variable}: not set")).into();
        for Place { name, root } in self.places() {
            match root.and_then(|root| Toolkit::at(&root, &self.target, &name)) {
                Ok(toolkit) => return Ok(toolkit),
                Err(wrong) => looked.push(format!("{name}: {wrong}")),
            }
        }
        Err(not_found(&looked))
    }

    /// Returns the toolkit that a variable names. An installed toolkit does not override a variable that
    /// a person has set.
    fn named(&self) -> Result<Option<Toolkit>> {
        let set = VARIABLES.into_iter().find_map(|variable| Some((variable, self.env.path(variable)?)));
        let Some((variable, root)) = set else { return Ok(None) };
        if root.is_relative() {
            let why = "each package's build script runs in the package's folder, so a relative path leads to \
                       several places";
            return Err(Error::new(format!("{variable}={}: {why}", root.display()))
                .detail(format!("Set {variable} to the absolute path of the toolkit's root.")));
        }
        Toolkit::at(&root, &self.target, variable).map(Some).map_err(|wrong| {
            Error::new(format!("{variable}={}: {wrong}", root.display()))
                .detail(format!("Set {variable} to the root of a CUDA 12 or 13 toolkit, or unset it."))
        })
    }

    /// Returns the locations to search if no variable names one, in order.
    fn places(&self) -> Vec<Place> {
        let mut places = Place::all("nvcc on PATH", self.nvcc_roots(), "none");
        places.extend(self.system.iter().map(|root| Place::folder(root.clone())));
        places.extend(match self.env.path("CONDA_PREFIX") {
            Some(prefix) => {
                let wheels = python::toolkits_in_environment(&prefix);
                Place::all("CONDA_PREFIX", [prefix].into_iter().chain(wheels).collect(), "")
            }
            None => vec![Place::none("CONDA_PREFIX", "not set")],
        });
        places.extend(match self.env.path("VIRTUAL_ENV") {
            Some(prefix) => {
                let wheels = python::toolkits_in_environment(&prefix);
                Place::all("VIRTUAL_ENV", wheels, &format!("no CUDA wheels in {}", prefix.display()))
            }
            None => vec![Place::none("VIRTUAL_ENV", "not set")],
        });
        for site in &self.workspace {
            let wheels = python::toolkits_in_site(site);
            let missing = if site.is_dir() { "no CUDA wheels" } else { "no such directory" };
            places.extend(Place::all(&site.display().to_string(), wheels, missing));
        }
        places
    }

    /// Returns the roots of the toolkits whose nvcc is on `PATH`: two levels above the resolved file.
    fn nvcc_roots(&self) -> Vec<PathBuf> {
        let path = self.env.get("PATH").unwrap_or_default();
        let files =
            std::env::split_paths(path).map(|folder| folder.join("nvcc")).filter(|file| file.is_file());
        let mut roots = Vec::new();
        for file in files.filter_map(|file| file.canonicalize().ok()) {
            let root = file.parent().and_then(Path::parent).map(Path::to_owned);
            roots.extend(root.filter(|root| !roots.contains(root)));
        }
        roots
    }

    /// Returns the environment.
    pub(crate) fn env(&self) -> &Env {
        self.env
    }

    /// Returns the target machine.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the folders of the system.
    pub(crate) fn system_folders(&self) -> &[PathBuf] {
        &self.system
    }

    /// Returns the `nvidia` folders of the environments and of the workspace.
    pub(crate) fn wheel_folders(&self) -> Vec<PathBuf> {
        let environments = ["CONDA_PREFIX", "VIRTUAL_ENV"].into_iter().filter_map(|name| self.env.path(name));
        let sites = environments.flat_map(|prefix| python::sites(&prefix)).chain(self.workspace.clone());
        sites.map(|site| site.join("nvidia")).filter(|nvidia| nvidia.is_dir()).collect()
    }

    /// Returns the folders that `ci/setup` fills, if they exist. They may contain a libclang too.
    #[cfg(feature = "bindgen")]
    pub(crate) fn workspace_folders(&self) -> &[PathBuf] {
        &self.workspace
    }
}

/// One location of the search: its name in an error, and its folder or the reason why there is none.
#[derive(Debug)]
struct Place {
    name: String,
    root: std::result::Result<PathBuf, String>,
}

impl Place {
    fn folder(root: PathBuf) -> Self {
        Self { name: root.display().to_string(), root: Ok(root) }
    }

    fn none(name: &str, why: &str) -> Self {
        Self { name: name.to_owned(), root: Err(why.to_owned()) }
    }

    fn all(name: &str, roots: Vec<PathBuf>, none: &str) -> Vec<Self> {
        if roots.is_empty() {
            return vec![Self::none(name, none)];
        }
        let named = |root: PathBuf| Self { name: format!("{name} ({})", root.display()), root: Ok(root) };
        roots.into_iter().map(named).collect()
    }
}

/// Returns the `cuda-toolkit` folders of the workspace that is being built: above `OUT_DIR`, which is in
/// the real target folder, and beside the packages, in case the target folder was moved after `ci/setup`.
/// Also returns that of this library's workspace, whose folder is `own`, for crates elsewhere. If a
/// variable names the toolkit, the folder around it has the libclang.
fn workspace(env: &Env, own: Option<&Path>) -> Vec<PathBuf> {
    let out = env.cargo("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let package = env.cargo("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let above_out = out.ancestors().skip(1).map(|folder| folder.join("cuda-toolkit"));
    let packages =
        Some(package.as_path()).into_iter().chain(own).flat_map(|folder| folder.ancestors().skip(1).take(2));
    let beside = packages.map(|folder| folder.join("target/cuda-toolkit"));
    let named = VARIABLES.into_iter().find_map(|variable| env.path(variable));
    let around = named.iter().filter_map(|root| root.ancestors().nth(2)).map(Path::to_owned);
    let around = around.filter(|site| site.join("clang/native").is_dir());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in above_out.chain(beside).chain(around).filter(|folder| folder.is_dir()) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    if folders.is_empty() {
        // The levels above `out` are package, build, profile and target.
        folders.extend(out.ancestors().nth(4).map(|target| target.join("cuda-toolkit")));
    }
    folders
}

fn not_found(looked: &[String]) -> Error {
    let mut error =
        Error::new("no CUDA toolkit found (headers and libcudart of CUDA 12 or 13 are needed). Looked at:");
    for place in looked {
        error = error.detail(format!("  {place}"));
    }
    const WAYS_OUT: [&str; 7] = [
        "Ways out:",
        "- A program that loads libcudart at run time needs no toolkit where it is built: cuda-safe with \
         default-features = false and features = [\"load\", \"staged\"].",
        "- For documentation and `cargo check`, set CUDA_SYS_SNAPSHOT=1. Nothing can be linked then.",
        "- Install the toolkit: cuda-toolkit-13-0 from NVIDIA's repository for Debian, Ubuntu, Fedora, RHEL \
         and SUSE; nvidia-cuda-toolkit of Debian 13 and Ubuntu 24.04; cuda of Arch Linux; cuda-toolkit of \
         conda.",
        "- Without root: pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-nvcc in an active \
         virtual environment.",
        "- In the workspace of cuda-safe, ci/setup puts one under target/. A crate elsewhere then sets \
         CUDA_PATH to what ci/setup --toolkit prints.",
        "If the toolkit is elsewhere, set CUDA_PATH to its root.",
    ];
    WAYS_OUT.into_iter().fold(error, Error::detail)
}

#[cfg(test)]
mod tests;
