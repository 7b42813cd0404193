//! The bindings against the headers that they are made from, and against the library.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]
#![expect(unsafe_code, reason = "looks up names in the loader and the library")]

use std::collections::BTreeSet;
use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;
use std::process::Command;

const BINDINGS: &str = include_str!(concat!(env!("OUT_DIR"), "/bindings.rs"));

fn includes() -> Vec<PathBuf> {
    let folders: Vec<_> = std::env::split_paths(env!("CUDART_INCLUDE")).collect();
    assert!(!folders.is_empty(), "built from the snapshot: there are no headers to compare with");
    folders
}

fn bound_functions() -> BTreeSet<&'static str> {
    names_after(BINDINGS, "pub fn ")
}

/// Returns every name that a C programmer can use: functions, and the names of the headers' renaming
/// macros.
fn usable_names() -> BTreeSet<&'static str> {
    let aliases = BINDINGS.lines().filter_map(|line| line.strip_prefix("pub use self::")?.split_once(" as "));
    let mut names = bound_functions();
    names.extend(aliases.map(|(_, alias)| alias.trim_end_matches(';')));
    names
}

/// Returns the identifiers between a marker and a parenthesis.
fn names_after<'a>(text: &'a str, marker: &str) -> BTreeSet<&'a str> {
    let name = |rest: &'a str| {
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        rest[end..].trim_start().starts_with('(').then_some(&rest[..end])
    };
    text.split(marker).skip(1).filter_map(name).collect()
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_function_that_the_header_writes_down_is_bound() {
    let header = std::fs::read(includes()[0].join("cuda_runtime_api.h")).unwrap();
    let header = without_comments(&String::from_utf8_lossy(&header));
    // Names with a suffix are for `--default-stream per-thread`, an option of C compilers.
    let per_thread = |name: &&str| name.ends_with("_ptsz") || name.ends_with("_ptds");
    let declared: BTreeSet<_> =
        names_after(&header, " CUDARTAPI ").into_iter().filter(|name| !per_thread(name)).collect();
    let usable = usable_names();
    let missing: Vec<_> = declared.iter().filter(|name| !usable.contains(**name)).collect();
    assert!(missing.is_empty(), "declared in the header, but not bound: {missing:?}");
    assert!(declared.contains("cudaMalloc") && declared.contains("cudaGetDeviceProperties"));
}

/// An independent check: the functions that a C compiler's preprocessor leaves of the header.
#[test]
fn bindings_and_preprocessed_header_have_the_same_functions() {
    let mut command = Command::new("cc");
    command.args(["-E", "-P", "-x", "c"]);
    for folder in includes() {
        command.arg("-I").arg(folder);
    }
    let output = command.arg(includes()[0].join("cuda_runtime_api.h")).output().expect("a C compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let declarations = text.split([';', '}']).filter(|part| part.contains("extern "));
    let declared: BTreeSet<_> =
        declarations.filter_map(declared_name).filter(|name| name.starts_with("cuda")).collect();
    // Another header declares the profiler's two functions.
    let bound: BTreeSet<_> =
        bound_functions().into_iter().filter(|name| !name.starts_with("cudaProfiler")).collect();
    assert_eq!(declared, bound);
}

/// Returns the last word before the parameter list. The list is the last pair of parentheses: attributes
/// come before it.
fn declared_name(declaration: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, c) in declaration.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 1 => {
                let before = declaration[..at].trim_end();
                return before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
            }
            '(' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[test]
fn every_bound_function_is_in_the_library_that_is_loaded() {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: it takes no arguments and touches no memory of this program. The call makes the linker keep
    // libcudart.
    unsafe { cuda_sys::cudaGetLastError() };
    let is_missing = |name: &str| {
        let name = CString::new(name).unwrap();
        // SAFETY: a null handle means all loaded libraries, and the name ends in a NUL.
        unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) }.is_null()
    };
    let missing: Vec<_> = bound_functions().into_iter().filter(|name| is_missing(name)).collect();
    assert!(missing.is_empty(), "the library lacks {missing:?}");
    assert!(is_missing("cudaNoSuchFunction"));
}

#[test]
fn enums_take_values_that_no_header_lists() {
    let unknown = cuda_sys::cudaError(987_654);
    assert_ne!(unknown, cuda_sys::cudaSuccess);
    assert_eq!(format!("{unknown:?}"), "cudaError(987654)");
}

#[test]
fn structs_default_to_zero_compare_and_print() {
    let params = cuda_sys::cudaMemcpy3DParms::default();
    assert!(params.srcArray.is_null() && params.extent == cuda_sys::make_cudaExtent(0, 0, 0));
    assert!(format!("{params:?}").contains("cudaMemcpy3DParms"));
    assert!(format!("{:?}", cuda_sys::cudaLaunchAttribute::default()).contains("cudaLaunchAttribute"));
}

#[test]
fn cfgs_are_cumulative_up_to_the_headers_version() {
    let cfgs = [
        (cfg!(cudart_12_4), 12040),
        (cfg!(cudart_12_5), 12050),
        (cfg!(cudart_12_6), 12060),
        (cfg!(cudart_12_8), 12080),
        (cfg!(cudart_12_9), 12090),
        (cfg!(cudart_13_0), 13000),
        (cfg!(cudart_13_1), 13010),
        (cfg!(cudart_13_2), 13020),
        (cfg!(cudart_13_3), 13030),
        (cfg!(cudart_13_4), 13040),
        (cfg!(cudart_13_5), 13050),
    ];
    for (set, version) in cfgs {
        assert_eq!(set, cuda_sys::CUDART_VERSION >= version, "{version}");
    }
    let newest = cfgs[cfgs.len() - 1].1;
    assert!(
        cuda_sys::CUDART_VERSION < newest + 10,
        "these headers are newer than {newest}: KNOWN_VERSIONS in cuda-sys/build/src/version.rs lacks theirs"
    );
}
