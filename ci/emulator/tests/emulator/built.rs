//! The built program, which is the library as well, and the toolkit, for the tests that look at them from
//! outside.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use cuda_sys_build::{Env, Search, Toolkit};

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
    build(name, &["-cudart", "none", "-cudadevrt", "none", "-lcudart"], options)
}

/// The same with separate compilation, for kernels that launch kernels.
pub(crate) fn compile_apart(name: &str, options: &[&str]) -> PathBuf {
    let devrt = format!("-L{}", toolkit().root().join("lib").display());
    build(name, &["-rdc=true", "-cudart", "shared", &devrt], options)
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
