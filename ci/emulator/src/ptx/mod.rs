//! Reads PTX, the published assembly language that nvcc embeds in programs, into a syntax tree.
//!
//! [`token`] cuts the text, [`mod@parse`] reads modules and declarations, `body` reads what stands between a function's
//! braces, and [`ast`] holds the result. Nothing here knows what an instruction does: an unknown opcode is read like
//! any other and reported only by a kernel that meets it. `check` finds what no compiler takes.

pub mod ast;
mod body;
mod check;
pub mod parse;
pub mod token;

pub use ast::{Function, Instruction, Module, Operand, Space, Statement, Type, Variable};
pub use check::check;
pub use parse::parse;

/// Text that is not PTX, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// What was found and what was expected.
    pub message: String,
}

impl core::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.message)
    }
}

impl core::error::Error for SyntaxError {}
