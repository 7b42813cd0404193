//! `two_streams`: right by default, refused with both call sites under `Policy::Error`, wrong without the
//! tracker.
//!
//! The test runs the programs that cargo built. In a bundle on another machine, `EXAMPLES_DIR` names
//! their folder.
//!
//! Not under sanitizers: it starts programs, which are checked by themselves.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

const SOURCE: &str = include_str!("../../two_streams/main.rs");

fn run(mode: &[&str], variables: &[(&str, &str)]) -> Output {
    // cargo builds it into the folder above that of this program.
    let built = || env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let program = env::var_os("EXAMPLES_DIR").map_or_else(built, PathBuf::from).join("two_streams");
    let mut command = Command::new(&program);
    command.args(mode).env_remove("CUDA_SAFE_HAZARDS").envs(variables.iter().copied());
    command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the call site of this text in the program's source, as errors write it.
fn place(wanted: &str) -> String {
    let lines: Vec<_> = SOURCE.lines().enumerate().filter(|(_, line)| line.contains(wanted)).collect();
    let [(line, _)] = lines[..] else { panic!("{wanted} is not in one line: {lines:?}") };
    format!("two_streams/main.rs:{}:", line + 1)
}

fn assert_names_both_places(output: &Output) {
    let stderr = text(&output.stderr);
    assert!(!output.status.success(), "{stderr}");
    let earlier = [place("launch!(double_values"), place("memcpy_async(&mut h_doubled")];
    assert!(earlier.iter().any(|place| stderr.contains(place)), "none of {earlier:?} in: {stderr}");
    let later = place("launch!(add_one");
    assert!(stderr.contains(&later), "no {later} in: {stderr}");
}

#[test]
fn the_tracker_orders_the_two_streams() {
    let output = run(&[], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("65536 of 65536 elements are right"), "{}", text(&output.stdout));
}

#[test]
fn policy_error_names_both_source_lines() {
    assert_names_both_places(&run(&["report"], &[]));
}

#[test]
fn the_environment_can_choose_policy_error() {
    assert_names_both_places(&run(&[], &[("CUDA_SAFE_HAZARDS", "error")]));
}
