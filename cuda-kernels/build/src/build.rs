//! The builder that build scripts use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use cuda_sys_build::{Env, prepare_libclang};

use crate::generate::{Contents, Placement};
use crate::header::Bindings;
use crate::nvcc::{Settings, Source};
use crate::symbol::Symbol;
use crate::unit::Units;
use crate::{Arch, Error, arch, depfile, generate, header, host_compiler, nvcc, toolkit, unit};

/// The variable that overrides the architectures of one build.
const ARCHS: &str = "CUDA_KERNELS_ARCHS";

/// The variables under which crates are documented and type-checked without a toolkit, as `cuda-sys` is.
/// Nothing is compiled then.
const DOCUMENTATION_ONLY: [&str; 2] = ["DOCS_RS", "CUDA_SYS_SNAPSHOT"];

/// Collects sources, headers and settings, then compiles. See the crate's page for a whole example.
///
/// Relative paths start at the package's folder, in which build scripts run.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile`"]
pub struct Build {
    files: Vec<PathBuf>,
    headers: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    defines: Vec<(String, Option<String>)>,
    flags: Vec<String>,
    archs: Vec<String>,
}

impl Build {
    /// Returns a builder with no sources and no headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a `.cu` file.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.files.push(path.as_ref().to_owned());
        self
    }

    /// Adds several `.cu` files.
    pub fn files<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.files.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// Adds a header whose kernels, types and constants are generated for Rust.
    ///
    /// The headers that it includes are read too, but only the types that its kernels need are generated
    /// from them.
    pub fn header(mut self, path: impl AsRef<Path>) -> Self {
        self.headers.push(path.as_ref().to_owned());
        self
    }

    /// Adds several headers.
    pub fn headers<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.headers.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// Adds a folder that `#include` searches.
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        self.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Defines a macro for the sources and the headers.
    pub fn define<'a>(mut self, name: &str, value: impl Into<Option<&'a str>>) -> Self {
        self.defines.push((name.to_owned(), value.into().map(str::to_owned)));
        self
    }

    /// Passes a flag to nvcc unchanged, such as `--use_fast_math` or `-lineinfo`.
    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// Adds architectures to compile for: `sm_NN` is machine code, `compute_NN` is PTX.
    ///
    /// If the list has no PTX, PTX of its oldest generation is added. The default list is `sm_90` and
    /// `compute_75`.
    pub fn archs<S: AsRef<str>>(mut self, archs: impl IntoIterator<Item = S>) -> Self {
        self.archs.extend(archs.into_iter().map(|arch| arch.as_ref().to_owned()));
        self
    }

    /// Compiles the sources into the static library `name`, links it into the crate, and generates
    /// `name.rs` with the handles, which [`include_kernels!`] includes.
    ///
    /// Call it from the build script's only thread, because it sets `NVCC` in the environment. On failure
    /// it reports the error to cargo and ends the build script.
    ///
    /// [`include_kernels!`]: https://docs.rs/cuda-safe
    pub fn compile(self, name: &str) {
        if let Err(error) = self.try_compile(name) {
            for line in error.to_string().lines() {
                println!("cargo::error={line}");
            }
            process::exit(1);
        }
    }

    /// Does the same as [`compile`](Self::compile), but returns the error instead of ending the build
    /// script.
    ///
    /// # Errors
    /// - There is no toolkit, or a file is missing.
    /// - nvcc or the C++ compiler fails.
    /// - A header is not plain C++.
    pub fn try_compile(&self, name: &str) -> Result<(), Error> {
        let env = Env::from_process();
        let done = self.compile_in(&env, name).map_err(host_compiler::explained);
        for variable in env.asked() {
            println!("cargo:rerun-if-env-changed={variable}");
        }
        done
    }

    fn compile_in(&self, env: &Env, name: &str) -> Result<(), Error> {
        let out = env.path("OUT_DIR").ok_or(Error::NotABuildScript("OUT_DIR"))?;
        let headers = self.headers.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>()?;
        let mut read: BTreeSet<PathBuf> = self.files.iter().chain(&headers).cloned().collect();
        let library = library(env, name);
        let text = if DOCUMENTATION_ONLY.iter().any(|name| env.get(name).is_some()) {
            let include = header::stand_in(&out)?;
            let bindings = self.bindings(env, &headers, &[include])?;
            read.extend(bindings.files.iter().cloned());
            let contents = Contents::of(&bindings)?;
            generate::generate(&contents, &Placement::unknown(&contents, library))
        } else {
            let toolkit = toolkit::find(env)?;
            let archs = self.wanted_archs(env.get(ARCHS).map(|text| text.to_string_lossy().into_owned()))?;
            let bindings = self.bindings(env, &headers, &toolkit.includes)?;
            read.extend(depfile::outside_of(bindings.files.clone(), &toolkit.root));
            let contents = Contents::of(&bindings)?;
            let settings = Settings {
                toolkit: &toolkit,
                archs: &archs,
                includes: &self.includes,
                defines: &self.defines,
                flags: &self.flags,
                out: &out,
            };
            let units = self.units(&contents, &settings)?;
            let sources = self.sources(&contents, &units, &library, &out)?;
            let objects = nvcc::compile(&sources, name, &settings)?;
            read.extend(objects.iter().flat_map(|object| object.sources.iter().cloned()));
            generate::generate(&contents, &Placement::new(units, &objects, library)?)
        }?;
        let file = out.join(format!("{name}.rs"));
        fs::write(&file, text).map_err(|error| Error::File(file, error))?;
        for file in read.iter().filter(|file| !is_system(file)) {
            println!("cargo:rerun-if-changed={}", file.display());
        }
        Ok(())
    }

    /// Returns the declarations of the headers.
    fn bindings(&self, env: &Env, headers: &[PathBuf], includes: &[PathBuf]) -> Result<Bindings, Error> {
        let mut arguments = self.clang_arguments(includes);
        arguments.extend(prepare_libclang(env).map_err(|error| Error::Toolkit(error.to_string()))?);
        header::bind(headers, &arguments)
    }

    /// Returns the source file of each variable of the headers. Reads no source if there are no
    /// variables.
    fn units(&self, contents: &Contents, settings: &Settings<'_>) -> Result<Units, Error> {
        if contents.symbols.is_empty() {
            return Ok(Units::new());
        }
        unit::units(&contents.symbols, &nvcc::includes(&self.files, settings)?)
    }

    /// Returns the files to compile. A source file with variables is compiled with functions that return
    /// the addresses of the variables.
    fn sources(
        &self,
        contents: &Contents,
        units: &Units,
        library: &str,
        out: &Path,
    ) -> Result<Vec<Source>, Error> {
        let source = |file: &PathBuf| {
            let Some(symbols) = units.get(file) else {
                return Ok(Source { file: file.clone(), wrapped: None });
            };
            let symbols: Vec<&Symbol> = symbols.iter().filter_map(|at| contents.symbols.get(*at)).collect();
            let wrapped = out.join(format!("{}.cu", nvcc::file_tag(file)));
            unit::wrapper(file, &symbols, library, &wrapped)?;
            Ok(Source { file: file.clone(), wrapped: Some(wrapped) })
        };
        self.files.iter().map(source).collect()
    }

    /// Returns the architectures: those of the environment, else of the build script, else the default.
    /// PTX is always among them.
    fn wanted_archs(&self, from_environment: Option<String>) -> Result<Vec<Arch>, Error> {
        let asked = match from_environment.filter(|text| !text.trim().is_empty()) {
            Some(text) => arch::parse_list(&text)?,
            None => arch::parse_list(&self.archs.join(","))?,
        };
        Ok(arch::with_ptx(asked))
    }

    fn clang_arguments(&self, toolkit: &[PathBuf]) -> Vec<String> {
        let mut arguments: Vec<String> =
            self.includes.iter().map(|folder| format!("-I{}", folder.display())).collect();
        for folder in toolkit {
            arguments.extend(["-isystem".to_owned(), folder.display().to_string()]);
        }
        arguments.extend(self.defines.iter().map(|(name, value)| match value {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        }));
        arguments
    }
}

/// Returns a part of C names that is unique to this library in the program.
fn library(env: &Env, name: &str) -> String {
    let part =
        |variable| env.get(variable).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let whole = format!("{}_{}_{name}", part("CARGO_PKG_NAME"), part("CARGO_PKG_VERSION"));
    whole.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '_' }).collect()
}

/// Returns whether the file is a header of the system. These change only with the system, and cargo would
/// query the times of hundreds of them.
fn is_system(file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    file.starts_with("/usr/include") || file.starts_with("/usr/lib")
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|error| Error::File(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_build_script_and_an_empty_one_does_not() {
        let build = Build::new().archs(["sm_80"]);
        let spelled = |text: Option<&str>| {
            let archs = build.wanted_archs(text.map(str::to_owned)).unwrap();
            archs.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(spelled(None), ["sm_80", "compute_80"]);
        assert_eq!(spelled(Some("compute_90")), ["compute_90"]);
        assert_eq!(spelled(Some(" ")), ["sm_80", "compute_80"]);
    }

    #[test]
    fn a_wrong_architecture_in_the_environment_is_an_error() {
        let error = Build::new().wanted_archs(Some("native".to_owned())).unwrap_err();
        assert!(error.to_string().contains("`native`"), "{error}");
    }

    #[test]
    fn a_missing_header_is_named() {
        let error = absolute(Path::new("kernels/none.cuh")).unwrap_err();
        assert!(error.to_string().contains("kernels/none.cuh"), "{error}");
    }

    #[test]
    fn definitions_reach_the_headers() {
        let arguments =
            Build::new().define("N", "4").define("FAST", None).clang_arguments(&["/cuda/include".into()]);
        assert_eq!(arguments, ["-isystem", "/cuda/include", "-DN=4", "-DFAST"]);
    }
}
