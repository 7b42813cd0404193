//! A wrong word in any option or variable is refused before the command starts, with the right words: a check
//! that is switched off by one letter finds nothing for ever.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use super::built;

/// For each option of `run` a wrong value, and words of the answer.
const OPTIONS: [(&str, &str, &str); 19] = [
    ("--device", "h300", "expected one of t4, a100, rtx4090, h100, h200, b200 or"),
    ("--device", "h200x65", "a number up to 64"),
    ("--device", "--junit", "expected one of t4, a100"),
    ("--schedule", "later", "expected late, eager, random or random:SEED"),
    ("--schedule", "random:soon", "expected late, eager, random or random:SEED"),
    ("--check", "race", "expected none, or words of races,initcheck,leaks"),
    ("--check", "races,", "expected none, or words of races,initcheck,leaks"),
    ("--check", "none,races", "expected none, or words of races,initcheck,leaks"),
    ("--suppress", "/nowhere/accepted", "No such file"),
    ("--suppress", "WRONG KIND", "expected * or one of race, bounds, barrier, fault"),
    ("--junit", "/nowhere/it.xml", "expected a file to write to: No such file"),
    ("--report", "/nowhere/it", "expected a file to write to: No such file"),
    (
        "--fail-on",
        "races",
        "expected all or none, or words of race,bounds,barrier,fault,initcheck,leak,free,",
    ),
    ("--fail-on", "Race", "expected all or none, or words of race,"),
    ("--fail-on", "kernel", "expected all or none, or words of race,"),
    ("--fail-on", "race,faults", "expected all or none, or words of race,"),
    ("--fail-on", "none,race", "expected all or none, or words of race,"),
    ("--exit-code", "256", "expected a number from 1 to 255"),
    ("--exit-code", "0", "expected a number from 1 to 255"),
];

/// The same for each variable.
const VARIABLES: [(&str, &str, &str); 20] = [
    ("SCHEDULE", "latest", "expected late, eager, random or random:SEED"),
    ("DEVICE", "h20", "expected one of t4, a100"),
    ("DEVICE", "h200x99", "a number up to 64"),
    ("DEVICES", "65", "expected a number from 0 to 64"),
    ("MEMORY", "lots", "expected a number from 0 to"),
    ("BUDGET", "-1", "expected a number from 0 to"),
    ("FAULTS", "on", "expected end or run-on"),
    ("FREE", "never", "expected waits or at-once"),
    ("MANAGED", "no", "expected a number from 0 to 1"),
    ("RACES", "yes", "expected a number from 0 to 1"),
    ("RACES", "", "expected a number from 0 to 1"),
    ("INITCHECK", "2", "expected a number from 0 to 1"),
    ("LEAKS", "true", "expected a number from 0 to 1"),
    ("LIBRARIES", "true", "expected a number from 0 to 1"),
    ("CALLS", "/nowhere/calls", "expected a file to write to: No such file"),
    ("REPORT", "/nowhere/report", "expected a file to write to: No such file"),
    ("SUPPRESS", "WRONG KIND", "expected * or one of race, bounds, barrier, fault"),
    ("EXIT_CODE", "256", "expected a number from 0 to 255"),
    ("VOLATILE", "strong", "expected relaxed or plain"),
    ("RACE", "1", "expected CUDA_EMULATOR_ with one of BUDGET, CALLS"),
];

/// Checks that a command was refused with these words, and has not started what would make a file.
fn is_refused(output: &Output, started: &Path, words: [&str; 2]) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
    assert!(!started.exists(), "{words:?}: the command has started");
}

/// A command of the tool without variables.
fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuda-emulate"));
    command.env_clear().env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// The value, or a file with a kind that no finding has.
fn value<'a>(value: &'a str, accepted: &'a Path) -> &'a str {
    if value == "WRONG KIND" { accepted.to_str().unwrap() } else { value }
}

#[test]
fn every_option_and_variable_refuses_a_wrong_word_before_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (started, accepted) = (folder.path().join("started"), folder.path().join("accepted"));
    std::fs::write(&accepted, "races sum.cu:16  a hint").unwrap();
    let touch = ["--", "/usr/bin/touch", started.to_str().unwrap()];

    let help = tool().args(["run", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let known: BTreeSet<_> =
        help.lines().filter_map(|it| it.strip_prefix("  --")?.split(' ').next()).collect();
    assert_eq!(known, OPTIONS.iter().map(|it| &it.0[2..]).collect(), "options without a wrong word");
    for (option, wrong, words) in OPTIONS.into_iter().chain([("--speed", "fast", "--fail-on")]) {
        let output = tool().args(["run", option, value(wrong, &accepted)]).args(touch).output().unwrap();
        is_refused(&output, &started, [option, words]);
    }

    let page = include_str!("../../../../cuda-safe/docs/environment.md");
    let of_emulator = page.split_once("## Of the emulator").unwrap().1;
    let known: BTreeSet<_> = of_emulator
        .lines()
        .filter_map(|it| it.strip_prefix("| `CUDA_EMULATOR_")?.split('`').next())
        .collect();
    let unknown = "RACE";
    let tried = VARIABLES.iter().map(|it| it.0).filter(|it| *it != unknown).collect();
    assert_eq!(known, tried, "variables without a wrong word");
    for (name, wrong, words) in VARIABLES {
        let name = &*format!("CUDA_EMULATOR_{name}");
        let wrong = value(wrong, &accepted);
        // By the tool, by the tool for CI, and in a program that loads the library.
        let library = built::folder().join("libcudart.so.13");
        let mut plain = Command::new(touch[1]);
        plain.env("LD_PRELOAD", library).arg(touch[2]);
        let (mut one, mut run) = (tool(), tool());
        for command in [&mut plain, one.args(&touch[1..]), run.arg("run").args(touch)] {
            is_refused(&command.env(name, wrong).output().unwrap(), &started, [name, words]);
        }
    }
}
