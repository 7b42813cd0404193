//! The builder that build scripts use.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process;

use cuda_sys_build::{Env, Version, check_target, is_windows, prepare_libclang};

use crate::header::Bindings;
use crate::nvcc::{Compiler, Settings, Source};
use crate::packed::unpackable;
use crate::placement::{Contents, Placement};
use crate::prebuilt::{Mode, Package};
use crate::symbol::Symbol;
use crate::unit::Units;
use crate::{Arch, Error, arch, depfile, generate, header, host_compiler, nvcc, toolkit, unit};

/// The variable that overrides the architectures of one build.
const ARCHS: &str = "CUDA_KERNELS_ARCHS";

/// The variables from which nvcc itself takes flags.
const NVCC_FLAGS: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// The first version whose nvcc can hide the stubs of templates from other files. From 13.0 on it does.
const TEMPLATE_STUBS: Version = Version::new(12, 8);

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
    kernels: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    headers: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    defines: Vec<(String, Option<String>)>,
    flags: Vec<String>,
    archs: Vec<String>,
    relocatable: bool,
    exports: Vec<String>,
    prebuilt: Option<PathBuf>,
}

impl Build {
    /// Returns a builder with no sources and no headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a `.cu` file whose kernels, types, constants and variables are generated for Rust. No header is
    /// needed.
    ///
    /// The files that it includes are read too. A file among them that defines kernels or variables, such as
    /// a `kernels.h`, is generated like the `.cu` file itself. From the others come only the types that the
    /// kernels need, and the constants if the `.cu` file includes them as `"file"`: name such a header with
    /// [`header`](Self::header) for all of its declarations. It is read where the `.cu` file includes it.
    ///
    /// The files of one build are read together, so a name that two of them declare differently is an error,
    /// and so is a kernel that two of them define. Use a `Build` for each of these files: names of two builds
    /// [never meet](crate#names).
    pub fn kernels(mut self, path: impl AsRef<Path>) -> Self {
        self.kernels.push(path.as_ref().to_owned());
        self
    }

    /// Adds all `.cu` files of a folder, as [`kernels`](Self::kernels) adds one, and lets `#include` search
    /// the folder. Folders inside it are left out.
    pub fn folder(mut self, path: impl AsRef<Path>) -> Self {
        self.folders.push(path.as_ref().to_owned());
        self.include(path)
    }

    /// Adds a `.cu` file without reading its declarations: a header has them, or Rust needs none.
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
    ///
    /// The C++ standard is C++17 unless a flag (`-std=c++14`) or nvcc's variables (`NVCC_APPEND_FLAGS`) name
    /// another. The prototypes are read with the same one.
    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// Adds architectures to compile for: `sm_NN` is machine code, `compute_NN` is PTX, and `native` is the
    /// machine code of the GPUs of the machine that builds.
    ///
    /// If the list has no PTX, PTX of its oldest generation is added. The default list is `sm_90`,
    /// `compute_75`, and the machine code of the GPUs that answer, if any.
    pub fn archs<S: AsRef<str>>(mut self, archs: impl IntoIterator<Item = S>) -> Self {
        self.archs.extend(archs.into_iter().map(|arch| arch.as_ref().to_owned()));
        self
    }

    /// Links the device code of all sources of this build (`nvcc -rdc=true`). See [Device code that is
    /// linked](crate#device-code-that-is-linked).
    pub fn relocatable(mut self) -> Self {
        self.relocatable = true;
        self
    }

    /// Keeps the name of a function or kernel, so that C, C++ and Rust can declare it. See
    /// [Names](crate#names).
    ///
    /// `name` is that of an `extern "C"` function, or the mangled one of another function. A `*` at its end
    /// stands for all names with this start. Two builds that export one name do not link into one program.
    /// It is an error if no source defines the name.
    pub fn export(mut self, name: &str) -> Self {
        self.exports.push(name.to_owned());
        self
    }

    /// Names a file with the kernels' code that the author of the package writes, so that builds without nvcc
    /// have the same handles: `prebuilt("kernels/kernels.fatbin")`. See
    /// [Without nvcc](crate#without-nvcc).
    pub fn prebuilt(mut self, file: impl AsRef<Path>) -> Self {
        self.prebuilt = Some(file.as_ref().to_owned());
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
    /// - The target is neither Linux on x86-64 or aarch64 nor Windows on x86-64. Or it is Windows, and the
    ///   kernels were not compiled before.
    /// - There is no toolkit, or a file is missing.
    /// - nvcc or the C++ compiler fails.
    /// - A header is not plain C++.
    /// - Two sources define a kernel of one name, or no source defines an exported name.
    /// - The files of [`prebuilt`](Self::prebuilt) are damaged, or out of date where there is no nvcc.
    pub fn try_compile(&self, name: &str) -> Result<(), Error> {
        let env = Env::from_process();
        let done = self.compile_in(&env, name).map_err(host_compiler::explained);
        for variable in env.asked() {
            println!("cargo:rerun-if-env-changed={variable}");
        }
        done
    }

    fn compile_in(&self, env: &Env, name: &str) -> Result<(), Error> {
        check_target(env).map_err(|error| Error::Toolkit(error.to_string()))?;
        let out = env.path("OUT_DIR").ok_or(Error::NotABuildScript("OUT_DIR"))?;
        let objects = out.join(format!("{name}.objects"));
        let headers = self.headers.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>()?;
        let kernels = self.all_kernels()?;
        let files = [self.files.as_slice(), &kernels].concat();
        let kernels = kernels.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>()?;
        let mut read: BTreeSet<PathBuf> =
            files.iter().chain(&headers).chain(&self.folders).cloned().collect();
        let environment = NVCC_FLAGS.map(|name| env.get(name).map(ToOwned::to_owned));
        let bindings = |includes: &[PathBuf]| {
            if headers.is_empty() && kernels.is_empty() {
                return Ok(None);
            }
            let mut arguments = self.clang_arguments(includes);
            arguments.extend(nvcc::standard(&self.flags, &environment).map(|name| format!("-std={name}")));
            arguments.extend(prepare_libclang(env).map_err(|error| Error::Toolkit(error.to_string()))?);
            header::bind(&headers, &kernels, &arguments).map(Some)
        };
        let unique = unique(env, &out, name);
        let mut generated = None;
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
            if let Some(bindings) = bindings(&[header::stand_in(&out)?])? {
                read.extend(bindings.files.iter().cloned());
                let contents = Contents::of(&bindings)?;
                generated = Some(generate::generate(&contents, &Placement::unknown(&contents))?);
            }
        } else {
            let toolkit = toolkit::find(env)?;
            let asked = env.get(ARCHS).map(|text| text.to_string_lossy().into_owned());
            let writes = package.as_ref().filter(|_| mode == Mode::Write);
            let gpus = writes.is_none().then_some(&*toolkit.nvcc);
            let archs = self.wanted_archs(asked, gpus)?;
            let bindings = bindings(&toolkit.includes)?;
            let mut flags = self.flags.clone();
            if bindings.as_ref().is_some_and(|bindings| bindings.has_instances)
                && toolkit.version.is_some_and(|version| version >= TEMPLATE_STUBS)
            {
                flags.push("-static-global-template-stub=false".to_owned());
            }
            let settings = Settings {
                toolkit: &toolkit,
                archs: &archs,
                includes: &self.includes,
                defines: &self.defines,
                flags: &flags,
                relocatable: self.relocatable,
                environment: &environment,
                unique: &unique,
                out: &out,
                objects: &objects,
            };
            if writes.is_some() {
                self.ensure_packable(!headers.is_empty() || !kernels.is_empty())?;
            }
            let compiler = Compiler::new(&settings)?;
            let contents = bindings.as_ref().map(Contents::of).transpose()?;
            let reads = bindings
                .as_ref()
                .zip(contents.as_ref())
                .map(|(bindings, contents)| reads(bindings, contents, &files, &compiler))
                .transpose()?
                .unwrap_or_default();
            let units = contents
                .as_ref()
                .map(|contents| unit::units(&contents.symbols, &reads, self.relocatable))
                .transpose()?;
            let sources = match (&bindings, &contents, &units) {
                (Some(bindings), Some(contents), Some(units)) => {
                    let types = types(bindings, &reads, &files);
                    sources(contents, units, &types, &files, &objects)?
                }
                _ => files.iter().map(|file| Source::plain(file)).collect(),
            };
            let objects = compiler.compile(&sources)?;
            // Without handles, nothing in Rust refers to what is exported.
            let is_whole = contents.is_none() && !self.exports.is_empty();
            if contents.is_none() && self.exports.is_empty() {
                println!("cargo::warning=nothing can call `{name}`: name its functions by `Build::export`");
            }
            let names = compiler.archive(&objects, name, &self.exports, is_whole)?;
            read.extend(objects.iter().flat_map(|object| object.sources.iter().cloned()));
            if let (Some(bindings), Some(contents), Some(units)) = (bindings, contents, units) {
                for warning in &bindings.warnings {
                    println!("cargo::warning={warning}");
                }
                read.extend(depfile::outside_of(bindings.files, &toolkit.root));
                let cpp = env.get("CXXSTDLIB").map(|name| name.to_string_lossy().into_owned());
                let links = (name, cpp.as_deref().unwrap_or("stdc++"));
                let unprovable = compiler.unprovable(&objects);
                let mut placement =
                    Placement::new(units, &objects, self.relocatable, unprovable, names, links)?;
                if let Some(package) = writes {
                    let code = placement.pack(&contents, &objects, name)?;
                    let text = generate::generate(&contents, &placement)?;
                    let archs: Vec<String> = archs.iter().map(ToString::to_string).collect();
                    let version = toolkit.version.map_or("nvcc".to_owned(), |it| format!("nvcc {it}"));
                    let about = format!("{version} for {}", archs.join(", "));
                    let written = package.write(code, &text, &self.settings(name)?, &about, &read)?;
                    written.place(&out, name)?;
                } else {
                    generated = Some(generate::generate(&contents, &placement)?);
                }
            }
        }
        if let Some(text) = generated {
            let file = out.join(format!("{name}.rs"));
            fs::write(&file, text).map_err(Error::of_file(&file))?;
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
            return Err(
                found.refused("has kernels, types or variables with `long`, which has 32 bits on Windows")
            );
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

    /// Refuses what no file of [`prebuilt`](Self::prebuilt) can hold.
    fn ensure_packable(&self, has_handles: bool) -> Result<(), Error> {
        let why = if self.relocatable {
            "device code that is linked (Build::relocatable) is made from the sources only"
        } else if !self.exports.is_empty() {
            "functions of the host (Build::export) are made from the sources only"
        } else if !has_handles {
            "the build has no kernels with handles"
        } else {
            return Ok(());
        };
        Err(unpackable(why))
    }

    /// Returns what the build script has set, as text. Folders of headers are not in it: the headers are
    /// compared.
    fn settings(&self, name: &str) -> Result<String, Error> {
        let files = [self.files.as_slice(), &self.all_kernels()?, &self.headers].concat();
        let files: Vec<_> = files.iter().map(|file| with_slashes(file)).collect();
        Ok(format!("{name:?} {:?} {:?} {:?} {files:?}", self.defines, self.flags, self.archs))
    }

    /// Returns the sources whose kernels get handles: those that were named, and those of the folders in
    /// the order of their names.
    fn all_kernels(&self) -> Result<Vec<PathBuf>, Error> {
        let mut all = self.kernels.clone();
        for folder in &self.folders {
            let failed = Error::of_file(folder);
            let entries = fs::read_dir(folder).map_err(&failed)?;
            let paths =
                entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
            let mut found: Vec<PathBuf> =
                paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "cu")).collect();
            found.sort();
            all.append(&mut found);
        }
        Ok(all)
    }

    /// Returns the architectures: those of the environment, else of the build script, else the default and
    /// those of this machine's GPUs, if `gpus` is an nvcc. PTX is always among them.
    fn wanted_archs(
        &self,
        from_environment: Option<String>,
        gpus: Option<&Path>,
    ) -> Result<Vec<Arch>, Error> {
        let asked = from_environment.filter(|text| !text.trim().is_empty());
        let asked = arch::parse_list(&asked.unwrap_or_else(|| self.archs.join(",")), arch::of_gpus)?;
        let any = !asked.is_empty();
        let mut archs = arch::with_ptx(asked);
        if let Some(nvcc) = gpus.filter(|_| !any) {
            arch::add_gpus(&mut archs, nvcc);
        }
        Ok(archs)
    }

    fn clang_arguments(&self, toolkit: &[PathBuf]) -> Vec<String> {
        let mut arguments: Vec<String> =
            self.includes.iter().map(|folder| format!("-I{}", folder.display())).collect();
        // nvcc searches the C++ library for devices without being told.
        let libraries = toolkit.iter().map(|folder| folder.join("cccl")).filter(|folder| folder.is_dir());
        for folder in toolkit.iter().cloned().chain(libraries) {
            arguments.extend(["-isystem".to_owned(), folder.display().to_string()]);
        }
        arguments.extend(self.defines.iter().map(|(name, value)| match value {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        }));
        arguments
    }
}

/// Returns the files that each source includes. Reads no source if nothing needs them: there are no
/// variables, and libclang shows which source includes each file with types.
fn reads(
    bindings: &Bindings,
    contents: &Contents,
    files: &[PathBuf],
    compiler: &Compiler<'_>,
) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, Error> {
    let is_file = |own: &Path| files.iter().any(|file| is_same(file, own));
    let is_known = |file: &Path| bindings.included.contains_key(file) || is_file(file);
    if contents.symbols.is_empty() && bindings.facts.files().all(is_known) {
        return Ok(Vec::new());
    }
    compiler.includes(files)
}

/// Returns the lines about types for each source. One source has those of a file that several include.
fn types(bindings: &Bindings, reads: &[(PathBuf, Vec<PathBuf>)], files: &[PathBuf]) -> Vec<String> {
    let owner = |file: &Path| {
        let source = bindings.included.get(file).map_or(file, PathBuf::as_path);
        let own = files.iter().position(|own| is_same(own, source));
        own.or_else(|| reads.iter().position(|(_, included)| included.iter().any(|it| is_same(it, file))))
    };
    (0..files.len()).map(|at| bindings.facts.lines(|file| owner(file) == Some(at))).collect()
}

/// Returns whether a path leads to a file, whose own path is canonical.
fn is_same(path: &Path, file: &Path) -> bool {
    path.file_name() == file.file_name() && path.canonicalize().is_ok_and(|path| path == file)
}

/// Returns the files to compile. A source file with variables is compiled with functions that return the
/// addresses of the variables, and one with types with the lines about them.
fn sources(
    contents: &Contents,
    units: &Units,
    types: &[String],
    files: &[PathBuf],
    folder: &Path,
) -> Result<Vec<Source>, Error> {
    let source = |(file, types): (&PathBuf, &String)| {
        let symbols = units.get(file).map_or(&[][..], Vec::as_slice);
        let symbols: Vec<&Symbol> = symbols.iter().filter_map(|at| contents.symbols.get(*at)).collect();
        if symbols.is_empty() && types.is_empty() {
            return Ok(Source::plain(file));
        }
        let wrapped = folder.join(format!("{}.cu", nvcc::file_tag(file)));
        unit::wrapper(file, &symbols, types, &wrapped)?;
        Ok(Source { wrapped: Some(wrapped), ..Source::plain(file) })
    };
    files.iter().zip(types).map(source).collect()
}

/// Returns a part of names that is unique to this build in the program.
fn unique(env: &Env, out: &Path, name: &str) -> String {
    let part =
        |variable| env.get(variable).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    // The folder's name tells two packages of one name and version apart: `cargo/build/PACKAGE-HASH/out`. The
    // folders above it would make the program depend on the place where it is built.
    let mut hasher = DefaultHasher::new();
    out.components().rev().take(3).for_each(|folder| folder.hash(&mut hasher));
    let hash = hasher.finish();
    let whole = format!("{}_{}_{name}_{hash:016x}", part("CARGO_PKG_NAME"), part("CARGO_PKG_VERSION"));
    whole.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '_' }).collect()
}

/// Why nvcc compiles nothing for Windows.
const ON_WINDOWS: &str = "on Windows only kernels that were compiled before are supported (Build::prebuilt), \
                          and the files are written on Linux";

/// Returns why no source can be compiled here.
fn without_nvcc(env: &Env) -> Option<String> {
    if is_windows(env) {
        return Some(format!("\n{ON_WINDOWS}"));
    }
    toolkit::find(env).err().map(|error| format!("\nNo nvcc can compile the sources here: {error}"))
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

/// Returns a path as it is on Linux, where the files of [`Build::prebuilt`] are written.
fn with_slashes(path: &Path) -> String {
    path.display().to_string().replace(MAIN_SEPARATOR, "/")
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(Error::of_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_the_build_script_and_an_empty_one_does_not() {
        let build = Build::new().archs(["sm_80"]);
        let spelled = |text: Option<&str>| {
            let archs = build.wanted_archs(text.map(str::to_owned), Some(Path::new("nvcc"))).unwrap();
            archs.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(spelled(None), ["sm_80", "compute_80"]);
        assert_eq!(spelled(Some("compute_90")), ["compute_90"]);
        assert_eq!(spelled(Some(" ")), ["sm_80", "compute_80"]);
    }

    #[test]
    fn a_wrong_architecture_in_the_environment_is_an_error() {
        let error = Build::new().wanted_archs(Some("newest".to_owned()), None).unwrap_err();
        assert!(error.to_string().contains("`newest`"), "{error}");
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
