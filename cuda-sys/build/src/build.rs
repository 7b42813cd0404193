//! The entry points for build scripts: the whole one of `cuda-sys`, and the part for its dependents.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Env, Error, Result, Search, Toolkit, Version, cargo, check_target, is_windows, link, snapshot};

/// A variable that a person sets for documentation or a type check without a toolkit.
const SNAPSHOT: &str = "CUDA_SYS_SNAPSHOT";

/// Finds the toolkit, writes `bindings.rs` into `OUT_DIR`, links libcudart, and exports `DEP_CUDART_*`
/// and the cfgs.
///
/// With the feature `load`, on docs.rs, or if `CUDA_SYS_SNAPSHOT` is set, no toolkit is needed: the bindings
/// are those in `snapshot/bindings.rs`, and nothing is linked.
///
/// # Errors
/// - The target is not one of CUDA's: see [`check_target`]. Or it is Windows, and the feature `load` is off.
/// - The features `load` and `static` are both on.
/// - There is no usable toolkit or libclang: see [`Search::find`] and `Bindings::generate`. Or the feature
///   `headers`, which needs them, is off as well.
pub fn build() -> Result<()> {
    let env = Env::from_process();
    let done = build_in(&env);
    cargo::watch(&env);
    done
}

fn build_in(env: &Env) -> Result<()> {
    check_target(env)?;
    let out = PathBuf::from(env.cargo("OUT_DIR")?);
    let package = PathBuf::from(env.cargo("CARGO_MANIFEST_DIR")?);
    let file = out.join("bindings.rs");
    let feature = |name| env.cargo(name).is_ok();
    let (load, linked) = (feature("CARGO_FEATURE_LOAD"), feature("CARGO_FEATURE_STATIC"));
    if load && linked {
        return Err(Error::new(
            "the features `load` and `static` exclude each other: with one libcudart is loaded at run time, \
             with the other it is part of the program. Some crate of the program enables each.",
        ));
    }
    let docs = env.get("DOCS_RS").is_some() || env.get(SNAPSHOT).is_some();
    if load || docs {
        let version = snapshot::write(&package.join("snapshot/bindings.rs"), &out, load)?;
        // Dependents with kernels of their own need nvcc, and find it as without `load`. Its objects are not
        // those of Windows.
        return match Search::new(env).find() {
            Ok(toolkit) if load && !is_windows(env) && toolkit.version().major == version.major => {
                export(&toolkit)
            }
            _ => Ok(()),
        };
    }
    if is_windows(env) {
        return Err(Error::new(
            "on Windows libcudart is loaded at run time: choose the feature `load`, and leave the default \
             features out. Nothing links it there.",
        ));
    }
    let toolkit = Search::new(env).find()?;
    let version = toolkit.version();
    if version > Version::NEWEST_KNOWN {
        let newest = Version::NEWEST_KNOWN;
        cargo::warn(format!(
            "CUDA {version} is newer than {newest}, the newest that cuda-sys was tested with"
        ));
    }
    generate(env, &toolkit, &file)?;
    if linked {
        link::static_library(&toolkit)?;
    } else {
        link::dylib(&toolkit, &out)?;
    }
    cargo::watch_file(toolkit.cudart());
    cargo::cfgs(version);
    cargo::export("VERSION", version.number());
    // This crate's own tests compare the bindings with the headers.
    println!("cargo::rustc-env=CUDART_INCLUDE={}", includes(&toolkit)?.display());
    export(&toolkit)
}

#[cfg(feature = "bindgen")]
fn generate(env: &Env, toolkit: &Toolkit, file: &Path) -> Result<()> {
    crate::Bindings::new().generate(env, toolkit, file)
}

#[cfg(not(feature = "bindgen"))]
fn generate(_: &Env, toolkit: &Toolkit, _: &Path) -> Result<()> {
    Err(Error::new(format!(
        "the features `headers` and `load` of cudart-sys are off, and one is needed: `headers`, on by \
         default, binds the headers of the toolkit ({}); `load` needs no toolkit.",
        toolkit.root().display()
    )))
}

/// Exports `DEP_CUDART_ROOT`, `_INCLUDE` (folders separated by colons), `_LIB` and `_NVCC` (if there is one)
/// to dependents.
fn export(toolkit: &Toolkit) -> Result<()> {
    cargo::export("ROOT", toolkit.root().display());
    cargo::export("INCLUDE", includes(toolkit)?.display());
    cargo::export("LIB", toolkit.lib().display());
    if let Some(nvcc) = toolkit.nvcc() {
        cargo::export("NVCC", nvcc.display());
    }
    Ok(())
}

fn includes(toolkit: &Toolkit) -> Result<OsString> {
    std::env::join_paths(toolkit.includes())
        .map_err(|error| Error::new(format!("a folder of the toolkit cannot be in a list: {error}")))
}

/// Sets the `cudart_*` cfgs of the toolkit that `cuda-sys` was built with for the calling crate.
///
/// It is for the build script of a crate with `cuda-sys` as a direct dependency: cargo passes the version
/// only to direct dependents.
///
/// # Errors
/// The crate does not depend on `cuda-sys`.
pub fn emit_version_cfgs() -> Result<()> {
    let env = Env::from_process();
    let number = env.get("DEP_CUDART_VERSION").and_then(|number| number.to_str()?.parse().ok());
    let version = number.map(Version::from_number);
    cargo::cfgs(version.ok_or_else(|| {
        Error::new(
            "DEP_CUDART_VERSION is not set: emit_version_cfgs needs cuda-sys in the crate's [dependencies]",
        )
    })?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEP_CUDART_VERSION");
    Ok(())
}
