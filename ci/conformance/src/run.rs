//! Runs cases in processes of their own: no case sees the effects of another one on its process.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::case::{Case, Cases};
use crate::log::{Log, error_name};

/// The line of a child before each case, and after it.
const BEGIN: &str = "case\t";
const END: &str = "answer\t";

/// The beginning of the answer of a case in which the process ends.
pub(crate) const ENDS: &str = "ENDS THE PROCESS";

/// Cases that may share a process, at most.
const BATCH: usize = 24;

/// Runs the cases with these names in this process, and writes their observations to standard output.
pub(crate) fn here(cases: &Cases, ids: &[String]) -> Result<(), String> {
    let mut out = std::io::stdout();
    for id in ids {
        let mut all = cases.list.iter().chain(&cases.helpers);
        let case = all.find(|case| case.id == *id).ok_or(format!("there is no case {id:?}"))?;
        let say = |out: &mut dyn Write, line: String| writeln!(out, "{line}").and_then(|()| out.flush());
        say(&mut out, format!("{BEGIN}{id}")).map_err(|error| error.to_string())?;
        let mut log = Log::default();
        // The log has the set-up call that failed.
        let _ = (case.run)(&mut log);
        // SAFETY: takes nothing.
        log.fact("last", error_name(unsafe { cuda_sys::cudaGetLastError() }));
        say(&mut out, format!("{END}{}", log.line())).map_err(|error| error.to_string())?;
        // SAFETY: takes nothing.
        if unsafe { cuda_sys::cudaDeviceSynchronize() } != cuda_sys::cudaSuccess {
            break;
        }
    }
    // Destructors and exit handlers are not needed, and might hang in a ruined context.
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Where a helper finds what the case hands it.
const HANDED: &str = "CONFORMANCE_HANDED";

/// This program, for cases in a process of their own.
///
/// Without the driver's cache of compiled code: code that is in it is not compiled again, so that the
/// compiler has nothing to report, and an answer would depend on the runs before.
fn command() -> Command {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.arg("--here").env("CUDA_CACHE_DISABLE", "1");
    // Some cases race on purpose, and the answers are those of H200s.
    command.env("CUDA_EMULATOR_RACES", "0").env("CUDA_EMULATOR_DEVICE", "h200x2");
    command
}

/// Starts a helper in a process of its own, waits for it, and gives its answer.
pub(crate) fn beside(id: &str, handed: &str) -> String {
    let output = command().arg(id).env(HANDED, handed).output();
    let output = output.expect("this program starts again");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = text.lines().find_map(|line| line.strip_prefix(END));
    answer.map_or_else(|| format!("{ENDS} ({})", output.status), str::to_owned)
}

/// The text that the case passed to this helper.
pub(crate) fn handed() -> String {
    std::env::var(HANDED).unwrap_or_default()
}

/// Runs the chosen cases, several processes at a time. Returns their answers by name.
pub(crate) fn all(chosen: &[&Case], jobs: usize, limit: Duration) -> BTreeMap<String, String> {
    let mut queue = VecDeque::<Vec<String>>::new();
    let mut open = false;
    for case in chosen {
        match queue.back_mut() {
            Some(batch) if open && !case.alone && batch.len() < BATCH => batch.push(case.id.clone()),
            _ => queue.push_back(vec![case.id.clone()]),
        }
        open = !case.alone;
    }
    let queue = Mutex::new(queue);
    let answers = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let Some(batch) = queue.lock().expect("nobody panics with it").pop_front() else {
                        return;
                    };
                    let (done, rest) = child(&batch, limit);
                    answers.lock().expect("nobody panics with it").extend(done);
                    if !rest.is_empty() {
                        queue.lock().expect("nobody panics with it").push_front(rest);
                    }
                }
            });
        }
    });
    answers.into_inner().expect("nobody panics with it")
}

/// Runs a batch in one process: what was answered, and what is left for another because this one ended.
fn child(batch: &[String], limit: Duration) -> (Vec<(String, String)>, Vec<String>) {
    let mut child = command()
        .args(batch)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program starts again");
    let (lines, received) = mpsc::channel();
    let output = child.stdout.take().expect("a pipe");
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let mut errors = child.stderr.take().expect("a pipe");
    let complaints = thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text);
        text
    });

    let mut done = Vec::new();
    let mut current = None;
    let mut timed_out = false;
    loop {
        match received.recv_timeout(limit) {
            Ok(line) => {
                if let Some(id) = line.strip_prefix(BEGIN) {
                    current = Some(id.to_owned());
                } else if let Some(answer) = line.strip_prefix(END)
                    && let Some(id) = current.take()
                {
                    done.push((id, answer.to_owned()));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                timed_out = true;
                drop(child.kill());
                break;
            }
        }
    }
    let how = end(&mut child, timed_out);
    drop(reader.join());
    let said = complaints.join().unwrap_or_default();
    if let Some(id) = current {
        let last = said.lines().last().unwrap_or("");
        done.push((id, format!("{how} {last}").trim_end().to_owned()));
    }
    let rest: Vec<_> = batch.iter().skip(done.len()).cloned().collect();
    // A child that failed before its first case would be started for ever.
    if done.is_empty() {
        let why = format!("{how} {}", said.trim().replace('\n', " "));
        return (batch.iter().map(|id| (id.clone(), why.clone())).collect(), Vec::new());
    }
    (done, rest)
}

/// How a process ended in the middle of a case.
fn end(child: &mut Child, timed_out: bool) -> String {
    if timed_out {
        drop(child.wait());
        return "HANGS".to_owned();
    }
    match child.wait() {
        // Whether there is a dump is the machine's choice.
        Ok(status) => format!("{ENDS} ({status})").replace(" (core dumped)", ""),
        Err(error) => format!("{ENDS} ({error})"),
    }
}
