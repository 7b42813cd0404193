//! Compiles the sources with nvcc, and generates their handles: all of a build that needs libclang or nvcc.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use cuda_sys_build::{Env, Version, prepare_libclang};

use crate::build::Build;
use crate::compiler::header::Bindings;
use crate::compiler::nvcc::{Compiler, Settings, Source};
use crate::compiler::packed::unpackable;
use crate::compiler::placement::{Contents, Placement};
use crate::compiler::symbol::Symbol;
use crate::compiler::unit::Units;
use crate::compiler::{arch, depfile, generate, header, host_compiler, nvcc, toolkit, unit};
use crate::prebuilt::Package;
use crate::{Arch, Error};

/// The variable that overrides the architectures of one build.
const ARCHS: &str = "CUDA_KERNELS_ARCHS";

/// The variables from which nvcc itself takes flags.
const NVCC_FLAGS: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// The variable from which nvcc itself takes the C++ compiler.
const HOST_COMPILER: &str = "NVCC_CCBIN";

/// The first version whose nvcc can hide the stubs of templates from other files. From 13.0 on it does.
const TEMPLATE_STUBS: Version = Version::new(12, 8);

impl Build {
    /// Generates handles for documentation and type checks, of which no kernel can be launched.
    pub(crate) fn generate_only(
        &self,
        env: &Env,
        out: &Path,
        name: &str,
        read: &mut BTreeSet<PathBuf>,
    ) -> Result<(), Error> {
        let Some(bindings) = self.bindings(env, &[header::stand_in(out)?])? else { return Ok(()) };
        bindings.warnings.iter().for_each(|warning| println!("cargo::warning={warning}"));
        read.extend(bindings.files.iter().cloned());
        let contents = Contents::of(&bindings)?;
        place(out, name, generate::generate(&contents, &Placement::unknown(&contents))?)
    }

    /// Compiles the sources and generates their handles. If `writes` is a package, it is written and used.
    pub(crate) fn compile_sources(
        &self,
        env: &Env,
        out: &Path,
        name: &str,
        writes: Option<&Package>,
        read: &mut BTreeSet<PathBuf>,
    ) -> Result<(), Error> {
        let named = env.get(HOST_COMPILER).map(ToOwned::to_owned);
        let done = self.compile_with_nvcc(env, out, name, writes, read);
        done.map_err(|error| host_compiler::explained(error, named.as_deref()))
    }

    fn compile_with_nvcc(
        &self,
        env: &Env,
        out: &Path,
        name: &str,
        writes: Option<&Package>,
        read: &mut BTreeSet<PathBuf>,
    ) -> Result<(), Error> {
        let objects = out.join(format!("{name}.objects"));
        let files = [self.files.as_slice(), &self.all_kernels()?].concat();
        let toolkit = toolkit::find(env)?;
        let asked = env.get(ARCHS).map(|text| text.to_string_lossy().into_owned());
        let gpus = writes.is_none().then_some(&*toolkit.nvcc);
        let archs = self.wanted_archs(asked, gpus)?;
        let bindings = self.bindings(env, &toolkit.includes)?;
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
            environment: &nvcc_flags(env),
            host_compiler: env.get(HOST_COMPILER).map(ToOwned::to_owned),
            unique: &unique(env, out, name),
            out,
            objects: &objects,
        };
        if writes.is_some() {
            self.ensure_packable(bindings.is_some())?;
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
            let mut placement = Placement::new(units, &objects, self.relocatable, unprovable, names, links)?;
            if let Some(package) = writes {
                let code = placement.pack(&contents, &objects, name)?;
                let text = generate::generate(&contents, &placement)?;
                let archs: Vec<String> = archs.iter().map(ToString::to_string).collect();
                let version = toolkit.version.map_or("nvcc".to_owned(), |it| format!("nvcc {it}"));
                let about = format!("{version} for {}", archs.join(", "));
                let written = package.write(code, &text, &self.settings(name)?, &about, read)?;
                written.place(out, name)?;
            } else {
                place(out, name, generate::generate(&contents, &placement)?)?;
            }
        }
        Ok(())
    }

    /// Reads the declarations of headers and kernels. Returns `None` if there are none to read.
    fn bindings(&self, env: &Env, includes: &[PathBuf]) -> Result<Option<Bindings>, Error> {
        let headers = self.headers.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>()?;
        let kernels = self.all_kernels()?;
        let kernels = kernels.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>()?;
        if headers.is_empty() && kernels.is_empty() {
            return Ok(None);
        }
        let mut arguments = self.clang_arguments(includes);
        arguments.extend(nvcc::standard(&self.flags, &nvcc_flags(env)).map(|name| format!("-std={name}")));
        arguments.extend(prepare_libclang(env).map_err(|error| Error::Toolkit(error.to_string()))?);
        header::bind(&headers, &kernels, &arguments).map(Some)
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

/// Returns the flags that nvcc takes from the environment.
fn nvcc_flags(env: &Env) -> [Option<OsString>; 2] {
    NVCC_FLAGS.map(|name| env.get(name).map(ToOwned::to_owned))
}

/// Writes the handles where `include_kernels!` finds them.
fn place(out: &Path, name: &str, text: String) -> Result<(), Error> {
    let file = out.join(format!("{name}.rs"));
    fs::write(&file, text).map_err(Error::of_file(&file))
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

/// Returns why no source can be compiled here.
pub(crate) fn why_no_nvcc(env: &Env) -> Option<String> {
    toolkit::find(env).err().map(|error| format!("\nNo nvcc can compile the sources here: {error}"))
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
