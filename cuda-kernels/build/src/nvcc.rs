//! Runs nvcc through `cc`: one object for each source file, and one archive of all objects.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use crate::depfile;
use crate::toolkit::Toolkit;
use crate::{Arch, Error, arch};

/// The settings that all files of a library share.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) toolkit: &'a Toolkit,
    pub(crate) archs: &'a [Arch],
    pub(crate) includes: &'a [PathBuf],
    pub(crate) defines: &'a [(String, Option<String>)],
    pub(crate) flags: &'a [String],
    pub(crate) out: &'a Path,
}

/// A source file, and the file that is compiled for it: itself, or a file that includes it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) wrapped: Option<PathBuf>,
}

/// An object, and the files that it depends on.
#[derive(Debug)]
pub(crate) struct Object {
    /// The source file.
    pub(crate) file: PathBuf,
    pub(crate) path: PathBuf,
    /// The files that were read for it, without those of the toolkit.
    pub(crate) sources: Vec<PathBuf>,
}

/// Compiles the files into `lib<name>.a`, as many at once as cargo allows, and makes cargo link it.
pub(crate) fn compile(files: &[Source], name: &str, settings: &Settings<'_>) -> Result<Vec<Object>, Error> {
    choose_compiler(&settings.toolkit.nvcc);
    let objects = in_parallel(files, jobs(), |file| compile_one(file, settings))?;
    let mut archive = cc::Build::new();
    archive.cpp(true).cargo_debug(false);
    for object in &objects {
        archive.object(&object.path);
    }
    // C++ mode, because the stubs need the C++ library: cc passes that to cargo.
    archive.try_compile(name).map_err(|error| failed(Path::new(name), &error))?;
    Ok(objects)
}

/// Returns the files that each of these includes, without those of the toolkit. Compiles nothing.
pub(crate) fn includes(
    files: &[PathBuf],
    settings: &Settings<'_>,
) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, Error> {
    choose_compiler(&settings.toolkit.nvcc);
    in_parallel(files, jobs(), |file| {
        exists(file)?;
        let compiler = configured(file, settings).try_get_compiler().map_err(|error| failed(file, &error))?;
        let run = compiler.to_command().arg("-M").arg(file).output();
        let run = run.map_err(|error| Error::File(settings.toolkit.nvcc.clone(), error))?;
        if !run.status.success() {
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            return Err(Error::Compile(file.clone(), said));
        }
        let files = depfile::parse(&String::from_utf8_lossy(&run.stdout));
        Ok((file.clone(), depfile::outside_of(files, &settings.toolkit.root)))
    })
}

/// Sets the nvcc that `cc` runs. `cc` reads only this variable and `PATH`.
#[expect(unsafe_code, reason = "changes the process's environment, the only way to name an nvcc to cc")]
fn choose_compiler(nvcc: &Path) {
    // SAFETY: called before this library starts its threads. The build script has one thread: the
    // documentation of `Build::compile` requires that.
    unsafe { env::set_var("NVCC", nvcc) };
}

fn exists(file: &Path) -> Result<(), Error> {
    if file.is_file() {
        return Ok(());
    }
    Err(Error::File(file.to_owned(), std::io::Error::from(std::io::ErrorKind::NotFound)))
}

/// Returns the compiler for one file, with all settings but without the file.
fn configured(file: &Path, settings: &Settings<'_>) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cuda(true)
        .cudart("none")
        // Kernels are optimised in debug builds too, because -G would make them many times slower.
        .debug(false)
        .opt_level(3)
        .warnings(false)
        .flag("-std=c++17")
        .flags(arch::flags(settings.archs))
        .includes(settings.includes)
        .flags(settings.flags)
        .file(file);
    for (name, value) in settings.defines {
        build.define(name, value.as_deref());
    }
    build
}

fn compile_one(source: &Source, settings: &Settings<'_>) -> Result<Object, Error> {
    let file = &source.file;
    exists(file)?;
    let compiled = source.wrapped.as_ref().unwrap_or(file);
    let mut build = configured(compiled, settings);
    let dependencies = settings.out.join(format!("{}.d", file_tag(file)));
    build.flag("-MD").flag("-MF").flag(&dependencies);
    // One file for each build: with several, cc would request relocatable device code and a device link.
    let objects = build
        .try_compile_intermediates()
        .map_err(|error| Error::Compile(file.to_owned(), error.to_string()))?;
    let path =
        objects.into_iter().next().ok_or_else(|| Error::Compile(file.to_owned(), "no object".to_owned()))?;
    let text = fs::read_to_string(&dependencies).map_err(|error| Error::File(dependencies, error))?;
    let mut sources = depfile::outside_of(depfile::parse(&text), &settings.toolkit.root);
    sources.retain(|read| source.wrapped.as_ref() != Some(read));
    Ok(Object { file: file.clone(), path, sources })
}

/// Names what failed, and the remedy if a tool is missing.
fn failed(what: &Path, error: &cc::Error) -> Error {
    let text = error.to_string();
    if text.contains("ToolNotFound") {
        let wanted = "nvcc and the archive need a C++ compiler and binutils on this machine";
        return Error::Toolkit(format!("{wanted}: install them (Debian: g++), or set CXX ({text})."));
    }
    Error::Compile(what.to_owned(), text)
}

/// Returns a file name that is unique to the path.
pub(crate) fn file_tag(file: &Path) -> String {
    file.to_string_lossy()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
        .collect()
}

fn jobs() -> usize {
    env::var("NUM_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(1).max(1)
}

/// Runs `work` for every item on up to `limit` threads. The results are in the order of the items.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    limit: usize,
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let todo = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..limit.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
                    let Some((at, item)) = next else { break };
                    let result = work(item);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..50).collect();
        let doubled = in_parallel(&items, 4, |item| Ok(item * 2)).unwrap();
        assert_eq!(doubled, (0..50).map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_failing_item_is_the_error() {
        let failing = in_parallel(&["sm_90", "x", "y"], 2, |item| item.parse::<Arch>());
        assert!(failing.unwrap_err().to_string().contains("`x`"));
    }

    #[test]
    fn tags_differ_for_files_of_the_same_name_in_different_folders() {
        assert_ne!(file_tag(Path::new("/a/x.cu")), file_tag(Path::new("/b/x.cu")));
    }
}
