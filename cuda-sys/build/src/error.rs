//! The one error of this library: lines of text for whoever runs cargo.

use std::fmt;
use std::path::Path;

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a build cannot go on, and what to do about it: a first line that stands alone, then details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    lines: Vec<String>,
}

impl Error {
    /// An error of one line.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()] }
    }

    /// An input or output error and the path it happened on.
    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// The same error with one more line of detail.
    #[must_use]
    pub(crate) fn detail(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Prints the error as cargo wants it from a build script: one `cargo::error` for each line.
    pub fn report(&self) {
        for line in &self.lines {
            println!("cargo::error={line}");
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Error {}
