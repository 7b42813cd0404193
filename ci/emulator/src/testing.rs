//! Helpers of the unit tests: CUDA sources compiled while the test runs.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// nvcc of the toolkit that everything is built with, and its version: `ci/setup` finds it, or puts it there.
fn nvcc() -> &'static (PathBuf, Vec<u8>) {
    static NVCC: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();
    NVCC.get_or_init(|| {
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../setup");
        let out = Command::new(&setup)
            .arg("--toolkit")
            .output()
            .unwrap_or_else(|e| panic!("{}: {e}", setup.display()));
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let nvcc = Path::new(String::from_utf8(out.stdout).unwrap().trim_end()).join("bin/nvcc");
        let version = Command::new(&nvcc).arg("--version").output().unwrap().stdout;
        (nvcc, version)
    })
}

/// Compiles CUDA source and gives nvcc's output file. The file stays beside the tests, and the same version
/// of nvcc does not compile the same source with the same options again.
pub(crate) fn compile(source: &str, kind: &str, options: &[&str]) -> Vec<u8> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut inputs = DefaultHasher::new();
    (source, kind, options, nvcc()).hash(&mut inputs);
    let folder = std::env::current_exe().unwrap().with_file_name("emulator-kernels");
    let made = folder.join(format!("{:016x}{kind}", inputs.finish()));
    if let Ok(bytes) = fs::read(&made) {
        return bytes;
    }
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let work = folder.join(format!("{}-{n}", std::process::id()));
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("test.cu"), source).unwrap();
    let out = Command::new(&nvcc().0)
        .current_dir(&work)
        .args([kind, "-w", "-o", "test.out", "test.cu"])
        .args(options)
        .output()
        .unwrap();
    assert!(out.status.success(), "nvcc: {}", String::from_utf8_lossy(&out.stderr));
    fs::rename(work.join("test.out"), &made).unwrap();
    fs::remove_dir_all(&work).unwrap();
    fs::read(&made).unwrap()
}

/// Compiles CUDA source to PTX text for compute capability 9.0.
pub(crate) fn compile_ptx(source: &str, options: &[&str]) -> String {
    let mut all = vec!["-arch=compute_90"];
    all.extend(options);
    String::from_utf8(compile(source, "-ptx", &all)).unwrap()
}
