//! The built program, which is the library as well, and the toolkit, for the tests that look at them from
//! outside. Compiles programs and runs them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use cuda_sys_build::{Env, Search, Toolkit};

pub(crate) const SCHEDULES: [&str; 5] = ["late", "eager", "random:1", "random:2", "random:3"];
/// The exit code of a program with a finding.
pub(crate) const FOUND: i32 = 33;

/// The folder with `libcudart.so.13`, as the program names it.
pub(crate) fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
        let output = command.arg("--library").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim())
    })
}

/// The installed toolkit.
pub(crate) fn toolkit() -> Toolkit {
    Search::new(&Env::from_process()).find().expect("a toolkit")
}

/// Compiles `tests/programs/NAME.cu` with further options, for the built library.
pub(crate) fn compile(name: &str, options: &[&str]) -> PathBuf {
    once(name, || build(name, &["-cudart", "none", "-cudadevrt", "none", "-lcudart"], options))
}

/// The same with separate compilation, for kernels that launch kernels.
pub(crate) fn compile_apart(name: &str, options: &[&str]) -> PathBuf {
    once(name, || {
        let devrt = format!("-L{}", toolkit().root().join("lib").display());
        build(name, &["-rdc=true", "-cudart", "shared", &devrt], options)
    })
}

/// Compiles `tests/programs/NAME.cpp`, which has no kernels, with further options.
pub(crate) fn compile_host(name: &str, options: &[&str]) -> PathBuf {
    once(name, || {
        let toolkit = toolkit();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let mut command = Command::new(compiler);
        command
            .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"])
            .args(options)
            .arg(format!("tests/programs/{name}.cpp"))
            .args(toolkit.includes().iter().map(|folder| format!("-I{}", folder.display())))
            .arg(format!("-L{}", folder().display()))
            .args(["-lcudart", "-pthread"]);
        made(name, &mut command)
    })
}

/// Makes a program, once in this process.
fn once(name: &str, make: impl FnOnce() -> PathBuf) -> PathBuf {
    static PROGRAMS: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let program = Arc::clone(PROGRAMS.lock().unwrap().entry(name.to_owned()).or_default());
    program.get_or_init(make).clone()
}

/// A program on the built library, in a schedule.
pub(crate) fn command(program: impl AsRef<Path>, schedule: &str) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env("LD_LIBRARY_PATH", folder()).env("CUDA_EMULATOR_SCHEDULE", schedule).stdin(Stdio::null());
    command
}

/// The same with a look for races. With a finding it ends with [`FOUND`].
pub(crate) fn checked(program: impl AsRef<Path>, schedule: &str) -> Command {
    let mut command = command(program, schedule);
    command.env("CUDA_EMULATOR_RACES", "1").env("CUDA_EMULATOR_EXIT_CODE", FOUND.to_string());
    command
}

/// Runs a command. Returns the exit code and standard error.
pub(crate) fn ended(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The line that a comment `// CASE: WORD` marks in a source.
pub(crate) fn line(source: &str, case: &str, word: &str) -> usize {
    let mark = format!("// {case}: {word}");
    let at = source.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line is marked {mark:?}")) + 1
}

fn build(name: &str, libraries: &[&str], options: &[&str]) -> PathBuf {
    let mut command = Command::new(toolkit().nvcc().expect("nvcc"));
    // An architecture among the options replaces the usual one.
    if !options.iter().any(|option| option.starts_with("-arch=")) {
        command.args(["-arch=compute_90", "-code=compute_90"]);
    }
    command
        .args(["-std=c++17", "-lineinfo"])
        .arg(format!("tests/programs/{name}.cu"))
        .arg(format!("-L{}", folder().display()))
        .args(libraries)
        .args(options);
    made(name, &mut command)
}

/// Runs a compiler, unless the same version of it has already made the program of the same files with the
/// same arguments.
pub(crate) fn made(name: &str, command: &mut Command) -> PathBuf {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    command.arg("-o").arg(&program);
    let version = Command::new(command.get_program()).arg("--version").output().expect("the compiler starts");
    let mut inputs = format!("{command:?}\n{}", String::from_utf8_lossy(&version.stdout));
    let is_source = |it: &PathBuf| it.extension().is_some_and(|end| end == "cu" || end == "cpp");
    let named = command.get_args().map(PathBuf::from).filter(is_source);
    let files = fs::read_dir("tests/programs").expect("the folder").map(|it| it.expect("a file").path());
    let mut headers: Vec<_> = files.filter(|it| it.extension().is_some_and(|it| it == "h")).collect();
    headers.sort();
    for file in named.chain(headers) {
        inputs += &fs::read_to_string(file).expect("a source");
    }
    let stamp = program.with_extension("inputs");
    if !program.exists() || fs::read_to_string(&stamp).ok().as_ref() != Some(&inputs) {
        fs::remove_file(&stamp).ok();
        let output = command.output().expect("the compiler starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::write(&stamp, inputs).expect("the folder can be written");
    }
    program
}
