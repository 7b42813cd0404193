//! The entry points for build scripts: the whole one of `cuda-sys`, and the part for its dependents.

use std::path::{Path, PathBuf};

use crate::{Bindings, Env, Error, Result, Search, Toolkit, Version, cargo, check_target, link};

/// A variable that a person sets for documentation or a type check without a toolkit.
const SNAPSHOT: &str = "CUDA_SYS_SNAPSHOT";

/// Finds the toolkit, writes `bindings.rs` into `OUT_DIR`, links libcudart, and exports `DEP_CUDART_*`
/// and the cfgs.
///
/// On docs.rs, or if `CUDA_SYS_SNAPSHOT` is set, no toolkit is needed: the bindings are the signatures in
/// `snapshot/bindings.rs`, and nothing is linked.
///
/// # Errors
/// - The target is not one of CUDA's: see [`check_target`].
/// - There is no usable toolkit or libclang: see [`Search::find`] and [`Bindings::generate`].
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
    if env.get("DOCS_RS").is_some() || env.get(SNAPSHOT).is_some() {
        return snapshot(&package.join("snapshot"), &file);
    }
    let toolkit = Search::new(env).find()?;
    let version = toolkit.version();
    if version > Version::NEWEST_KNOWN {
        let newest = Version::NEWEST_KNOWN;
        cargo::warn(format!(
            "CUDA {version} is newer than {newest}, the newest that cuda-sys was tested with"
        ));
    }
    Bindings::new().generate(env, &toolkit, &file)?;
    if env.cargo("CARGO_FEATURE_STATIC").is_ok() {
        link::static_library(&toolkit)?;
    } else {
        link::dylib(&toolkit, &out)?;
    }
    cargo::watch_file(toolkit.cudart());
    cargo::cfgs(version);
    export(&toolkit)?;
    Ok(())
}

/// Exports `DEP_CUDART_ROOT`, `_INCLUDE` (folders separated by colons), `_LIB`, `_NVCC` (if there is one)
/// and `_VERSION` (as `CUDART_VERSION`) to dependents, and the headers to this crate's own tests.
fn export(toolkit: &Toolkit) -> Result<()> {
    let includes = std::env::join_paths(toolkit.includes());
    let includes = includes
        .map_err(|error| Error::new(format!("a folder of the toolkit cannot be in a list: {error}")))?;
    cargo::export("ROOT", toolkit.root().display());
    cargo::export("INCLUDE", includes.display());
    cargo::export("LIB", toolkit.lib().display());
    if let Some(nvcc) = toolkit.nvcc() {
        cargo::export("NVCC", nvcc.display());
    }
    cargo::export("VERSION", toolkit.version().number());
    println!("cargo::rustc-env=CUDART_INCLUDE={}", includes.display());
    Ok(())
}

/// Uses the stored signatures instead of a toolkit.
fn snapshot(folder: &Path, file: &Path) -> Result<()> {
    let kept = folder.join("bindings.rs");
    cargo::watch_file(&kept);
    let text = std::fs::read_to_string(&kept).map_err(|error| Error::io("read", &kept, &error))?;
    let number =
        text.split("CUDART_VERSION: u32 = ").nth(1).and_then(|rest| rest.split(';').next()?.parse().ok());
    let version = number.map(Version::from_number);
    let version = version.ok_or_else(|| Error::new(format!("{} has no CUDART_VERSION", kept.display())))?;
    std::fs::write(file, text).map_err(|error| Error::io("write", file, &error))?;
    cargo::cfgs(version);
    cargo::export("VERSION", version.number());
    println!("cargo::rustc-env=CUDART_INCLUDE=");
    Ok(())
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
