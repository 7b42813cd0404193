//! The toolkit whose nvcc compiles the kernels.

use std::env;
use std::path::{Path, PathBuf};

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
        return with_compiler(root, includes, nvcc.as_deref(), version.map(Version::from_number));
    }
    let found = Search::new(env).find().map_err(|error| Error::Toolkit(error.to_string()))?;
    with_compiler(found.root().to_owned(), found.includes().to_vec(), found.nvcc(), Some(found.version()))
}

fn with_compiler(
    root: PathBuf,
    includes: Vec<PathBuf>,
    nvcc: Option<&Path>,
    version: Option<Version>,
) -> Result<Toolkit, Error> {
    match nvcc {
        Some(nvcc) if nvcc.is_file() => Ok(Toolkit { root, includes, nvcc: nvcc.to_owned(), version }),
        _ => Err(Error::Toolkit(format!(
            "the CUDA toolkit at {} has no nvcc, and kernels cannot be compiled without.\n\
             Install the whole toolkit (headers and libraries alone are not enough), or point CUDA_PATH at \
             one that has bin/nvcc, or run ci/setup in the workspace of cuda-safe.",
            root.display()
        ))),
    }
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
