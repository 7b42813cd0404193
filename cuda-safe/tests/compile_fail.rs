//! Forbidden programs do not compile, and the compiler explains why: one file for each forbidden act, and
//! beside it the compiler's words. `COMPILE_FAIL=write` writes these.
//!
//! Not in the bundle: it needs the compiler.
//!
//! The programs are compiled with the library that cargo has built for this test. The crate `trybuild` has
//! cargo build it again, with all that it stands on: a minute of processor time.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs, thread};

/// The package's folder.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The programs' folder in it.
const PROGRAMS: &str = "tests/compile_fail";
/// The words before the types that implement a trait.
const LISTS: [&str; 2] = ["the following other types implement", "the following types implement"];
/// The crates that the programs name.
const CRATES: [&str; 2] = ["cuda_safe", "bytemuck"];

#[test]
fn what_must_not_compile_does_not() {
    let libraries = libraries();
    let mut programs: Vec<PathBuf> =
        fs::read_dir(Path::new(ROOT).join(PROGRAMS)).unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    assert!(programs.len() > 100, "{programs:?}");
    let waiting = Mutex::new(programs.iter());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                // The lock is free while the program is compiled.
                while let Some(program) = { waiting.lock().unwrap().next() } {
                    if let Err(said) = check(program, &libraries) {
                        wrong.lock().unwrap().push(said);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} programs:\n{}", wrong.len(), programs.len(), wrong.join("\n"));
}

/// Returns the compiler's arguments for the libraries that this test is built with.
fn libraries() -> Vec<String> {
    let built = cuda_testing::child::cargo()
        .args(["build", "--offline", "--test", "compile_fail", "--message-format", "json"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = String::from_utf8(built.stdout).unwrap();
    let file = |name: &str| {
        // The library, and not a test or a build script of the same package.
        let words = format!("\"kind\":[\"lib\"],\"crate_types\":[\"lib\"],\"name\":\"{name}\"");
        let mut lines = said.lines().filter(|line| line.contains(&words) && line.contains("\"test\":false"));
        let line = lines.next_back().unwrap_or_else(|| panic!("cargo built no {name}: {said}"));
        let files = line.split_once("\"filenames\":[\"").and_then(|(_, rest)| rest.split_once('"'));
        files.unwrap_or_else(|| panic!("no file of {name}: {line}")).0.to_owned()
    };
    let folder = env::current_exe().unwrap();
    let mut arguments = vec!["-L".to_owned(), format!("dependency={}", folder.parent().unwrap().display())];
    for name in CRATES {
        arguments.extend(["--extern".to_owned(), format!("{name}={}", file(name))]);
    }
    arguments
}

/// Compiles a program, and compares what the compiler says with the file beside it.
fn check(program: &Path, libraries: &[String]) -> Result<(), String> {
    let name = program.file_name().unwrap().to_str().unwrap();
    let built = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition", "2024", "--emit", "metadata", "--diagnostic-width", "140", "-o"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("rmeta"))
        .args(libraries)
        .arg(format!("cuda-safe/{PROGRAMS}/{name}"))
        // The library was compiled there, and its sources are shown.
        .current_dir(Path::new(ROOT).parent().unwrap())
        .output()
        .unwrap();
    if built.status.success() {
        return Err(format!("{name} compiles"));
    }
    let said = without_places(&String::from_utf8_lossy(&built.stderr));
    let file = program.with_extension("stderr");
    let expected = fs::read_to_string(&file).unwrap_or_default();
    if said == expected {
        return Ok(());
    }
    if env::var_os("COMPILE_FAIL").is_some_and(|word| word == "write") {
        fs::write(&file, said).unwrap();
        return Ok(());
    }
    Err(format!("{name}: the compiler said\n{said}\nwhere {} has\n{expected}", file.display()))
}

/// Removes from the compiler's messages what differs between machines and with lines of the library.
fn without_places(said: &str) -> String {
    let mut text = String::new();
    for message in said.split_terminator("\n\n") {
        let first = message.lines().next().unwrap_or_default();
        let is_summary =
            ["error: aborting due to ", "For more information about ", "Some errors have detailed "]
                .iter()
                .any(|start| first.starts_with(start));
        if !is_summary && !first.is_empty() {
            let _ = write!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, of_message(message));
        }
    }
    text
}

/// As [`without_places`], of one message. Its lines have a margin with the numbers of source lines, which is
/// as wide as the longest of them. Excerpts of the library's files below notes are left out, and so are lists
/// of types that implement a trait: both change with the library, and the reason does not.
fn of_message(message: &str) -> String {
    // The spaces and the number before a source line.
    let number =
        |line: &str| line.find(|sign: char| sign != ' ' && !sign.is_ascii_digit()).unwrap_or(line.len());
    let digits = |line: &str| line[..number(line)].trim().len();
    let mut lines: Vec<String> = Vec::new();
    let (mut is_elsewhere, mut is_list) = (false, false);
    let mut margin = 0;
    for line in message.lines() {
        let rest = line.trim_start();
        if let Some(path) = rest.strip_prefix("--> ").or_else(|| rest.strip_prefix("::: ")) {
            margin = line.len() - rest.len();
            is_list = false;
            let path = local(path);
            is_elsewhere = !path.starts_with(PROGRAMS);
            let path =
                if is_elsewhere { path.split_once(':').map_or(&*path, |(file, _)| file) } else { &path };
            lines.push(format!("{}{path}", &line[..margin + 4]));
        } else if !rest.contains("has been written to") && !rest.contains("using `--verbose`") {
            is_elsewhere &=
                rest.starts_with(|sign: char| sign == '|' || sign == '.' || sign.is_ascii_digit());
            is_list &= line.starts_with("        ");
            if !is_elsewhere && !is_list {
                lines.push(line.trim_end().replace("@cuda-safe/", "@$DIR/"));
            }
            is_list |= LISTS.iter().any(|words| rest.contains(words));
        }
    }
    let widest = lines.iter().map(|line| digits(line)).max().unwrap_or_default();
    let cut = " ".repeat(margin.saturating_sub(widest));
    let mut text = String::new();
    let mut is_note = false;
    for line in lines {
        is_note =
            line.starts_with("note:") || line.starts_with("help:") || is_note && line.starts_with("      ");
        let (start, rest) = line.split_at(if line.starts_with("...") { 3 } else { 0 });
        let rest = if is_note { rest } else { rest.strip_prefix(cut.as_str()).unwrap_or(rest) };
        let _ = writeln!(text, "{start}{rest}");
    }
    text
}

/// Returns a file's name in the package, or in Rust's own sources.
fn local(path: &str) -> String {
    match path.split_once("/library/") {
        Some((start, rest)) if start.starts_with('/') => format!("$RUST/{rest}"),
        _ => path.strip_prefix("cuda-safe/").unwrap_or(path).to_owned(),
    }
}
