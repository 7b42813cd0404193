//! Runs nvcc through `cc`: one object for each source file, and one archive of all objects.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::SystemTime;

use crate::compiler::depfile;
use crate::compiler::names::Names;
use crate::compiler::toolkit::Toolkit;
use crate::compiler::{agree, arch, slices};
use crate::{Arch, Error};

/// The settings that all files of a library share.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) toolkit: &'a Toolkit,
    pub(crate) archs: &'a [Arch],
    pub(crate) includes: &'a [PathBuf],
    pub(crate) defines: &'a [(String, Option<String>)],
    pub(crate) flags: &'a [String],
    /// Whether the device code of all files is linked.
    pub(crate) relocatable: bool,
    /// The flags that nvcc itself takes from the environment.
    pub(crate) environment: &'a [Option<OsString>],
    /// The C++ compiler that nvcc itself takes from the environment.
    pub(crate) host_compiler: Option<OsString>,
    /// What names have that are unique in a program.
    pub(crate) unique: &'a str,
    /// The folder of the archive.
    pub(crate) out: &'a Path,
    /// The folder of the objects and of all other files that later builds use again.
    pub(crate) objects: &'a Path,
}

/// A source file, and the file that is compiled for it: itself, or a file that includes it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) wrapped: Option<PathBuf>,
}

impl Source {
    /// Returns a source file that is compiled itself.
    pub(crate) fn plain(file: &Path) -> Self {
        Self { file: file.to_owned(), wrapped: None }
    }
}

/// An object, and the files that it depends on.
#[derive(Debug)]
pub(crate) struct Object {
    /// The source file.
    pub(crate) file: PathBuf,
    pub(crate) path: PathBuf,
    /// The files that were read for it, without those of the toolkit.
    pub(crate) sources: Vec<PathBuf>,
    /// The PTX of each architecture that it has code for. Empty if it is not all there.
    pub(crate) ptx: Vec<PathBuf>,
}

/// nvcc with the settings of a library.
#[derive(Debug)]
pub(crate) struct Compiler<'a> {
    tool: cc::Tool,
    settings: &'a Settings<'a>,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(settings: &'a Settings<'a>) -> Result<Self, Error> {
        let nvcc = &settings.toolkit.nvcc;
        choose_compiler(nvcc);
        fs::create_dir_all(settings.objects).map_err(Error::of_file(settings.objects))?;
        let tool = configured(settings).try_get_compiler().map_err(|error| failed(nvcc, &error))?;
        Ok(Self { tool, settings })
    }

    /// Compiles the files, as many at once as cargo allows. Objects that are up to date are used again.
    pub(crate) fn compile(&self, files: &[Source]) -> Result<Vec<Object>, Error> {
        in_parallel(files, jobs(), |file| self.compile_one(file))
    }

    /// Returns why launches of these kernels cannot be proven, whatever their PTX is.
    pub(crate) fn unprovable(&self, objects: &[Object]) -> Option<String> {
        if self.settings.relocatable {
            return Some("its device code is linked with that of other sources".to_owned());
        }
        let arguments = self.tool.args().iter().map(OsString::as_os_str);
        if let Some(option) = slices::changes_code(arguments, self.settings.environment) {
            return Some(format!("nvcc's option `{option}` may change the way from PTX to machine code"));
        }
        let missing = objects.iter().find(|object| object.ptx.is_empty())?;
        Some(format!("nvcc has left no PTX of {}", missing.file.display()))
    }

    /// Makes `lib<name>.a` of the objects, with names that are unique in a program. Programs link `whole`
    /// archives with all objects, whether they use them or not.
    pub(crate) fn archive(
        &self,
        objects: &[Object],
        name: &str,
        exports: &[String],
        whole: bool,
    ) -> Result<Names, Error> {
        let paths = if self.settings.relocatable {
            vec![self.link(objects)?]
        } else {
            objects.iter().map(|object| object.path.clone()).collect()
        };
        let names = Names::of(self.settings.unique, exports, paths)?;
        let mut archive = cc::Build::new();
        archive.cpp(true).cargo_debug(false).out_dir(self.settings.out);
        archive.objects(names.write(&self.settings.objects.join("unique"))?);
        let mut name = name;
        if whole {
            // rustc needs different names for these.
            archive.link_lib_modifier("+whole-archive");
            name = self.settings.unique;
        }
        // C++ mode, because the stubs need the C++ library: cc passes that to cargo.
        archive.try_compile(name).map_err(|error| failed(Path::new(name), &error))?;
        Ok(names)
    }

    /// Returns the files that each of these includes, without those of the toolkit. Compiles nothing.
    pub(crate) fn includes(&self, files: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, Error> {
        in_parallel(files, jobs(), |file| {
            let list = self.output(file, "includes");
            let step = Step { kind: "includes", kept: None, output: list.clone(), dependencies: list };
            let mut command = self.tool.to_command();
            command.arg("-M").arg("-MF").arg(&step.output).arg(file);
            self.run(file, command, &step)?;
            Ok((file.clone(), self.dependencies(&step)?))
        })
    }

    fn compile_one(&self, source: &Source) -> Result<Object, Error> {
        let file = &source.file;
        let kept = self.output(file, "kept");
        let step = Step {
            kind: "object",
            kept: Some(kept.clone()),
            output: self.output(file, "o"),
            dependencies: self.output(file, "d"),
        };
        let mut command = self.tool.to_command();
        command.arg("--keep").arg("--keep-dir").arg(&kept);
        command.arg("-MD").arg("-MF").arg(&step.dependencies).arg("-o").arg(&step.output);
        // A source may be a whole C++ program. The Rust program has its own `main`.
        command
            .arg(format!("-Dmain=main_of_{}", file_tag(file).replace(|c: char| !c.is_alphanumeric(), "_")));
        command.arg("-c").arg(source.wrapped.as_ref().unwrap_or(file));
        self.run(file, command, &step)?;
        let mut sources = self.dependencies(&step)?;
        sources.retain(|read| source.wrapped.as_ref() != Some(read));
        let ptx = files_of(&kept).unwrap_or_default();
        Ok(Object { file: file.clone(), path: step.output, sources, ptx })
    }

    /// Runs a command for a source file, unless its output is up to date.
    fn run(&self, file: &Path, mut command: Command, step: &Step) -> Result<(), Error> {
        if !file.is_file() {
            return Err(Error::File(file.to_owned(), ErrorKind::NotFound.into()));
        }
        let stamp = self.output(file, &format!("{}.stamp", step.kind));
        let old = fs::read_to_string(&stamp).ok();
        if step.output.is_file() && old.is_some() && old == self.state(&command, step).map(|(state, _)| state)
        {
            return Ok(());
        }
        // After a failure nothing of an earlier run remains.
        for old in [&stamp, &step.output, &step.dependencies] {
            drop(fs::remove_file(old));
        }
        if let Some(kept) = &step.kept {
            drop(fs::remove_dir_all(kept));
            fs::create_dir_all(kept).map_err(Error::of_file(kept))?;
        }
        let start = SystemTime::now();
        finish(&mut command, file, Some(self.settings.objects))?;
        if let Some(kept) = &step.kept {
            keep_ptx(kept).map_err(Error::of_file(kept))?;
        }
        // A file that changed during the run may have been read before or after the change.
        if let Some((state, last_change)) = self.state(&command, step)
            && last_change < start
        {
            fs::write(&stamp, state).map_err(Error::of_file(&stamp))?;
        }
        Ok(())
    }

    /// Links the device code of the objects, and joins all of them to one object, which it returns.
    ///
    /// The runtime loads linked device code once all of its objects have registered, so a program needs all
    /// of them or none. nvcc's own library for kernels that launch kernels (`cudadevrt`) is joined as well.
    fn link(&self, objects: &[Object]) -> Result<PathBuf, Error> {
        let [linked, joined] = ["linked.o", "joined.o"].map(|name| self.settings.objects.join(name));
        let paths = || objects.iter().map(|object| &object.path);
        // nvcc does not search the folder of NVIDIA's wheels.
        let folders =
            ["lib64", "lib"].map(|name| format!("-L{}", self.settings.toolkit.root.join(name).display()));

        let mut command = self.tool.to_command();
        command.arg("-dlink").args(paths()).args(&folders).arg("-o").arg(&linked);
        finish(&mut command, &linked, None)?;

        let mut cpp = cc::Build::new();
        cpp.cpp(true).cargo_debug(false).debug(false).opt_level(0);
        let tool = cpp.try_get_compiler().map_err(|error| failed(&joined, &error))?;
        let mut command = tool.to_command();
        command.args(["-r", "-nostdlib", "-o"]).arg(&joined).args(paths()).arg(&linked);
        // Toolkits for cross-compilation may lack the library.
        let bytes = fs::read(&linked).map_err(Error::of_file(&linked))?;
        if bytes.windows(DEVICE_RUNTIME.len()).any(|part| part == DEVICE_RUNTIME) {
            command.args(&folders).arg("-lcudadevrt");
        }
        finish(&mut command, &joined, None)?;
        Ok(joined)
    }

    /// Returns everything that the output of a command depends on, as text: the command, and the time and
    /// length of nvcc and of each file that was read, those of toolkit and system among them. Also returns
    /// the last time of these. Returns `None` if a file is missing.
    fn state(&self, command: &Command, step: &Step) -> Option<(String, SystemTime)> {
        let Settings { environment, host_compiler, .. } = self.settings;
        let mut state = format!("{environment:?} {host_compiler:?}\n{command:?}\n");
        let mut last_change = SystemTime::UNIX_EPOCH;
        let dependencies = depfile::parse(&fs::read_to_string(&step.dependencies).ok()?);
        for file in iter::once(&self.settings.toolkit.nvcc).chain(&dependencies) {
            let about = fs::metadata(file).ok()?;
            let changed = about.modified().ok()?;
            state.push_str(&format!("{changed:?} {} {}\n", about.len(), file.display()));
            last_change = last_change.max(changed);
        }
        Some((state, last_change))
    }

    fn dependencies(&self, step: &Step) -> Result<Vec<PathBuf>, Error> {
        let file = &step.dependencies;
        let text = fs::read_to_string(file).map_err(Error::of_file(file))?;
        Ok(depfile::outside_of(depfile::parse(&text), &self.settings.toolkit.root))
    }

    fn output(&self, file: &Path, extension: &str) -> PathBuf {
        self.settings.objects.join(format!("{}.{extension}", file_tag(file)))
    }
}

/// A part of the names in linked device code that needs `cudadevrt`.
const DEVICE_RUNTIME: &[u8] = b"cuda_device_runtime";

/// Runs a command that makes `what`, or compiles it. Its warnings become cargo's, and an error has its words.
/// `own` is the folder of sources that include others.
fn finish(command: &mut Command, what: &Path, own: Option<&Path>) -> Result<(), Error> {
    let done = command.output().map_err(|error| Error::File(command.get_program().into(), error))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if let Some(difference) = agree::difference(&said) {
        return Err(difference);
    }
    if !done.status.success() {
        let mut said = own.map_or_else(|| said.to_string(), |own| without_own(&said, own));
        if let Some(advice) = advice(&said) {
            said = format!("{}\n\n{advice}", said.trim_end());
        }
        return Err(Error::Compile(what.to_owned(), format!("{}:\n{}", done.status, said.trim_end())));
    }
    for line in said.lines() {
        println!("cargo:warning={line}");
    }
    Ok(())
}

/// Leaves out of nvcc's words what follows from a mistake in the source: errors in the lines behind it.
fn without_own(said: &str, own: &Path) -> String {
    let own = own.display().to_string();
    let parts = said.split("\n\n").filter(|part| !part.contains(&own));
    let rest = parts.collect::<Vec<_>>().join("\n\n");
    if rest.contains("error") { rest } else { said.to_owned() }
}

/// Returns what to do if a source needs another one's device code, or nvcc another C++ compiler.
fn advice(said: &str) -> Option<&'static str> {
    let said_of_compiler = ["unsupported GNU version", "unsupported clang version"];
    if said.contains("Unresolved extern function") {
        Some("Build::relocatable links device code, as `nvcc -rdc=true` does")
    } else if said_of_compiler.iter().any(|words| said.contains(words)) {
        Some(
            "The C++ compiler of this machine is newer than this nvcc supports. Install an older one beside \
             it (Debian: g++-14; Fedora: gcc14-c++; Arch: gcc14), and set NVCC_CCBIN=g++-14, or CXX. Or take a \
             newer toolkit. `Build::flag(\"-allow-unsupported-compiler\")` tries it as it is.",
        )
    } else {
        None
    }
}

/// A command's output, and the file in which it lists what it read.
struct Step {
    kind: &'static str,
    /// The folder of intermediate files.
    kept: Option<PathBuf>,
    output: PathBuf,
    dependencies: PathBuf,
}

/// Removes everything but the PTX from the intermediate files of nvcc, and the PTX too if it is not that of
/// all device code: link-time optimisation, for example, has none.
fn keep_ptx(folder: &Path) -> io::Result<()> {
    let files = files_of(folder)?;
    // nvcc preprocesses a file once for each architecture.
    let preprocessed = files.iter().filter_map(|file| file.to_str()?.strip_suffix(".cpp1.ii"));
    let mut wanted: Vec<PathBuf> = preprocessed.map(|name| PathBuf::from(format!("{name}.ptx"))).collect();
    if wanted.iter().any(|ptx| !files.contains(ptx)) {
        wanted.clear();
    }
    files.iter().filter(|file| !wanted.contains(file)).try_for_each(fs::remove_file)
}

/// Returns the files in a folder.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Sets the nvcc that `cc` runs. `cc` reads only this variable and `PATH`.
#[expect(unsafe_code, reason = "changes the process's environment, the only way to name an nvcc to cc")]
fn choose_compiler(nvcc: &Path) {
    // SAFETY: called before this library starts its threads. The build script has one thread: the
    // documentation of `Build::compile` requires that.
    unsafe { env::set_var("NVCC", nvcc) };
}

/// Returns the C++ standard that flags or variables of nvcc name. nvcc warns if a second one is passed.
pub(crate) fn standard(flags: &[String], environment: &[Option<OsString>]) -> Option<String> {
    let environment = environment.iter().flatten().map(|flags| flags.to_string_lossy());
    let environment =
        environment.flat_map(|flags| flags.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let mut words = flags.iter().cloned().chain(environment);
    let mut found = None;
    while let Some(word) = words.next() {
        let value = word.strip_prefix('-').map(|word| word.trim_start_matches('-'));
        found = match value.and_then(|word| word.strip_prefix("std")) {
            Some("") => words.next(),
            Some(value) => value.strip_prefix('=').map(str::to_owned).or(found),
            None => found,
        };
    }
    found
}

/// Returns whether line tables can be asked for: nvcc refuses them beside the options of a debugger.
fn takes_lines(flags: &[String], environment: &[Option<OsString>]) -> bool {
    let environment = environment.iter().flatten().map(|flags| flags.to_string_lossy());
    let environment =
        environment.flat_map(|flags| flags.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let others = ["-G", "--device-debug", "-device-debug", "-lineinfo", "--generate-line-info"];
    !flags.iter().cloned().chain(environment).any(|flag| others.contains(&flag.as_str()))
}

/// Returns the compiler with all settings.
fn configured(settings: &Settings<'_>) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cuda(true)
        .cudart("none")
        .cargo_debug(false)
        // cc names its own C++ compiler otherwise, before which nvcc ignores its variable.
        .ccbin(settings.host_compiler.is_none())
        // Kernels are optimised in debug builds too, because -G would make them many times slower.
        .debug(false)
        .opt_level(3)
        .warnings(false)
        .flags(standard(settings.flags, settings.environment).is_none().then_some("-std=c++17"))
        .flags(arch::flags(settings.archs))
        .flags(settings.relocatable.then_some("-rdc=true"))
        // The lines that errors of launches name.
        .flags(takes_lines(settings.flags, settings.environment).then_some("-lineinfo"))
        .includes(settings.includes)
        .flags(settings.flags);
    for (name, value) in settings.defines {
        build.define(name, value.as_deref());
    }
    build
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
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-{:016x}", hasher.finish())
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
    fn a_function_that_is_not_linked_is_answered_with_how_to_link() {
        let said = "ptxas fatal   : Unresolved extern function 'cudaGraphSetConditional'\n";
        assert!(advice(said).is_some_and(|text| text.contains("relocatable")) && advice("").is_none());
    }

    #[test]
    fn what_follows_from_a_mistake_is_left_out_and_nothing_else_is() {
        let own = Path::new("/out/k.objects");
        let behind = "/out/k.objects/a-01.cu(3): error: incomplete type\n  line\n    ^";
        let (mistake, end) =
            ("a.cu(1): error: no type\n  line\n   ^", "2 errors in \"/out/k.objects/a-01.cu\".\n");
        assert_eq!(without_own(&format!("{mistake}\n\n{behind}\n\n{end}"), own), mistake);
        let only = format!("{behind}\n\n{end}");
        assert_eq!(without_own(&only, own), only);
    }

    #[test]
    fn the_standard_is_found_however_it_is_passed() {
        let standard = |flags: &[&str], environment: &str| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            super::standard(&flags, &[None, Some(environment.into())])
        };
        assert_eq!(standard(&["-lineinfo", "--stdlib"], ""), None);
        for flags in [&["-std=c++14"][..], &["--std=c++14"], &["-std", "c++14", "-G"], &["--std", "c++14"]] {
            assert_eq!(standard(flags, "-G").as_deref(), Some("c++14"), "{flags:?}");
        }
        assert_eq!(standard(&["-std=c++14"], "-G --std c++20").as_deref(), Some("c++20"));
    }

    #[test]
    fn tags_differ_for_files_of_the_same_name_in_different_folders() {
        assert_ne!(file_tag(Path::new("/a/x.cu")), file_tag(Path::new("/b/x.cu")));
        assert_ne!(file_tag(Path::new("a/x.cu")), file_tag(Path::new("a_x.cu")));
    }
}
