//! The scripts that put programs on the emulator: `ci/emulate` and `ci/runner`.

use std::path::Path;
use std::process::{Command, Output};

/// The folder with `libcudart.so.13`, which `ci/emulate` keeps up to date.
fn folder() -> String {
    let output = Command::new("../emulate").output().expect("ci/emulate starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim().to_owned()
}

fn runner(choice: Option<&str>, program: &[&str]) -> Output {
    folder();
    let mut command = Command::new("../runner");
    command.args(program).env_remove("CUDA_RUNNER").env("LD_LIBRARY_PATH", "/nowhere");
    if let Some(choice) = choice {
        command.env("CUDA_RUNNER", choice);
    }
    command.output().expect("ci/runner starts")
}

const LOADER_PATH: [&str; 3] = ["sh", "-c", "echo $LD_LIBRARY_PATH"];

#[test]
fn the_emulator_comes_first_where_it_is_asked_for_and_not_at_all_where_a_gpu_is() {
    let folder = folder();
    let output = runner(Some("emulator"), &LOADER_PATH);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{folder}:/nowhere"));
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(line, "ci/runner: sh on the emulator (CUDA_RUNNER=emulator)\n");
    let output = runner(Some("gpu"), &LOADER_PATH);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "/nowhere");
    assert!(String::from_utf8_lossy(&output.stderr).contains("on the gpu (CUDA_RUNNER=gpu)"));
}

#[test]
fn the_programs_own_status_comes_through() {
    assert_eq!(runner(Some("emulator"), &["sh", "-c", "exit 7"]).status.code(), Some(7));
}

#[test]
fn without_a_wish_one_line_says_what_was_found() {
    let output = runner(None, &["true"]);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success());
    assert_eq!(line.lines().count(), 1, "{line}");
    let says = ["true on the emulator (no GPU answers)", "true on the gpu (a GPU answers)"];
    assert!(says.iter().any(|words| line.contains(words)), "{line}");
}

#[test]
fn another_wish_is_refused_by_name() {
    let output = runner(Some("both"), &["true"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("CUDA_RUNNER is \"both\""), "{stderr}");
}

/// The scripts of `ci` whose heads have options, and `ci/test`.
#[test]
fn every_script_with_options_refuses_a_wrong_one() {
    let mut tried = Vec::new();
    for entry in std::fs::read_dir("..").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Ok(source) = std::fs::read_to_string(&path) else { continue };
        let own = |line: &str| {
            line.split_once(&format!("ci/{name} "))
                .is_some_and(|it| it.1.trim_start_matches('[').starts_with("--"))
        };
        let head = source.lines().skip(1).take_while(|line| line.starts_with('#'));
        if source.starts_with("#!") && head.filter(|line| own(line)).count() > 0 {
            let output = Command::new(&path).arg("--wrong").output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && text.contains("--wrong"), "{name}: {text}");
            tried.push(name);
        }
    }
    tried.sort();
    assert_eq!(tried, ["bench", "compare", "demo", "first-program", "headers", "setup", "snapshot", "test"]);
}

#[test]
fn another_target_folder_takes_the_build_that_the_user_has() {
    let first = Path::new(&folder()).join("libcudart.so.13").canonicalize().unwrap();
    let elsewhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("elsewhere");
    let _ = std::fs::remove_dir_all(&elsewhere);
    let output = Command::new("../emulate").env("CARGO_TARGET_DIR", &elsewhere).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("building"), "{said}");
    let folder = String::from_utf8(output.stdout).unwrap();
    let second = Path::new(folder.trim()).join("libcudart.so.13").canonicalize().unwrap();
    assert_eq!(first, second);
    assert!(!elsewhere.join("debug").exists(), "something was compiled");
}
