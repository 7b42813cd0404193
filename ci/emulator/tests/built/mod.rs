//! The built program, which is the library as well, and the toolkit, for the tests that look at them from
//! outside.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use cuda_sys_build::{Env, Search, Toolkit};

/// The folder with `libcudart.so.13`, as the program names it.
#[allow(dead_code, reason = "not every test file needs it")]
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
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn toolkit() -> Toolkit {
    Search::new(&Env::from_process()).find().expect("a toolkit")
}

/// Compiles `tests/programs/NAME.cu` with further options, for the built library.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn compile(name: &str, options: &[&str]) -> PathBuf {
    build(name, &["-cudart", "none", "-cudadevrt", "none", "-lcudart"], options)
}

/// The same with separate compilation, for kernels that launch kernels.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn compile_apart(name: &str, options: &[&str]) -> PathBuf {
    let devrt = format!("-L{}", toolkit().root().join("lib").display());
    build(name, &["-rdc=true", "-cudart", "shared", &devrt], options)
}

fn build(name: &str, libraries: &[&str], options: &[&str]) -> PathBuf {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(toolkit().nvcc().expect("nvcc"))
        .args(["-std=c++17", "-lineinfo", "-arch=compute_90", "-code=compute_90"])
        .args([&format!("tests/programs/{name}.cu"), "-o"])
        .arg(&program)
        .arg(format!("-L{}", folder().display()))
        .args(libraries)
        .args(options)
        .output()
        .expect("nvcc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}
