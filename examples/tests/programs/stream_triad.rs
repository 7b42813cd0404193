//! The output of `stream_triad`, with a size that is too small to measure speed.
//!
//! The test runs the program that cargo built. In a bundle on another machine, `EXAMPLES_DIR` names
//! its folder.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    // cargo builds it into the folder above that of this program.
    let built = || env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
    let program = env::var_os("EXAMPLES_DIR").map_or_else(built, PathBuf::from).join("stream_triad");
    let mut command = Command::new(&program);
    command.args(arguments).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

#[test]
fn what_makes_no_sense_is_refused() {
    for arguments in [
        &["--arraysize", "1000"][..],
        &["--numtimes", "1"],
        &["--arraysize", "0"],
        &["--arraysize", "many"],
        &["--numtimes"],
        &["--help"],
    ] {
        assert!(!run(arguments).status.success(), "{arguments:?}");
    }
}

#[test]
fn a_rate_of_a_stream_kernel_is_what_it_moves_in_its_best_time() {
    let output = run(&["--arraysize", "8192", "--numtimes", "3", "--csv"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let csv = String::from_utf8(output.stdout).unwrap();
    let mut names = Vec::new();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, times, elements, bytes, rate, least, most, average] = cells[..] else { panic!("{line}") };
        assert_eq!((times, elements, bytes), ("3", "8192", "8"));
        let [rate, least, most, average] =
            [rate, least, most, average].map(|cell| cell.parse::<f64>().unwrap());
        assert!(least > 0.0 && least <= average && average <= most, "{line}");
        let arrays = if matches!(name, "Add" | "Triad") { 3.0 } else { 2.0 };
        let moved = arrays * 8192.0 * 8.0 * 1e-6;
        // The rate is printed to thousandths, the time in whole nanoseconds.
        let rounded = 1e-3 + rate * 1e-9 / least;
        assert!((rate - moved / least).abs() < rounded, "{line}");
        names.push(name);
    }
    assert_eq!(names, ["Copy", "Mul", "Add", "Triad", "Dot"]);
}
