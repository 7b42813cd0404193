//! The error of a text that is not PTX.

/// An error in PTX text, and its line from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line of the PTX text.
    pub line: u32,
    /// The text that was expected, and the text that was found.
    pub message: String,
}

impl SyntaxError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl core::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}

impl core::error::Error for SyntaxError {}
