//! Rules about the sources: each test of a program that holds streams runs alone, and each call of the
//! runtime is checked or has a reason.
//!
//! `cudaFree`, allocations, the creation of streams and graphs, and the loading of kernels may wait for a
//! gate of another test and prevent its owner from opening it. The emulator does not have this lock of the
//! driver.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folders of the test programs: all of the workspace that run on a GPU.
const FOLDERS: [&str; 4] =
    ["cuda-safe/tests", "cuda-kernels/tests", "cuda-kernels/fixtures/tests", "examples/tests"];

/// How a test holds a stream: by a host function, or by a kernel that polls a flag.
const GATES: [&str; 2] = ["Gate::on(", "MappedFlag::new("];

/// Tests that are the other process of a test, which runs alone.
const OTHER_PROCESS: &str = "#[ignore = \"the other process of ";

/// The files of each test program with their sources: `NAME.rs`, or all of a folder.
fn programs() -> Vec<Vec<(PathBuf, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let entries = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = entries.map(|entry| entry.unwrap().path()).map(|path| match path.is_dir() {
        true => files_of(path),
        false => vec![path],
    });
    let with_source = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).unwrap());
    files.map(|paths| paths.into_iter().map(with_source).collect()).collect()
}

/// The tests of a source: attributes and body of each.
fn tests(source: &str) -> impl Iterator<Item = (&str, &str)> {
    source.split("\n#[test]\n").skip(1).map(|rest| {
        let test = &rest[..rest.find("\n}\n").unwrap_or(rest.len())];
        let head = test.find("fn ").unwrap();
        let body = head + test[head..].find("{\n").unwrap() + 2;
        (&test[..body], &test[body..])
    })
}

/// Whether only items and comments precede the value through which a test runs alone.
fn runs_alone(body: &str) -> bool {
    let mut item = false;
    let first = body.lines().map(str::trim_end).find(|line| {
        let text = line.trim_start();
        // A function within the test ends at its closing brace.
        item |= text.starts_with("fn ");
        let starts = |start: &&str| text.starts_with(*start);
        let skipped = item || text.is_empty() || ["//", "const ", "use "].iter().any(starts);
        item &= *line != "    }";
        !skipped
    });
    // `let alone = alone();`, `let _alone = alone();`
    first
        .is_some_and(|line| line.contains("alone = ") && line.ends_with("alone();") || starts_a_process(line))
}

/// Whether the first statement of a test starts other processes, and nothing here.
fn starts_a_process(line: &str) -> bool {
    ["own_process!(", "in_all_schedules("].iter().any(|start| line.trim_start().starts_with(start))
}

/// The names that programs use most are at the root, and the others in their modules.
#[test]
fn the_root_of_the_crate_has_forty_names() {
    let source = include_str!("../../src/lib.rs");
    let names: usize = source
        .split("\npub use ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';'))
        .map(|(path, _)| {
            path.split('{')
                .next_back()
                .map_or(0, |names| names.trim_end_matches([',', '}', '\n', ' ']).split(',').count())
        })
        .sum();
    // `bytemuck` is hidden, and `sys` is a module.
    assert!((30..=42).contains(&names), "{names} names at the root");
}

#[test]
fn each_test_of_a_program_with_gates_runs_alone() {
    let mut gated = 0;
    for program in programs() {
        let has_gates = |source: &str| GATES.iter().any(|gate| source.contains(gate));
        let is_this = program.iter().any(|(path, _)| path.ends_with("ledger/sources.rs"));
        if is_this || !program.iter().any(|(_, source)| has_gates(source)) {
            continue;
        }
        let all = program.iter().flat_map(|(path, source)| tests(source).map(move |test| (path, test)));
        let all: Vec<_> = all.filter(|(_, (head, _))| !head.contains(OTHER_PROCESS)).collect();
        for (path, (head, body)) in &all {
            gated += 1;
            // The test of a program with one test is alone.
            assert!(
                all.len() == 1 || runs_alone(body),
                "{}: this program holds streams, so the test must begin with `let alone = alone();`:\n{head}",
                path.display()
            );
        }
    }
    assert!(gated > 500, "{gated} tests of programs with gates were found");
}

#[test]
fn each_test_of_a_program_alone_has_a_process_and_its_file_says_why() {
    let mut alone = 0;
    for (path, source) in programs().into_iter().flatten() {
        if !path.parent().is_some_and(|folder| folder.ends_with("tests/alone")) {
            continue;
        }
        for (head, body) in tests(&source) {
            alone += 1;
            let first = body.lines().next().unwrap_or_default();
            assert!(starts_a_process(first), "{}: begin with `own_process!`:\n{head}", path.display());
            assert!(source.contains("\n//! Alone: "), "{}: its head has no `Alone: why`", path.display());
        }
    }
    assert!(alone > 40, "{alone} tests with a process of their own were found");
}

#[test]
fn what_comes_before_is_noticed() {
    assert!(runs_alone(
        "    const N: usize = 3;\n    // Why.\n    let alone = alone();\n    let stream = Stream::new();"
    ));
    assert!(runs_alone("    fn helper() {\n        other();\n    }\n    let _alone = alone();\n"));
    assert!(runs_alone("    own_process!(Ok(()));\n    let stream = Stream::new();\n"));
    assert!(!runs_alone("    let stream = Stream::new();\n    let alone = alone();\n"));
    assert!(!runs_alone("    fn helper() {\n        let alone = alone();\n    }\n    Stream::new();\n"));
}

/// Functions that are not called through `check!`, and why no host function calls them.
const UNCHECKED: &[(&str, &[&str])] = &[
    (
        "the submission of an operation refuses first",
        &[
            "cudaEventRecord",
            "cudaFreeAsync",
            "cudaGraphLaunch",
            "cudaLaunchHostFunc",
            "cudaLaunchCooperativeKernel",
            "cudaLaunchKernel",
            "cudaLaunchKernelExC",
            "cudaMallocAsync",
            "cudaMallocFromPoolAsync",
            "cudaMemcpy",
            "cudaMemcpy2D",
            "cudaMemcpy2DArrayToArray",
            "cudaMemcpy2DAsync",
            "cudaMemcpy2DFromArray",
            "cudaMemcpy2DFromArrayAsync",
            "cudaMemcpy2DToArray",
            "cudaMemcpy2DToArrayAsync",
            "cudaMemcpy3D",
            "cudaMemcpy3DAsync",
            "cudaMemcpy3DBatchAsync",
            "cudaMemcpy3DPeer",
            "cudaMemcpy3DPeerAsync",
            "cudaMemcpy3DWithAttributesAsync",
            "cudaMemcpyAsync",
            "cudaMemcpyBatchAsync",
            "cudaMemcpyPeer",
            "cudaMemcpyPeerAsync",
            "cudaMemcpyWithAttributesAsync",
            "cudaMemset",
            "cudaMemset2D",
            "cudaMemset2DAsync",
            "cudaMemset3D",
            "cudaMemset3DAsync",
            "cudaMemsetAsync",
            "cudaStreamWaitEvent",
        ],
    ),
    (
        "the current device is asked for first, or made current, which is refused",
        &[
            "cudaHostAlloc",
            "cudaHostRegister",
            "cudaMalloc",
            "cudaMalloc3D",
            "cudaMalloc3DArray",
            "cudaMallocArray",
            "cudaMallocManaged",
            "cudaMallocMipmappedArray",
            "cudaMallocPitch",
            "cudaMemGetInfo",
        ],
    ),
    (
        "its function begins with a refusal",
        &[
            "cudaEventQuery",
            "cudaGetDeviceCount",
            "cudaLibraryGetKernel",
            "cudaLibraryLoadData",
            "cudaLibraryLoadFromFile",
            "cudaMemPoolGetAttribute",
            "cudaProfilerStart",
            "cudaProfilerStop",
            "cudaStreamIsCapturing",
            "cudaStreamQuery",
        ],
    ),
    (
        "what is dropped there is destroyed by the next thread that waits",
        &[
            "cudaEventDestroy",
            "cudaGraphDestroy",
            "cudaGraphExecDestroy",
            "cudaIpcCloseMemHandle",
            "cudaStreamDestroy",
            "cudaStreamSynchronize",
            "cudaUserObjectRelease",
        ],
    ),
    ("clears what a call before it has left", &["cudaGetLastError"]),
    (
        "fatbinaries are registered before `main`, and a variable's address is asked for after a refusal",
        &[
            "cudaInitModule",
            "cudaRegisterFatBinary",
            "cudaRegisterFatBinaryEnd",
            "cudaRegisterFunction",
            "cudaRegisterManagedVar",
            "cudaRegisterVar",
            "cudaUnregisterFatBinary",
        ],
    ),
    (
        "asked for the versions in an error, of a call before it",
        &["cudaDriverGetVersion", "cudaRuntimeGetVersion"],
    ),
    ("looks a text up, and is no call into CUDA", &["cudaGetErrorName", "cudaGetErrorString"]),
];

/// The first groups of `UNCHECKED`: the crate refuses each of these by a check of its own.
const OWN_CHECKS: usize = 3;

/// Functions of these groups that `tests/alone/callbacks.rs` does not try, and why.
const NOT_TRIED: &[(&str, &str)] = &[
    ("cudaLaunchCooperativeKernel", "a launch needs a kernel, and takes the path of copies"),
    ("cudaLibraryLoadFromFile", "unsafe, and loads as from memory"),
    ("cudaMemcpy3DWithAttributesAsync", "a batch of one copy"),
    ("cudaMemcpyWithAttributesAsync", "a batch of one copy"),
    ("cudaStreamIsCapturing", "returns no error, but false"),
];

/// Each function that the crate refuses by a check of its own is tried in a host function: an item that
/// the ledger names for it is called in `tests/alone/every_function.rs`.
#[test]
fn every_check_of_its_own_is_tried_in_a_host_function() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tried = std::fs::read_to_string(here.join("tests/alone/every_function.rs")).unwrap();
    let items = |function: &str| {
        let row = super::LEDGER.lines().find(|row| row.split('\t').next() == Some(function));
        row.unwrap_or_else(|| panic!("the ledger has no {function}")).split('\t').nth(3).unwrap().to_owned()
    };
    for function in UNCHECKED[..OWN_CHECKS].iter().flat_map(|(_, functions)| *functions) {
        let items = items(function);
        let is_called = |item: &str| {
            let name = item.rsplit("::").next().unwrap();
            let calls = tried.match_indices(name).map(|(at, _)| (&tried[..at], &tried[at + name.len()..]));
            calls.into_iter().any(|(before, after)| {
                !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
                    && (after.starts_with('(') || after.starts_with("::<"))
            })
        };
        let is_exempt = NOT_TRIED.iter().any(|(name, _)| name == function);
        assert!(
            items.split(", ").any(is_called) != is_exempt,
            "{function}, which is {items}: alone/every_function.rs calls it, or NOT_TRIED says why not"
        );
    }
}

/// The types of numbers, which are made with parentheses, as calls are.
const NUMBERS: [&str; 12] = [
    "cudaAccessProperty",
    "cudaAtomicOperation",
    "cudaDeviceP2PAttr",
    "cudaError",
    "cudaFlushGPUDirectRDMAWritesScope",
    "cudaLaunchAttributeID",
    "cudaLimit",
    "cudaMemLocationType",
    "cudaResourceViewFormat",
    "cudaTextureAddressMode",
    "cudaTextureFilterMode",
    "cudaTextureReadMode",
];

fn unchecked(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            unchecked(&path, found);
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let code = source.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        for line in code {
            for (at, _) in line.match_indices("cuda") {
                let (before, name) = (&line[..at], &line[at..]);
                let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
                let (name, after) = name.split_at(end);
                let of_the_runtime = name["cuda".len()..].starts_with(|c: char| c.is_ascii_uppercase());
                let number = NUMBERS.contains(&name);
                if of_the_runtime && after.starts_with('(') && !number && !before.ends_with("check!(") {
                    found.insert(name.to_owned());
                }
            }
        }
    }
}

#[test]
fn every_call_that_is_not_checked_has_a_reason() {
    let mut found = BTreeSet::new();
    unchecked(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 40, "{found:?}");
    for name in found {
        let known = UNCHECKED.iter().any(|(_, names)| names.contains(&name.as_str()));
        assert!(
            known,
            "{name} is called without `check!`: say in UNCHECKED why no host function comes to it"
        );
    }
}

pub(crate) fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands between two texts, of which the second comes next after the first.
pub(crate) fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("there is no {start:?}"));
    rest.split_once(end).unwrap_or_else(|| panic!("there is no {end:?} after {start:?}")).0
}

/// The names of the functions whose lines begin with one of these texts.
fn functions(text: &str, starts: &[&str]) -> BTreeSet<String> {
    let after = |line: &str| starts.iter().find_map(|start| Some(line.strip_prefix(start)?.to_owned()));
    let name = |rest: String| rest.split(['(', '<']).next().unwrap().to_owned();
    text.lines().filter_map(after).map(name).collect()
}

/// Methods that only a [`StreamRef`](cuda_safe::stream::StreamRef) has: rare ones, which a program calls
/// through `as_stream`.
const ONLY_OF_THE_VIEW: [&str; 6] = [
    "capture_id",
    "is_capturing",
    "launch_host_fn_with_sync",
    "signal_external_semaphores",
    "sm_resource",
    "wait_external_semaphores",
];

#[test]
fn every_method_of_a_stream_is_a_method_of_each_type_of_streams() {
    let mut of_the_view = BTreeSet::new();
    for path in files_of_the_crate() {
        let source = std::fs::read_to_string(path).unwrap();
        for part in source.split("\nimpl").skip(1) {
            let (head, body) = part.split_once("{\n").unwrap_or_default();
            if head.trim_start_matches("<'a>").trim().starts_with("StreamRef<") {
                let body = body.split("\n}\n").next().unwrap();
                of_the_view.extend(functions(body, &["    pub fn ", "    pub unsafe fn "]));
            }
        }
    }
    assert!(of_the_view.len() > 20, "{of_the_view:?}");
    let methods = read("cuda-safe/src/stream/methods.rs");
    let mut of_all = functions(&methods, &["            pub fn ", "            pub unsafe fn "]);
    let attributes = read("cuda-safe/src/stream/attributes.rs");
    of_all.extend(functions(between(&attributes, "\nforward! {", "\n}\n"), &["    fn "]));
    let missing: Vec<_> = of_the_view.difference(&of_all).map(String::as_str).collect();
    assert_eq!(missing, ONLY_OF_THE_VIEW, "`stream_methods!` or `forward!` has each other one");
}

#[test]
fn the_number_of_parameters_is_the_same_everywhere() {
    let most = read("cuda-kernels/build/src/compiler/prototype.rs");
    let most: usize = between(&most, "MOST_PARAMETERS: usize = ", ";").parse().unwrap();
    let arguments = read("cuda-safe/src/launch/arguments.rs");
    let tuples = between(&arguments, "macro_rules! tuples", "\n}\n").matches("(A").count();
    let macros = read("cuda-safe/src/launch/macros.rs");
    let indices = between(&macros, "[0 1 ", "]").split(' ').count() + 2;
    assert_eq!((tuples, indices), (most, most), "MOST_PARAMETERS is {most}");
    let sentences = [
        (&macros, format!("at most {most} parameters")),
        (&arguments, format!("a tuple of up to {most} types")),
        (&arguments, format!("a tuple of up to {most} [`ByValue`]")),
        (&read("cuda-kernels/build/src/lib.rs"), format!("at most {most} parameters")),
    ];
    for (text, sentence) in sentences {
        assert!(text.contains(&sentence), "no file says {sentence:?}");
    }
}

#[test]
fn the_versions_are_the_same_everywhere() {
    let versions = read("cuda-sys/build/src/version.rs");
    let known: Vec<(u32, u32)> = between(&versions, "KNOWN_VERSIONS", "];")
        .split("Version::new(")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap().split_once(", ").unwrap())
        .map(|(major, minor)| (major.parse().unwrap(), minor.parse().unwrap()))
        .collect();
    let tested = read("cuda-sys/tests/headers/bindings.rs");
    let cfgs: Vec<_> = known
        .iter()
        .map(|(major, minor)| format!("cfg!(cudart_{major}_{minor}), {}", major * 1000 + minor * 10))
        .collect();
    for cfg in &cfgs {
        assert!(tested.contains(cfg), "cuda-sys/tests/headers/bindings.rs lacks {cfg}");
    }
    assert_eq!(tested.matches("cfg!(cudart_").count(), cfgs.len(), "bindings.rs has others");
    let ((oldest, of), (newest, to)) = (known[0], known[known.len() - 1]);
    let sentences = [
        ("CHANGELOG.md", format!("CUDA {oldest}.{of} to {newest}.{to}")),
        ("cuda-safe/docs/support.md", format!("| {oldest}.{of} to {newest}.{to}. ")),
        ("ci/headers.txt", format!("\n{oldest}.{of} ")),
        ("ci/headers.txt", format!("\n{newest}.{to} ")),
    ];
    for (file, sentence) in sentences {
        assert!(read(file).contains(&sentence), "{file} does not say {sentence:?}");
    }
}

/// The names of an enum's numbers in the headers. Reserved ones and the count are no values of a program.
fn numbers_of<'a>(headers: &'a str, name: &str) -> Vec<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let of_enum = headers.split("enum ").skip(1).find(|rest| {
        let head = rest.split('{').next().unwrap_or_default().trim_end();
        head.ends_with(name) && head.chars().all(|c| is_word(c) || c.is_whitespace())
    });
    let body = of_enum.and_then(|rest| rest.split(['{', '}']).nth(1)).unwrap_or_default();
    // A number begins its line. What else does is in a comment.
    let first = |line: &'a str| line.trim_start().split(|c| !is_word(c)).next();
    let numbers = body.lines().filter(|line| line.contains('=')).filter_map(first);
    numbers.filter(|it| it.starts_with("cuda") && !it.contains("Reserved")).collect()
}

/// A type of the crate that stands for an enum of C, `pub struct NodeKind(sys::cudaGraphNodeType)`, has a
/// constant for each number that the headers name.
#[test]
fn every_number_of_an_enum_has_a_constant() {
    let folder = std::env::split_paths(env!("CUDART_INCLUDE")).next().unwrap();
    let headers: String = ["driver_types.h", "cuda_runtime_api.h"]
        .map(|file| String::from_utf8_lossy(&std::fs::read(folder.join(file)).unwrap()).into_owned())
        .concat();
    let (mut types, mut missing) = (0, Vec::new());
    for path in files_of_the_crate() {
        let source = std::fs::read_to_string(&path).unwrap();
        for part in source.split("\npub struct ").skip(1) {
            let line = part.lines().next().unwrap();
            let Some((_, name)) = line.strip_suffix(");").and_then(|line| line.split_once("(sys::")) else {
                continue;
            };
            let numbers = numbers_of(&headers, name);
            types += usize::from(!numbers.is_empty());
            let has = |number: &str| source.contains(&format!("sys::{number})"));
            missing.extend(numbers.into_iter().filter(|number| !has(number)));
        }
    }
    assert!(types >= 9, "only {types} types were found");
    assert!(missing.is_empty(), "give these a constant, behind a cfg of their version: {missing:#?}");
}

/// The table of operations of nodes names each operation once.
#[test]
fn every_operation_of_a_node_is_in_the_table() {
    let source = read("cuda-safe/src/graph/node/mod.rs");
    let mut operations = BTreeSet::new();
    for names in source.lines().filter_map(|line| line.strip_prefix("pub use ")) {
        let names = names.split_once("::").unwrap().1;
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        operations.extend(names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())));
    }
    let rows = source.lines().filter(|line| line.starts_with("//! | [`"));
    let of_row = |row: &str| -> Vec<String> {
        row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let named: Vec<_> = rows.flat_map(of_row).collect();
    assert_eq!(named.iter().map(String::as_str).collect::<BTreeSet<_>>(), operations);
    assert_eq!(named.len(), operations.len(), "one is there twice");
}

pub(crate) fn files_of_the_crate() -> Vec<PathBuf> {
    files_of(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

pub(crate) fn files_of(folder: PathBuf) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}
