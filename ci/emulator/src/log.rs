//! The log of failed calls, and what it calls for each.
#![expect(unsafe_code, reason = "calls functions of the program's")]

use core::ffi::{c_char, c_void};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::sync::LazyLock;

use parking_lot::Mutex;

use crate::error::{Code, name};
use crate::sys::{cudaLogLevel, cudaLogLevelError};

/// The size of the log in bytes, as documented.
const KEPT: usize = 25_600;

/// A function of the program's.
#[derive(Clone, Copy)]
pub(crate) struct LogCallback {
    pub(crate) handle: usize,
    pub(crate) function: unsafe extern "C" fn(*mut c_void, cudaLogLevel, *mut c_char, usize),
    pub(crate) user: usize,
}

pub(crate) struct Log {
    /// The number of the first line that is kept.
    first: u32,
    lines: VecDeque<String>,
    bytes: usize,
    pub(crate) told: Vec<LogCallback>,
    pub(crate) handles: usize,
}

pub(crate) static LOG: Mutex<Log> =
    Mutex::new(Log { first: 0, lines: VecDeque::new(), bytes: 0, told: Vec::new(), handles: 0 });

impl Log {
    pub(crate) fn end(&self) -> u32 {
        self.first.wrapping_add(u32::try_from(self.lines.len()).unwrap_or(u32::MAX))
    }

    fn add(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > KEPT {
            self.bytes -= self.lines.pop_front().map_or(self.bytes, |line| line.len());
            self.first = self.first.wrapping_add(1);
        }
    }

    /// The lines from a place on.
    pub(crate) fn from(&self, place: Option<u32>) -> Vec<&str> {
        let skip = place.map_or(0, |place| place.saturating_sub(self.first));
        self.lines.iter().skip(usize::try_from(skip).unwrap_or(0)).map(String::as_str).collect()
    }
}

/// Writes a line to where `CUDA_LOG_FILE` says, if it does: `stdout`, `stderr`, or a file.
fn write(line: &str) {
    static FILE: LazyLock<Option<OsString>> = LazyLock::new(|| std::env::var_os("CUDA_LOG_FILE"));
    match FILE.as_deref().map(|it| (it.to_str(), it)) {
        None | Some((Some(""), _)) => {}
        Some((Some("stdout"), _)) => print!("{line}"),
        Some((Some("stderr"), _)) => eprint!("{line}"),
        Some((_, path)) => {
            let file = File::options().create(true).append(true).open(path);
            if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
                eprintln!("CUDA emulator: CUDA_LOG_FILE: {error}");
            }
        }
    }
}

/// Logs a failed call, and calls the registered functions on this thread. No lock is held meanwhile.
pub(crate) fn note(call: &str, code: Code) {
    let code = name(code).map_or_else(|| code.0.to_string(), |name| name.to_string_lossy().into_owned());
    let mut line = format!("[CUDA emulator][E] {call}: {code}\n");
    write(&line);
    let told = {
        let mut log = LOG.lock();
        log.add(line.clone());
        log.told.clone()
    };
    line.push('\0');
    let length = line.len() - 1;
    for one in told {
        let mut message = line.clone().into_bytes();
        let user = core::ptr::with_exposed_provenance_mut(one.user);
        // SAFETY: the program has registered the function, for a message that lives while it runs.
        unsafe { (one.function)(user, cudaLogLevelError, message.as_mut_ptr().cast(), length) };
    }
}
