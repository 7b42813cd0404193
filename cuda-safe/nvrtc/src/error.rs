//! The errors.

use std::fmt;
use std::panic::Location;

/// The result of all fallible functions of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate, and the place in the program where the failing function was called.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    call_site: &'static Location<'static>,
}

/// What failed. It displays without the call site.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source is wrong. The text is NVRTC's log, with the lines of the source.
    Compile(String),
    /// NVRTC returned another status than success.
    Nvrtc {
        /// The C function.
        api: &'static str,
        /// NVRTC's name of the status.
        name: String,
        /// NVRTC's log, which may be empty.
        log: String,
    },
    /// libnvrtc is not installed, or lacks a function. The text has the places that were looked at.
    Missing(String),
    /// A text has a zero in it, or is not what this crate takes.
    Refused(String),
}

impl Error {
    /// Returns an error of this kind at the caller's location.
    #[track_caller]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, call_site: Location::caller() }
    }

    /// Returns what failed.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns the place in the program where the failing function was called.
    #[must_use]
    pub fn call_site(&self) -> &'static Location<'static> {
        self.call_site
    }

    /// Moves the error to another call site.
    pub(crate) fn at(mut self, call_site: &'static Location<'static>) -> Self {
        self.call_site = call_site;
        self
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compile(log) => write!(f, "NVRTC cannot compile the source:\n{}", log.trim_end()),
            Self::Nvrtc { api, name, log } if log.is_empty() => write!(f, "{api}: {name}"),
            Self::Nvrtc { api, name, log } => write!(f, "{api}: {name}: {}", log.trim_end()),
            Self::Missing(text) | Self::Refused(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at {}", self.kind, self.call_site)
    }
}

impl std::error::Error for Error {}
