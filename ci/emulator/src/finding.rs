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
use serde_json::{Value, json};

use crate::config;
use crate::exec::{CodeLine, ThreadLine};
use crate::fidelity;
use crate::host_line::{HostLine, StackFrame, demangled};
use crate::suppression;

/// The subject of a finding. `suppression::KINDS` has their names, in this order.
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
        f.write_str(&suppression::KINDS.get(*self as usize).copied().unwrap_or_default().replace('-', " "))
    }
}

/// One operation, call, thread or allocation that takes part in a finding.
#[derive(Debug)]
pub(crate) struct Involved {
    pub(crate) what: String,
    pub(crate) line: HostLine,
    /// The instruction of a kernel.
    code: Option<CodeLine>,
    /// The thread and the block that executed it.
    thread: Option<[[u32; 3]; 2]>,
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
        self.parts.push(Involved { what: what.into(), line, code: None, thread: None });
        self
    }

    /// Adds a thread of a kernel.
    pub(crate) fn thread(self, what: impl Into<String>, at: ThreadLine) -> Self {
        self.part(what, HostLine::NONE).at(at)
    }

    /// The thread that the last part is about.
    pub(crate) fn at(mut self, at: ThreadLine) -> Self {
        if let Some(part) = self.parts.last_mut() {
            part.thread = Some([at.thread, at.block]);
        }
        self.code(Some(at.code))
    }

    /// The instruction of a kernel that the last part is about.
    pub(crate) fn code(mut self, code: Option<CodeLine>) -> Self {
        if let Some(part) = self.parts.last_mut() {
            part.code = code;
        }
        self
    }

    /// Adds the running call.
    pub(crate) fn here(self, call: &str) -> Self {
        self.part(call, HostLine::now())
    }

    /// Reports it, unless the program's owner has suppressed it.
    pub(crate) fn report(&self) {
        let mut text = format!("CUDA emulator: {}: {}\n", self.subject, self.what);
        let mut parts = Vec::new();
        let mut lines = Vec::new();
        for part in &self.parts {
            // Writing to a string does not fail.
            let _ = write!(text, "    {}", part.what);
            let frames = part.line.frames();
            for (depth, frame) in frames.iter().enumerate() {
                let _ = write!(text, "{} {frame}", if depth == 0 { ", at" } else { "\n        from" });
            }
            text.push('\n');
            lines.extend(frames.iter().filter_map(|it| Some((it.file.clone()?, it.line?))));
            lines.extend(part.code.iter().filter_map(|it| it.source.clone()));
            parts.push(part.json(&frames));
        }
        if !self.advice.is_empty() {
            let _ = writeln!(text, "    {}", self.advice);
        }
        let subject = self.subject.to_string();
        let suppressed = suppression::find(&subject, &lines);
        let mut json = json!({
            "finding": subject, "what": self.what, "parts": parts, "advice": self.advice,
            "pid": std::process::id(),
        });
        let mut state = state();
        match suppressed {
            Some(it) => {
                json["suppressed"] = json!({ "line": it.number, "reason": it.reason });
                state.suppressed += 1;
            }
            None => {
                eprint!("{text}");
                *state.counts.entry(self.subject).or_default() += 1;
            }
        }
        state.write(&json);
    }
}

impl Involved {
    fn json(&self, frames: &[StackFrame]) -> Value {
        let stack = frames.iter().map(|frame| {
            let mut it = json!({ "file": frame.file, "line": frame.line, "function": frame.function });
            if let Some((object, offset)) = &frame.object {
                (it["object"], it["offset"]) = (json!(object), json!(offset));
            }
            it
        });
        let mut out = json!({ "what": self.what, "stack": stack.collect::<Vec<_>>() });
        if let Some(code) = &self.code {
            let (file, line) = code.source.clone().unzip();
            let function = demangled(&code.function);
            out["code"] = json!({ "file": file, "line": line, "ptx": code.ptx, "function": function });
        }
        if let Some([thread, block]) = self.thread {
            (out["thread"], out["block"]) = (json!(thread), json!(block));
        }
        out
    }
}

/// Writes what is no mistake of the program, but explains what it does.
pub(crate) fn note(what: &str, line: HostLine, code: &CodeLine) {
    let part = Involved { what: "the launch".to_owned(), line, code: Some(code.clone()), thread: None };
    let frames = line.frames();
    let at = frames.first().map_or_else(String::new, |frame| format!(", launched at {frame}"));
    eprintln!("CUDA emulator: note: {what}{at}");
    state().write(&json!({ "note": what, "parts": [part.json(&frames)], "pid": std::process::id() }));
}

/// The findings so far, and the file that gets them.
#[derive(Debug)]
struct FindingLog {
    counts: BTreeMap<Subject, u64>,
    suppressed: u64,
    file: Option<File>,
}

impl FindingLog {
    /// Gives the file a line. Many processes may have it open: a line is written at once.
    fn write(&mut self, json: &Value) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(format!("{json}\n").as_bytes())
        {
            eprintln!("CUDA emulator: CUDA_EMULATOR_REPORT: {error}");
        }
    }
}

fn state() -> MutexGuard<'static, FindingLog> {
    static STATE: OnceLock<Mutex<FindingLog>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("CUDA_EMULATOR_REPORT")?;
        let opened = File::options().create(true).append(true).open(&path);
        opened.map_err(|error| eprintln!("CUDA emulator: CUDA_EMULATOR_REPORT: {error}")).ok()
    };
    STATE
        .get_or_init(|| Mutex::new(FindingLog { counts: BTreeMap::new(), suppressed: 0, file: open() }))
        .lock()
}

/// The variables in which launchers of several processes give each its number.
const RANKS: [&str; 5] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"];

/// This process, for tools.
fn process() -> Value {
    let rank = RANKS.iter().find_map(|name| std::env::var(name).ok());
    let command: Vec<_> = std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect();
    json!({ "pid": std::process::id(), "command": command, "rank": rank })
}

/// Gives the file a line at the start of the process, so that a process that crashes is known as well.
pub(crate) fn begin() {
    state().write(&json!({ "process": process() }));
}

/// Prints the number of findings, if there are any, and what the process did that is only approximate or was
/// not checked. The file gets a line for the process.
pub(crate) fn sum_up() {
    let mut state = state();
    let (all, suppressed): (u64, _) = (state.counts.values().sum(), state.suppressed);
    let mut each: Vec<_> =
        state.counts.iter().map(|(subject, count)| format!("{subject}: {count}")).collect();
    if suppressed > 0 {
        each.push(format!("suppressed: {suppressed}"));
    }
    if !each.is_empty() {
        eprintln!("CUDA emulator: findings: {all} ({})", each.join(", "));
    }
    let [approximate, unchecked] = fidelity::noted();
    let lists = [("approximate", &approximate), ("not checked", &unchecked)].map(|(title, list)| {
        let told: Vec<_> = list.iter().filter(|it| **it != fidelity::ORDER).copied().collect();
        (!told.is_empty()).then(|| format!("{title}: {}", told.join(", ")))
    });
    let both: Vec<_> = lists.into_iter().flatten().collect();
    if !both.is_empty() {
        eprintln!("CUDA emulator: {}", both.join("; "));
    }
    let counts: BTreeMap<_, _> =
        state.counts.iter().map(|(subject, count)| (subject.to_string(), *count)).collect();
    state.write(&json!({
        "process": process(), "findings": counts, "suppressed": suppressed, "approximate": approximate,
        "not_checked": unchecked,
    }));
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
    let checked = config::check(std::env::vars_os().map(|it| it.0), |name| std::env::var_os(name));
    if let Err(message) = checked.and_then(|()| suppression::load()) {
        eprintln!("CUDA emulator: {message}");
        // SAFETY: nothing of the program has run yet.
        unsafe { libc::_exit(2) };
    }
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
