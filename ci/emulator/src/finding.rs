//! Findings: what is wrong with the program, in one form for people and one for tools.
//!
//! A finding says what is wrong, lists what took part with the lines of the program, and what to do. Text
//! goes to standard error. With `CUDA_EMULATOR_REPORT=FILE`, the file gets a line of JSON for each. At the
//! end of the process the findings are counted, and with `CUDA_EMULATOR_EXIT_CODE` the process ends with that
//! code if there was a finding and the program itself reports success.
#![expect(unsafe_code, reason = "ends the process")]

use core::ffi::{c_int, c_void};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};

use crate::host_line::HostLine;

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Race,
    /// An access outside of an array.
    Bounds,
    /// A barrier that not all threads of a block reach.
    Barrier,
    Fault,
    Initcheck,
    Leak,
    /// A free of what cannot be freed.
    Free,
    /// A pointer or a range that a call cannot use.
    Pointer,
    /// A call of CUDA in a host function.
    HostFunction,
    /// A call that CUDA permits and that driver 580 gets wrong.
    Driver,
    /// A failed launch whose error nobody read.
    Unread,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Race => "race",
            Self::Bounds => "bounds",
            Self::Barrier => "barrier",
            Self::Fault => "fault",
            Self::Initcheck => "initcheck",
            Self::Leak => "leak",
            Self::Free => "free",
            Self::Pointer => "pointer",
            Self::HostFunction => "host function",
            Self::Driver => "driver",
            Self::Unread => "unread",
        })
    }
}

/// One operation, call or allocation that takes part in a finding.
#[derive(Debug)]
pub(crate) struct Involved {
    pub(crate) what: String,
    pub(crate) line: HostLine,
}

/// Something that is wrong.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) subject: Subject,
    pub(crate) what: String,
    pub(crate) parts: Vec<Involved>,
    /// The remedy.
    pub(crate) advice: &'static str,
}

impl Finding {
    pub(crate) fn new(subject: Subject, what: String, advice: &'static str) -> Self {
        Self { subject, what, parts: Vec::new(), advice }
    }

    /// Of a read of bytes that nobody has written.
    pub(crate) fn unwritten(what: String) -> Self {
        Self::new(Subject::Initcheck, what, "Write the bytes first; new memory has no defined contents.")
    }

    /// Of a pointer, handle or range that a call cannot use.
    pub(crate) fn pointer(call: &str, what: &str) -> Self {
        let advice = "Pass live memory of the kind that the call names, and no more bytes than it has.";
        Self::new(Subject::Pointer, format!("{call}: {what}"), advice).here(call)
    }

    /// Adds something that takes part.
    pub(crate) fn part(mut self, what: impl Into<String>, line: HostLine) -> Self {
        self.parts.push(Involved { what: what.into(), line });
        self
    }

    /// Adds the running call.
    pub(crate) fn here(self, call: &str) -> Self {
        self.part(call, HostLine::now())
    }

    /// Reports it.
    pub(crate) fn report(&self) {
        let mut json = format!("{{\"finding\":{}", quoted(&self.subject.to_string()));
        let mut text = format!("CUDA emulator: {}: {}\n", self.subject, self.what);
        // Writing to a string does not fail.
        let _ = write!(json, ",\"what\":{},\"parts\":[", quoted(&self.what));
        for (number, part) in self.parts.iter().enumerate() {
            let _ = write!(json, "{}{{\"what\":{}", if number > 0 { "," } else { "" }, quoted(&part.what));
            let _ = write!(text, "    {}", part.what);
            let frames = part.line.frames();
            for (depth, frame) in frames.iter().enumerate() {
                let _ = write!(text, "{} {frame}", if depth == 0 { ", at" } else { "\n        from" });
            }
            text.push('\n');
            let _ = write!(json, ",\"stack\":[");
            for (depth, frame) in frames.iter().enumerate() {
                let file = frame.file.as_deref().map_or_else(|| "null".to_owned(), quoted);
                let number = frame.line.map_or_else(|| "null".to_owned(), |line| line.to_string());
                let function = frame.function.as_deref().map_or_else(|| "null".to_owned(), quoted);
                let comma = if depth > 0 { "," } else { "" };
                let _ = write!(json, "{comma}{{\"file\":{file},\"line\":{number},\"function\":{function}");
                if let Some((object, offset)) = &frame.object {
                    let _ = write!(json, ",\"object\":{},\"offset\":{offset}", quoted(object));
                }
                json.push('}');
            }
            json.push_str("]}");
        }
        if !self.advice.is_empty() {
            let _ = writeln!(text, "    {}", self.advice);
        }
        let _ = writeln!(json, "],\"advice\":{}}}", quoted(self.advice));
        eprint!("{text}");
        let mut state = state();
        *state.counts.entry(self.subject).or_default() += 1;
        if let Some(file) = &mut state.file
            && let Err(error) = file.write_all(json.as_bytes())
        {
            eprintln!("CUDA emulator: CUDA_EMULATOR_REPORT: {error}");
        }
    }
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The findings so far, and the file that gets them.
#[derive(Debug)]
struct FindingLog {
    counts: BTreeMap<Subject, u64>,
    file: Option<File>,
}

/// Whether a tool reads the findings.
pub(crate) fn reports_to_file() -> bool {
    std::env::var_os("CUDA_EMULATOR_REPORT").is_some()
        || std::env::var_os("CUDA_EMULATOR_EXIT_CODE").is_some()
}

fn state() -> MutexGuard<'static, FindingLog> {
    static STATE: OnceLock<Mutex<FindingLog>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("CUDA_EMULATOR_REPORT")?;
        let opened = File::options().create(true).append(true).open(&path);
        opened.map_err(|error| eprintln!("CUDA emulator: CUDA_EMULATOR_REPORT: {error}")).ok()
    };
    STATE.get_or_init(|| Mutex::new(FindingLog { counts: BTreeMap::new(), file: open() })).lock()
}

/// Prints the number of findings, if there are any.
pub(crate) fn sum_up() {
    let counts = state().counts.clone();
    let all: u64 = counts.values().sum();
    if all > 0 {
        let each: Vec<_> = counts.iter().map(|(subject, count)| format!("{subject}: {count}")).collect();
        eprintln!("CUDA emulator: findings: {all} ({})", each.join(", "));
    }
}

unsafe extern "C" {
    /// Registers a handler that gets the status with which the process exits.
    safe fn on_exit(handler: extern "C" fn(c_int, *mut c_void), data: *mut c_void) -> c_int;
}

/// The loader calls this before the program's own code registers a handler, so that this one runs last.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    if std::env::var_os("CUDA_EMULATOR_EXIT_CODE").is_some() {
        on_exit(at_exit, core::ptr::null_mut());
    }
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let code = std::env::var("CUDA_EMULATOR_EXIT_CODE").ok().and_then(|code| code.parse::<u8>().ok());
    let Some(code) = code.filter(|_| status == 0 && !crate::thread::forked() && !state().counts.is_empty())
    else {
        return;
    };
    // SAFETY: a null pointer means all streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
    // SAFETY: the process exits, and all other handlers have run.
    unsafe { libc::_exit(c_int::from(code)) };
}
