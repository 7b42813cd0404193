//! The observations of a case, in their order.

use std::ffi::CStr;
use std::fmt::Display;

use cuda_sys::{cudaError_t, cudaGetErrorName, cudaSuccess};

/// A call that the case builds on has failed; the log says which.
#[derive(Debug)]
pub(crate) struct Setup;

/// The end of a case.
pub(crate) type Outcome = Result<(), Setup>;

/// The answers of one case.
#[derive(Debug, Default)]
pub(crate) struct Log {
    answers: Vec<String>,
}

impl Log {
    /// Notes a fact.
    pub(crate) fn fact(&mut self, name: &str, value: impl Display) {
        self.answers.push(format!("{name}={value}"));
    }

    /// Notes what a call returned, and hands it on.
    pub(crate) fn code(&mut self, name: &str, code: cudaError_t) -> cudaError_t {
        self.fact(name.strip_prefix("cuda").unwrap_or(name), error_name(code));
        code
    }

    /// Ends the case if a call that it builds on has failed.
    pub(crate) fn need(&mut self, name: &str, code: cudaError_t) -> Outcome {
        if code == cudaSuccess {
            return Ok(());
        }
        self.fact(&format!("needed {name}"), error_name(code));
        Err(Setup)
    }

    /// Notes whether bytes are as expected, and the first one that is not.
    pub(crate) fn bytes(&mut self, name: &str, got: &[u8], want: &[u8]) {
        match got.iter().zip(want).position(|(a, b)| a != b) {
            None if got.len() == want.len() => self.fact(name, "equal"),
            None => self.fact(name, "of another length"),
            Some(at) => self.fact(name, format_args!("differs at {at}")),
        }
    }

    /// Notes whether a destination holds the source, its old bytes, or other ones.
    pub(crate) fn holds(&mut self, got: &[u8], source: &[u8], old: &[u8]) {
        let what = if got == source {
            "the source"
        } else if got == old {
            "what it had"
        } else {
            "something else"
        };
        self.fact("destination holds", what);
    }

    /// All answers in one line.
    pub(crate) fn line(&self) -> String {
        self.answers.join("; ").replace(['\t', '\n'], " ")
    }
}

/// The runtime's name of a code, without the common prefix.
pub(crate) fn error_name(code: cudaError_t) -> String {
    // SAFETY: takes any code and returns null or a string that lives for ever.
    let name = unsafe { cudaGetErrorName(code) };
    if name.is_null() {
        return format!("code {}", code.0);
    }
    // SAFETY: not null, so it is a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let short = name.strip_prefix("cudaError").or(name.strip_prefix("cuda")).unwrap_or(&name);
    short.to_owned()
}

/// Calls a function of the runtime and notes what it returned: under its own name, or under another.
macro_rules! ask {
    ($log:expr, $function:ident($($argument:expr),* $(,)?)) => {
        ask!($log, stringify!($function), $function($($argument),*))
    };
    ($log:expr, $name:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: cases misuse the runtime in ways whose result is known and harmless; that is their purpose.
        let code = unsafe { cuda_sys::$function($($argument),*) };
        $log.code($name, code)
    }};
}

/// Calls a function of the runtime that has to succeed for the case to make sense.
macro_rules! need {
    ($log:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: a well-formed call on memory and handles of the case.
        let code = unsafe { cuda_sys::$function($($argument),*) };
        $log.need(stringify!($function), code)?
    }};
}

pub(crate) use {ask, need};
