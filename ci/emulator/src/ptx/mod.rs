//! The PTX that nvcc embeds in programs, as a syntax tree.
//!
//! `cuda_ptx` reads the text and finds what each name stands for. `convert` makes the tree of [`ast`] of it,
//! which owns its names. The reader does not know the instructions: an unknown opcode is read like any other
//! and reported only by a kernel that meets it. [`Module::refused`] is the first error that compilers refuse.

pub(crate) mod ast;
mod convert;

pub(crate) use ast::{Function, Instruction, Module, Operand, Space, Statement, Type, Variable};
pub(crate) use convert::parse;
pub(crate) use cuda_ptx::SyntaxError;

#[cfg(test)]
mod tests;
