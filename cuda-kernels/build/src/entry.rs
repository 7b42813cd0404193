//! What a build script calls in the end: uses the files that were written before, or the sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process;

use cuda_sys_build::{Env, check_target, is_windows};

use crate::Error;
use crate::build::Build;
#[cfg(feature = "nvcc")]
use crate::compiler::why_no_nvcc;
use crate::prebuilt::{Mode, Package};
#[cfg(not(feature = "nvcc"))]
use crate::without_nvcc::why_no_nvcc;

/// The variables under which crates are documented and type-checked without a toolkit, as `cuda-sys` is.
/// Nothing is compiled then.
const DOCUMENTATION_ONLY: [&str; 2] = ["DOCS_RS", "CUDA_SYS_SNAPSHOT"];

impl Build {
    /// Compiles the sources into the static library `name`, links it into the crate, and generates
    /// `name.rs` with the handles, which [`include_kernels!`] includes.
    ///
    /// Call it from the build script's only thread, because it sets `NVCC` in the environment. On failure
    /// it reports the error to cargo and ends the build script.
    ///
    /// [`include_kernels!`]: https://docs.rs/cuda-safe
    pub fn compile(self, name: &str) {
        if let Err(error) = self.try_compile(name) {
            let error = error.to_string();
            for line in error.lines() {
                println!("cargo::error={line}");
            }
            // Cargo shows all that a build script has printed, and its standard error last.
            eprintln!("\nerror: {error}");
            process::exit(1);
        }
    }

    /// Does the same as [`compile`](Self::compile), but returns the error instead of ending the build
    /// script.
    ///
    /// # Errors
    /// - The target is neither Linux on x86-64 or aarch64 nor Windows on x86-64. Or it is Windows, and the
    ///   kernels were not compiled before.
    /// - There is no toolkit, or a file is missing.
    /// - nvcc or the C++ compiler fails.
    /// - A header is not plain C++.
    /// - Two sources define a kernel of one name, or no source defines an exported name.
    /// - The files of [`prebuilt`](Self::prebuilt) are damaged, or out of date where there is no nvcc.
    pub fn try_compile(&self, name: &str) -> Result<(), Error> {
        let env = Env::from_process();
        let done = self.compile_in(&env, name);
        for variable in env.asked() {
            println!("cargo:rerun-if-env-changed={variable}");
        }
        done
    }

    fn compile_in(&self, env: &Env, name: &str) -> Result<(), Error> {
        check_target(env).map_err(|error| Error::Toolkit(error.to_string()))?;
        let out = env.path("OUT_DIR").ok_or(Error::NotABuildScript("OUT_DIR"))?;
        let mut read: BTreeSet<PathBuf> = self.sources()?.into_iter().chain(self.folders.clone()).collect();
        let nothing_runs = DOCUMENTATION_ONLY.iter().any(|name| env.get(name).is_some());
        let mode = Mode::of(env)?;
        let package = self.prebuilt.as_deref().map(Package::at);
        if let Some(package) = package.as_ref().filter(|_| mode != Mode::Write || nothing_runs) {
            let is_used = mode == Mode::Use || nothing_runs;
            let without = if is_used { Some(String::new()) } else { without_nvcc(env) };
            match self.place_prebuilt(env, package, without, (&out, name), &mut read) {
                Ok(true) => {
                    watch(&read);
                    return Ok(());
                }
                Ok(false) => {}
                // Documentation can be made of the sources, with a libclang.
                Err(error) if nothing_runs && mode != Mode::Use => println!("cargo::warning={error}"),
                Err(error) => return Err(error),
            }
        }
        if !nothing_runs && is_windows(env) {
            return Err(Error::Prebuilt(format!("the kernels of `{name}`: {ON_WINDOWS}")));
        }
        if nothing_runs {
            self.generate_only(env, &out, name, &mut read)?;
        } else {
            let writes = package.as_ref().filter(|_| mode == Mode::Write);
            self.compile_sources(env, &out, name, writes, &mut read)?;
        }
        watch(&read);
        Ok(())
    }

    /// Uses the files that were written before, if the sources are not to be compiled: `without` is the
    /// reason why not. Returns whether it does.
    fn place_prebuilt(
        &self,
        env: &Env,
        package: &Package,
        without: Option<String>,
        (out, name): (&Path, &str),
        read: &mut BTreeSet<PathBuf>,
    ) -> Result<bool, Error> {
        let Some(found) = package.read()? else {
            return without.map_or(Ok(false), |why| Err(Error::Prebuilt(package.missing() + &why)));
        };
        if is_windows(env) && found.has_long() {
            return Err(found.refused("has types with `long`, which has 32 bits on Windows"));
        }
        // Cargo would run the script again and again if a file were not there.
        read.extend(package.files().into_iter().chain(found.sources()).filter(|file| file.exists()));
        match (found.stale(&self.settings(name)?), without) {
            (None, None) => Ok(false),
            (None, Some(_)) => found.place(out, name).map(|()| true),
            (Some(stale), Some(why)) => Err(Error::Prebuilt(stale + &why)),
            (Some(stale), None) => {
                println!("cargo::warning={stale}");
                Ok(false)
            }
        }
    }
}

/// Why nvcc compiles nothing for Windows.
const ON_WINDOWS: &str = "on Windows only kernels that were compiled before are supported (Build::prebuilt), \
                          and the files are written on Linux";

/// Returns why no source can be compiled here.
fn without_nvcc(env: &Env) -> Option<String> {
    if is_windows(env) { Some(format!("\n{ON_WINDOWS}")) } else { why_no_nvcc(env) }
}

/// Has cargo run the build script again when one of these changes.
fn watch(read: &BTreeSet<PathBuf>) {
    for file in read.iter().filter(|file| !is_system(file)) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}

/// Returns whether the file is a header of the system. These change only with the system, and cargo would
/// query the times of hundreds of them.
fn is_system(file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    file.starts_with("/usr/include") || file.starts_with("/usr/lib")
}
