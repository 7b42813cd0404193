//! Each test of a program that holds streams runs alone.
//!
//! `cudaFree`, allocations, the creation of streams and graphs, and the loading of kernels may wait for a gate of another
//! test and keep its owner from opening it. The emulator does not have this lock of the driver, so the rule is checked here.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

/// The folders of the programs: all of the workspace that run on a GPU and consist of tests.
const FOLDERS: [&str; 3] = ["cuda-safe/tests", "cuda-kernels/tests", "examples/tests"];

/// How a test holds a stream: by a host function, or by a kernel that polls a flag.
const GATES: [&str; 2] = ["Gate::on(", "MappedFlag::new("];

/// Tests that are the other process of a test, which runs alone.
const OTHER_PROCESS: &str = "#[ignore = \"the other process of ";

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let sources = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
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

/// Whether items and comments are all that precedes the value by which a test runs alone.
fn runs_alone(body: &str) -> bool {
    let mut item = false;
    let first = body.lines().map(str::trim_end).find(|line| {
        let text = line.trim_start();
        // A function within the test ends where its brace does.
        item |= text.starts_with("fn ");
        let starts = |start: &&str| text.starts_with(*start);
        let skipped = item || text.is_empty() || ["//", "const ", "use "].iter().any(starts);
        item &= *line != "    }";
        !skipped
    });
    // `let alone = alone();`, `let _alone = variables_alone();`
    first.is_some_and(|line| line.contains("alone = ") && line.ends_with("alone();"))
}

#[test]
fn each_test_of_a_program_with_gates_runs_alone() {
    let mut gated = 0;
    for (path, source) in sources() {
        if path.ends_with("gates.rs") || !GATES.iter().any(|gate| source.contains(gate)) {
            continue;
        }
        gated += 1;
        let all: Vec<_> = tests(&source).filter(|(head, _)| !head.contains(OTHER_PROCESS)).collect();
        for (head, body) in &all {
            // A program of one test is alone, and so is a process that a test has started.
            let other_processes_only = path.ends_with("staged_end.rs");
            assert!(
                all.len() == 1 || other_processes_only || runs_alone(body),
                "{}: this program holds streams, so the test must begin with `let alone = alone();`:\n{head}",
                path.display()
            );
        }
    }
    assert!(gated > 30, "{gated} programs with gates were found");
}

#[test]
fn what_comes_before_is_noticed() {
    assert!(runs_alone(
        "    const N: usize = 3;\n    // Why.\n    let alone = alone();\n    let stream = Stream::new();"
    ));
    assert!(runs_alone("    fn helper() {\n        other();\n    }\n    let _alone = variables_alone();\n"));
    assert!(!runs_alone("    let stream = Stream::new();\n    let alone = alone();\n"));
    assert!(!runs_alone("    fn helper() {\n        let alone = alone();\n    }\n    Stream::new();\n"));
}
