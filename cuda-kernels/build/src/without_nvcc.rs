//! In place of `compile.rs` without the feature `nvcc`: the files of [`Build::prebuilt`] are all there is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cuda_sys_build::Env;

use crate::Error;
use crate::build::Build;
use crate::prebuilt::{COMMAND, Package};

impl Build {
    pub(crate) fn generate_only(
        &self,
        _: &Env,
        _: &Path,
        name: &str,
        _: &mut BTreeSet<PathBuf>,
    ) -> Result<(), Error> {
        Err(refused(name))
    }

    pub(crate) fn compile_sources(
        &self,
        _: &Env,
        _: &Path,
        name: &str,
        _: Option<&Package>,
        _: &mut BTreeSet<PathBuf>,
    ) -> Result<(), Error> {
        Err(refused(name))
    }
}

/// Returns why no source can be compiled here.
#[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
pub(crate) fn why_no_nvcc(_: &Env) -> Option<String> {
    Some(format!("\n{WITHOUT}"))
}

fn refused(name: &str) -> Error {
    Error::Prebuilt(format!(
        "the sources of `{name}` cannot be compiled: {WITHOUT}. Or compile once: {COMMAND}"
    ))
}

const WITHOUT: &str =
    "this package uses cuda-kernels-build without its feature `nvcc`, which compiles sources";
