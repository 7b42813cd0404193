//! Programs that run with another libcudart than that of the headers.
//!
//! The program under test is this test binary itself, started again with another library first on the
//! loader's path.
//!
//! Not under sanitizers: it starts programs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(feature = "load")]
mod load;

const ROLE: &str = "CUDA_SYS_TEST_ROLE";

/// A folder beside that of this program, on any machine.
fn temporary() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("tmp")
}

/// Compiles a library with the file name that the loader requests. It has a single function.
fn stand_in(name: &str, version: u32) -> PathBuf {
    stand_in_with(name, version, "")
}

/// Compiles such a library with more functions, in C.
fn stand_in_with(name: &str, version: u32, functions: &str) -> PathBuf {
    let folder = temporary().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("stand_in.c");
    let version = format!("int cudaRuntimeGetVersion(int *v) {{ *v = {version}; return 0; }}\n");
    std::fs::write(&source, version + functions).unwrap();
    let soname = format!("libcudart.so.{}", cuda_sys::CUDART_VERSION / 1000);
    // The names in the real library have its name as their version, and the loader checks that.
    let versions = folder.join("versions");
    std::fs::write(&versions, format!("{soname} {{ *; }};\n")).unwrap();
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-shared", "-fPIC", "-o"]).arg(folder.join(&soname));
    command.arg(format!("-Wl,-soname,{soname},--version-script={}", versions.display()));
    assert!(command.arg(source).status().expect("a C compiler runs").success());
    folder
}

/// Starts the test of this name again, in its second role, with the folder first on the loader's path.
fn start_again(test: &str, folder: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, "child")
        .env("LD_LIBRARY_PATH", folder)
        .env_remove("LD_PRELOAD");
    for variable in ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

fn is_child() -> bool {
    std::env::var_os(ROLE).is_some()
}

#[test]
fn another_major_version_under_the_right_name_is_refused_by_name_and_place() {
    if is_child() {
        eprintln!("{}", cuda_sys::check_runtime().unwrap_err());
        return;
    }
    let other = if cuda_sys::CUDART_VERSION < 13000 { 13020 } else { 12090 };
    let folder = stand_in("wrong_major", other);
    let output =
        start_again("another_major_version_under_the_right_name_is_refused_by_name_and_place", &folder);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let headers = cuda_sys::CUDART_VERSION;
    let built = format!("this program was built for CUDA {}.{}", headers / 1000, headers % 1000 / 10);
    assert!(text.contains(&built), "{text}");
    assert!(text.contains(&format!("is CUDA {}.{}", other / 1000, other % 1000 / 10)), "{text}");
    assert!(text.contains(folder.to_str().unwrap()), "{text}");
}

#[test]
fn another_minor_version_is_taken() {
    if is_child() {
        cuda_sys::check_runtime().unwrap();
        assert_eq!(cuda_sys::runtime_version().unwrap() % 1000, 990);
        return;
    }
    let folder = stand_in("other_minor", cuda_sys::CUDART_VERSION / 1000 * 1000 + 990);
    let output = start_again("another_minor_version_is_taken", &folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(not(feature = "load"))]
#[test]
fn a_library_of_another_name_is_refused_by_the_loader_which_names_the_right_one() {
    let folder = temporary().join("other_name");
    std::fs::create_dir_all(&folder).unwrap();
    if is_child() {
        return;
    }
    let output =
        start_again("a_library_of_another_name_is_refused_by_the_loader_which_names_the_right_one", &folder);
    let text = String::from_utf8_lossy(&output.stderr);
    let name = format!("libcudart.so.{}", cuda_sys::CUDART_VERSION / 1000);
    // If a libcudart is installed for all programs, the loader finds it, and then nothing is refused.
    let refused = text.contains(&name) && !output.status.success();
    assert!(refused || installed(&name), "{text}");
}

fn installed(name: &str) -> bool {
    let cache = Command::new("/sbin/ldconfig").arg("-p").output();
    cache.is_ok_and(|cache| String::from_utf8_lossy(&cache.stdout).contains(name))
}
