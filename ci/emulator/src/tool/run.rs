//! `cuda-emulate run [OPTION...] -- COMMAND`: what a project's CI calls.
//!
//! The command and all processes that it starts run on the emulator with all checks. Their reports go to one
//! file. At the end there are a summary, a file for CI systems, and an exit code that a policy decides.

#![expect(unsafe_code, reason = "handles signals")]

use core::ffi::c_int;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;
use std::{env, fs};

use cudart_emulator::{KINDS, check_variables};

use super::summary::Summary;

pub(super) const USAGE: &str = "\
cuda-emulate run [OPTION...] -- COMMAND [ARGUMENT...]

  --device NAME        a100, b200, h100, h200, rtx4090 or t4, with a number of devices: h200x2
  --schedule NAME      late (the default), eager, random, random:SEED
  --check LIST         races,initcheck,leaks (the default: races); none
  --suppress FILE      accepted findings: lines of KIND FILE:LINE REASON
  --junit FILE         writes a report for CI systems
  --report FILE        keeps the findings, a line of JSON each
  --fail-on LIST       the kinds of findings that fail the run: all (the default), none, or race,fault,...
  --exit-code NUMBER   the exit code of such a run, and of each process with a finding: 99
";

/// The options of one run.
struct Options {
    /// Variables for the processes.
    variables: Vec<(&'static str, OsString)>,
    junit: Option<PathBuf>,
    report: Option<PathBuf>,
    suppress: Option<PathBuf>,
    /// The kinds of findings that fail the run, or all.
    fail_on: Option<Vec<String>>,
    code: u8,
    command: Vec<OsString>,
}

/// The checks, and the variables that switch them on.
const CHECKS: [(&str, &str); 3] = [
    ("races", "CUDA_EMULATOR_RACES"),
    ("initcheck", "CUDA_EMULATOR_INITCHECK"),
    ("leaks", "CUDA_EMULATOR_LEAKS"),
];

/// The words of a list with commas: some of these, or one of `alone` without others.
fn words(option: &str, list: &str, of: &[&str], alone: &[&str]) -> Result<Vec<String>, String> {
    let words: Vec<&str> = list.split(',').collect();
    let is_right = |word: &&str| of.contains(word) || alone.contains(word) && words.len() == 1;
    match words.iter().find(|word| !is_right(word)) {
        None => Ok(words.into_iter().map(str::to_owned).collect()),
        Some(wrong) => {
            let of = of.join(",");
            Err(format!("{option} {wrong:?}: expected {}, or words of {of}", alone.join(" or ")))
        }
    }
}

fn read(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options {
        variables: Vec::new(),
        junit: None,
        report: None,
        suppress: None,
        fail_on: None,
        code: 99,
        command: Vec::new(),
    };
    let names = CHECKS.map(|it| it.0);
    let mut checks = vec!["races".to_owned()];
    while let Some(name) = arguments.next() {
        if name == "--" {
            options.command = arguments.collect();
            break;
        }
        let Some(option) = name.to_str().filter(|name| name.starts_with("--")) else {
            options.command = std::iter::once(name).chain(arguments).collect();
            break;
        };
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        let text = value.to_string_lossy().into_owned();
        match option {
            "--device" => options.variables.push(("CUDA_EMULATOR_DEVICE", value)),
            "--schedule" => options.variables.push(("CUDA_EMULATOR_SCHEDULE", value)),
            "--check" => checks = words(option, &text, &names, &["none"])?,
            "--suppress" => options.suppress = Some(whole(value)?),
            "--junit" => options.junit = Some(writable(option, value)?),
            "--report" => options.report = Some(writable(option, value)?),
            "--fail-on" => {
                options.fail_on =
                    Some(words(option, &text, &KINDS, &["all", "none"])?).filter(|it| it[0] != "all");
            }
            "--exit-code" => {
                let code = text.parse().ok().filter(|code| *code > 0);
                options.code =
                    code.ok_or_else(|| format!("{option} {text:?}: expected a number from 1 to 255"))?;
            }
            _ => return Err(format!("{option} is unknown")),
        }
    }
    if options.command.is_empty() {
        return Err("run needs a command".to_owned());
    }
    for (name, variable) in CHECKS {
        let wanted = checks.iter().any(|check| check == name);
        options.variables.push((variable, if wanted { "1" } else { "0" }.into()));
    }
    options.variables.extend(options.suppress.clone().map(|file| ("CUDA_EMULATOR_SUPPRESS", file.into())));
    let given = |name: &str| options.variables.iter().rev().find(|it| it.0 == name).map(|it| it.1.clone());
    check_variables(std::iter::empty(), given).map_err(|error| {
        ["DEVICE", "SCHEDULE", "SUPPRESS"].into_iter().fold(error, |error, name| {
            error.replace(&format!("CUDA_EMULATOR_{name} is"), &format!("--{}", name.to_lowercase()))
        })
    })?;
    Ok(options)
}

/// A file that can be written.
fn writable(option: &str, path: OsString) -> Result<PathBuf, String> {
    let path = whole(path)?;
    let opened = fs::File::options().create(true).append(true).open(&path);
    opened.map_err(|error| format!("{option} {}: expected a file to write to: {error}", path.display()))?;
    Ok(path)
}

/// A path for processes that run elsewhere.
fn whole(path: OsString) -> Result<PathBuf, String> {
    std::path::absolute(&path).map_err(|error| format!("{}: {error}", PathBuf::from(path).display()))
}

/// The process or the group that gets the signals of this one.
static COMMAND: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(signal: c_int) {
    // SAFETY: takes numbers, and may be called in a handler.
    unsafe { libc::kill(COMMAND.load(Ordering::Relaxed), signal) };
}

/// Passes signals that end a process on to the command.
fn passes_signals_on(command: i32) {
    COMMAND.store(command, Ordering::Relaxed);
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: the handler has the required signature, and does nothing that a handler may not.
        unsafe { libc::signal(signal, (pass_on as *const ()).addr()) };
    }
}

/// Runs the command. The folder has the library.
pub(super) fn run(
    arguments: impl Iterator<Item = OsString>,
    folder: PathBuf,
) -> Result<ExitCode, (String, u8)> {
    let options = read(arguments).map_err(|error| (format!("{error}\n\n{USAGE}"), 2))?;
    let kept = options.report.clone();
    let report = kept
        .clone()
        .unwrap_or_else(|| env::temp_dir().join(format!("cuda-emulate-report-{}.jsonl", std::process::id())));
    let wrong = |error: std::io::Error| (format!("{}: {error}", report.display()), 1);
    fs::write(&report, "").map_err(wrong)?;
    let Some((program, rest)) = options.command.split_first() else { return Err((USAGE.to_owned(), 2)) };
    let mut command = Command::new(program);
    command.args(rest).envs(options.variables.iter().map(|(name, value)| (name, value)));
    command.env("LD_LIBRARY_PATH", super::loader_path(folder));
    command.env("CUDA_EMULATOR_REPORT", &report);
    // A test whose process has a finding fails by itself, so that ctest and others name it.
    let every = options.fail_on.is_none();
    if every {
        command.env("CUDA_EMULATOR_EXIT_CODE", options.code.to_string());
    } else {
        command.env_remove("CUDA_EMULATOR_EXIT_CODE");
    }
    // A signal ends the command and what it has started, and the run still has its summary. In a terminal
    // they are of its group anyway, and read from it.
    let in_terminal = std::io::stdin().is_terminal();
    if !in_terminal {
        command.process_group(0);
    }
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        let status = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
        (format!("{}: {error}", program.display()), status)
    })?;
    let id = i32::try_from(child.id()).unwrap_or(0);
    passes_signals_on(if in_terminal { id } else { -id });
    let status = child.wait().map_err(|error| (format!("{}: {error}", program.display()), 1))?;
    let seconds = start.elapsed().as_secs_f64();
    let text = fs::read_to_string(&report).map_err(wrong)?;
    if kept.is_none() {
        // It is in the folder for temporary files.
        let _ = fs::remove_file(&report);
    }
    let summary = Summary::new(&text);
    eprint!("{summary}");
    if let Some(file) = &options.suppress {
        summary.stale(file).into_iter().for_each(|line| eprintln!("cuda-emulate: {line}"));
    }
    if let Some(file) = &options.junit {
        fs::write(file, summary.junit(seconds))
            .map_err(|error| (format!("{}: {error}", file.display()), 1))?;
    }
    // A signal's code is that of a shell.
    let own = status.code().or_else(|| Some(128 + status.signal()?));
    let own = own.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    let fails_on =
        |kind: &str| options.fail_on.as_ref().is_none_or(|list| list.contains(&kind.replace(' ', "-")));
    // A run that has checked nothing must not look like one that has found nothing.
    let is_strict = options.fail_on.as_ref().is_none_or(|list| list.iter().any(|it| it != "none"));
    let fails = summary.kinds().any(fails_on) || summary.is_empty() && is_strict;
    // The command's own failure says more, unless it fails because of a finding.
    Ok(ExitCode::from(if own == 0 && fails { options.code } else { own }))
}
