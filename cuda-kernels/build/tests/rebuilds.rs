//! A build compiles again what changed, and nothing else.
//!
//! Each build is a process of its own, as a build script is: this program starts itself.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

/// The build script. The other tests start it, in the folder of the kernels.
#[test]
#[ignore = "the other tests start it"]
fn build_script() {
    if std::env::var("FLAG").is_ok_and(|flag| flag == LIBRARY) {
        return cuda_kernels_build::Build::new().file("kernels/a.cu").compile("k");
    }
    let mut build = cuda_kernels_build::Build::new().folder("kernels").archs(["compute_75"]);
    if let Ok(flag) = std::env::var("FLAG") {
        build = if flag == RELOCATABLE { build.relocatable() } else { build.flag(&flag) };
    }
    build.compile("k");
}

/// In place of a flag: a C++ library without handles.
const LIBRARY: &str = "library";

/// In place of a flag: device code that is linked.
const RELOCATABLE: &str = "relocatable";

/// Builds the folder. Returns the time of each object, by the name of its source.
fn build(folder: &Path, flag: Option<&str>) -> BTreeMap<String, SystemTime> {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build_script", "--ignored", "--nocapture"])
        .current_dir(folder)
        .env("OUT_DIR", folder)
        .envs([("TARGET", TARGET), ("HOST", TARGET), ("NUM_JOBS", "2")])
        .envs(flag.map(|flag| ("FLAG", flag)))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    let watched = said.contains("rerun-if-changed=kernels\n") || flag == Some(LIBRARY);
    assert!(watched, "a new file in the folder starts a build: {said}");
    let objects = fs::read_dir(folder.join("k.objects")).unwrap().map(|entry| entry.unwrap().path());
    let objects = objects.filter(|path| path.extension().is_some_and(|end| end == "o"));
    let named = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().split('-').next().unwrap().to_owned();
        (name, path.metadata().unwrap().modified().unwrap())
    };
    objects.map(named).collect()
}

/// The platform of this program.
const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// Returns the sources whose objects differ.
fn compiled<'a>(
    before: &BTreeMap<String, SystemTime>,
    after: &'a BTreeMap<String, SystemTime>,
) -> Vec<&'a str> {
    after
        .iter()
        .filter(|(name, time)| before.get(*name) != Some(*time))
        .map(|(name, _)| name.as_str())
        .collect()
}

#[test]
fn only_a_file_that_changed_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = folder.path().join("kernels");
    fs::create_dir(&kernels).unwrap();
    let write = |name: &str, text: &str| fs::write(kernels.join(name), text).unwrap();
    write("shared.cuh", "#define STEP 1\n");
    write("a.cu", "#include \"shared.cuh\"\n__global__ void a(int* p) { *p += STEP; }\n");
    // A variable, whose file is compiled with a further function.
    write("b.cu", "__device__ int hits;\n__global__ void b(int* p) { *p += hits; }\n");
    let first = build(folder.path(), None);
    assert_eq!(first.keys().collect::<Vec<_>>(), ["a", "b"]);

    let again = build(folder.path(), None);
    assert_eq!(compiled(&first, &again), [""; 0]);

    write("b.cu", "// A comment.\n__device__ int hits;\n__global__ void b(int* p) { *p += hits; }\n");
    let comment = build(folder.path(), None);
    assert_eq!(compiled(&again, &comment), ["b"]);

    write("shared.cuh", "#define STEP 2\n");
    write("c.cu", "__global__ void c(int* p) { *p = 3; }\n");
    let header = build(folder.path(), None);
    assert_eq!(compiled(&comment, &header), ["a", "c"]);

    let flag = build(folder.path(), Some("--use_fast_math"));
    assert_eq!(compiled(&header, &flag), ["a", "b", "c"]);
}

#[test]
fn device_code_is_linked_again_after_a_file_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = folder.path().join("kernels");
    fs::create_dir(&kernels).unwrap();
    let write = |name: &str, text: &str| fs::write(kernels.join(name), text).unwrap();
    write("a.cu", "__device__ int more(int);\n__global__ void a(int* p) { *p = more(*p); }\n");
    write("b.cu", "__device__ int more(int x) { return x + 1; }\n");
    let first = build(folder.path(), Some(RELOCATABLE));
    assert_eq!(first.keys().collect::<Vec<_>>(), ["a", "b", "joined.o", "linked.o"]);
    write("b.cu", "__device__ int more(int x) { return x + 2; }\n");
    let second = build(folder.path(), Some(RELOCATABLE));
    assert_eq!(compiled(&first, &second), ["b", "joined.o", "linked.o"]);
}

#[test]
fn a_file_that_does_not_compile_leaves_no_object() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = folder.path().join("kernels");
    fs::create_dir(&kernels).unwrap();
    fs::write(kernels.join("a.cu"), "__global__ void a(int* p) { *p = 1; }\n").unwrap();
    let good = build(folder.path(), None);
    fs::write(kernels.join("a.cu"), "__global__ void a(int* p) { *p = one; }\n").unwrap();
    assert!(std::panic::catch_unwind(|| build(folder.path(), None)).is_err());
    fs::write(kernels.join("a.cu"), "__global__ void a(int* p) { *p = 1; }\n").unwrap();
    assert_eq!(compiled(&good, &build(folder.path(), None)), ["a"]);
}

#[test]
fn a_build_without_kernels_generates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kernels")).unwrap();
    fs::write(folder.path().join("kernels/a.cu"), "extern \"C\" int answer() { return 42; }\n").unwrap();
    assert_eq!(build(folder.path(), Some(LIBRARY)).len(), 1);
    assert!(folder.path().join("libk.a").exists());
    assert!(!folder.path().join("k.rs").exists());
    build(folder.path(), None);
    assert!(folder.path().join("k.rs").exists());
}
