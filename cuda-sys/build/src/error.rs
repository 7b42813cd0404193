//! The error of this library: lines of text for the person who runs cargo.

use std::fmt;
use std::path::Path;

/// The result of all fallible functions of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a build stops, and the remedy: a summary line, then details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    lines: Vec<String>,
}

impl Error {
    /// Returns an error of one line.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()] }
    }

    /// Returns an error for an input or output error and its path.
    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// Returns the error with one more line of detail.
    #[must_use]
    pub(crate) fn detail(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Prints the error for cargo: one `cargo::error` for each line. The build fails when the script ends.
    ///
    /// End it with success: after another exit code cargo prints all of its output again.
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
