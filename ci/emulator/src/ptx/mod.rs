//! Reads PTX, the published assembly language that nvcc embeds in programs, into a syntax tree.
//!
//! [`token`] cuts the text, [`mod@parse`] reads modules and declarations, `body` reads the statements of
//! functions, and [`ast`] holds the result. The reader does not know the instructions: an unknown opcode is
//! read like any other and reported only by a kernel that meets it. `check` finds errors that every compiler
//! refuses.

pub(crate) mod ast;
mod body;
mod check;
pub(crate) mod parse;
pub(crate) mod token;

pub(crate) use ast::{Function, Instruction, Module, Operand, Space, Statement, Type, Variable};
pub(crate) use check::check;
#[cfg(test)]
pub(crate) use check::opcodes;
pub(crate) use parse::parse;

/// An error in PTX text, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Line of the PTX text, from 1.
    pub(crate) line: u32,
    /// The text found and the text expected.
    pub(crate) message: String,
}

impl core::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}

impl core::error::Error for SyntaxError {}
