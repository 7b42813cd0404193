//! The toolkit whose nvcc compiles the kernels.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_sys_build::{Env, Search, Version};

use crate::Error;

/// The paths of nvcc and the runtime's headers.
#[derive(Clone, Debug)]
pub(crate) struct Toolkit {
    pub(crate) root: PathBuf,
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) nvcc: PathBuf,
    /// The version, if it is known.
    pub(crate) version: Option<Version>,
}

/// Returns the toolkit that `cuda-sys` reported to this build script, else the one found by the same
/// rules.
pub(crate) fn find(env: &Env) -> Result<Toolkit, Error> {
    // `cuda-sys` sets these only for crates that depend on it directly.
    if let (Some(root), Some(includes)) = (env.path("DEP_CUDART_ROOT"), env.get("DEP_CUDART_INCLUDE")) {
        let nvcc = env.path("DEP_CUDART_NVCC");
        let version = env.get("DEP_CUDART_VERSION").and_then(|number| number.to_str()?.parse().ok());
        let includes = env::split_paths(includes).collect();
        return with_compiler(env, root, includes, nvcc.as_deref(), version.map(Version::from_number));
    }
    let found = Search::new(env).find().map_err(|error| Error::Toolkit(error.to_string()))?;
    with_compiler(
        env,
        found.root().to_owned(),
        found.includes().to_vec(),
        found.nvcc(),
        Some(found.version()),
    )
}

fn with_compiler(
    env: &Env,
    root: PathBuf,
    includes: Vec<PathBuf>,
    nvcc: Option<&Path>,
    version: Option<Version>,
) -> Result<Toolkit, Error> {
    let mut others = String::new();
    let nvcc = nvcc.filter(|nvcc| nvcc.is_file()).map(Path::to_owned);
    let nvcc = nvcc.or_else(|| {
        // Some systems install nvcc in another folder than the headers.
        let path = env.get("PATH")?;
        env::split_paths(path).map(|folder| folder.join("nvcc")).filter(|file| file.is_file()).find(|file| {
            let own = version_of(file);
            if own.is_none() || own != version {
                let own = own.map_or("no version".to_owned(), |own| format!("CUDA {own}"));
                others
                    .push_str(&format!("\n{} on PATH is not of this toolkit: it is {own}.", file.display()));
            }
            own.is_some() && own == version
        })
    });
    match nvcc {
        Some(nvcc) => Ok(Toolkit { root, includes, nvcc, version }),
        None => Err(Error::Toolkit(format!(
            "the CUDA toolkit at {} has no nvcc, and kernels cannot be compiled without.{others}\n\
             Install the whole toolkit (headers and libraries alone are not enough), or point CUDA_PATH at \
             one that has bin/nvcc, or run ci/setup in the workspace of cuda-safe.",
            root.display()
        ))),
    }
}

/// Returns the version that an nvcc says.
fn version_of(nvcc: &Path) -> Option<Version> {
    let said = Command::new(nvcc).arg("--version").output().ok()?.stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let (major, minor) = said.split_once("release ")?.1.split_once(',')?.0.split_once('.')?;
    Some(Version::new(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolkit_without_nvcc_is_an_error_that_names_it() {
        let env =
            Env::from_vars([("DEP_CUDART_ROOT", "/opt/none"), ("DEP_CUDART_INCLUDE", "/opt/none/include")]);
        let error = find(&env).unwrap_err().to_string();
        assert!(error.contains("/opt/none has no nvcc"), "{error}");
    }

    #[test]
    fn an_nvcc_on_the_path_is_taken_if_it_has_the_version_of_the_headers() {
        let folder = tempfile::tempdir().unwrap();
        let nvcc = folder.path().join("nvcc");
        let find = |release: &str| {
            std::fs::write(&nvcc, format!("#!/bin/sh\necho Cuda, release {release}, V{release}.1\n"))
                .unwrap();
            assert!(Command::new("chmod").arg("+x").arg(&nvcc).status().unwrap().success());
            find(&Env::from_vars([
                ("DEP_CUDART_ROOT", "/opt/none"),
                ("DEP_CUDART_INCLUDE", "/opt/none/include"),
                ("DEP_CUDART_VERSION", "13000"),
                ("PATH", folder.path().to_str().unwrap()),
            ]))
        };
        assert_eq!(find("13.0").unwrap().nvcc, nvcc);
        let error = find("12.8").unwrap_err().to_string();
        assert!(error.contains("/opt/none has no nvcc") && error.contains("it is CUDA 12.8"), "{error}");
    }

    #[test]
    fn what_cuda_sys_reported_is_taken() {
        let nvcc = env::current_exe().unwrap();
        let env = Env::from_vars([
            ("DEP_CUDART_ROOT", "/opt/cuda"),
            ("DEP_CUDART_INCLUDE", "/opt/cuda/include:/opt/cuda/more"),
            ("DEP_CUDART_NVCC", nvcc.to_str().unwrap()),
            ("DEP_CUDART_VERSION", "13020"),
        ]);
        let found = find(&env).unwrap();
        assert_eq!(found.nvcc, nvcc);
        assert_eq!(found.includes, [Path::new("/opt/cuda/include"), Path::new("/opt/cuda/more")]);
        assert_eq!(found.version, Some(Version::new(13, 2)));
    }

    #[test]
    fn a_variable_that_is_set_but_wrong_is_an_error_that_names_it() {
        let error = find(&Env::from_vars([("CUDA_PATH", "/nonexistent/cuda")])).unwrap_err().to_string();
        assert!(error.contains("CUDA_PATH") && error.contains("/nonexistent/cuda"), "{error}");
    }
}
