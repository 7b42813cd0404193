//! The output of `bandwidth`, with sizes that are too small to measure speed.
//!
//! The test runs the program that cargo built. In a bundle on another machine, `EXAMPLES_DIR` names
//! its folder.
//!
//! Not under sanitizers: the program that it starts has a kernel that polls a flag.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    // cargo builds it into the folder above that of this program.
    let built = || env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let program = env::var_os("EXAMPLES_DIR").map_or_else(built, PathBuf::from).join("bandwidth");
    let mut command = Command::new(&program);
    command.args(arguments).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// Returns the output of a run that must succeed.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const SMALL: [&str; 8] = ["--size", "64KiB", "--samples", "1", "--copies", "2", "--warmups", "1"];

fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

#[test]
fn every_case_has_a_rate_for_every_size_of_a_sweep() {
    let text = printed(&small(&["--sweep", "--sweep-from", "1KiB", "--json"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    let names: Vec<_> =
        report["cases"].as_array().unwrap().iter().map(|case| case["name"].as_str().unwrap()).collect();
    let listed = printed(&["--list"]);
    let expected: Vec<_> = listed
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| names.contains(&"peer_write") || !name.starts_with("peer"))
        .collect();
    assert_eq!(names, expected);
    assert!(names.len() >= 12);
    for case in report["cases"].as_array().unwrap() {
        let rates = case["rates"].as_array().unwrap();
        let sizes: Vec<_> = rates.iter().map(|rate| rate["bytes"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [1024, 4096, 16384, 65536], "{case}");
        assert!(rates.iter().all(|rate| rate["gb_per_s"].as_f64().unwrap() > 0.0), "{case}");
    }
    let emulated = report["machine"].as_str().unwrap().starts_with("CUDA emulator");
    assert_eq!(report["emulated"], emulated);
}

#[test]
fn the_emulator_says_that_its_numbers_mean_nothing() {
    let output = run(&small(&["--only", "h2d"]));
    let machine = String::from_utf8(output.stdout).unwrap();
    let warned = String::from_utf8(output.stderr).unwrap().contains("the numbers have no meaning");
    assert_eq!(warned, machine.starts_with("CUDA emulator"));
}

#[test]
fn values_and_tables_have_a_line_for_each_case() {
    let csv = printed(&small(&["--only", "d2h", "--only", "device_local", "--csv"]));
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[0], "case,bytes,gb_per_s");
    assert!(
        lines[1].starts_with("d2h,65536,") && lines.last().unwrap().starts_with("device_local,65536,"),
        "{csv}"
    );
    let table = printed(&small(&["--only", "h2d", "--markdown"]));
    assert!(table.contains("| GB/s | 64 KiB |\n|---|--:|\n| host to device, pinned | "), "{table}");
    let table = printed(&small(&["--only", "h2d"]));
    assert!(table.contains("host to device, registered") && table.contains("64 KiB"), "{table}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for arguments in
        [&["--size", "12parsecs"][..], &["--size", "0"], &["--only", "teleport"], &["--json", "--csv"]]
    {
        assert!(!run(arguments).status.success(), "{arguments:?}");
    }
}
