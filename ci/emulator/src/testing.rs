//! Helpers of the unit tests: CUDA sources compiled while the test runs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// nvcc of the toolkit that everything is built with: `ci/setup` finds it, or puts it there.
fn nvcc() -> &'static Path {
    static NVCC: OnceLock<PathBuf> = OnceLock::new();
    NVCC.get_or_init(|| {
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../setup");
        let out = Command::new(&setup)
            .arg("--toolkit")
            .output()
            .unwrap_or_else(|e| panic!("{}: {e}", setup.display()));
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Path::new(String::from_utf8(out.stdout).unwrap().trim_end()).join("bin/nvcc")
    })
}

/// Compiles CUDA source and gives nvcc's output file.
pub(crate) fn compile(source: &str, kind: &str, options: &[&str]) -> Vec<u8> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("cudart-emulator-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("test.cu"), source).unwrap();
    let out = Command::new(nvcc())
        .current_dir(&dir)
        .args([kind, "-w", "-o", "test.out", "test.cu"])
        .args(options)
        .output()
        .unwrap();
    assert!(out.status.success(), "nvcc: {}", String::from_utf8_lossy(&out.stderr));
    let bytes = std::fs::read(dir.join("test.out")).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    bytes
}

/// Compiles CUDA source to PTX text for compute capability 9.0.
pub(crate) fn compile_ptx(source: &str, options: &[&str]) -> String {
    let mut all = vec!["-arch=compute_90"];
    all.extend(options);
    String::from_utf8(compile(source, "-ptx", &all)).unwrap()
}
