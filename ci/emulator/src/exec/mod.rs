//! Runs kernels: PTX functions lowered once, then interpreted a warp at a time.
//!
//! [`mod@lower`] makes a [`program`] of a kernel, [`launch`] holds its shape and arguments, and [`kernel`]
//! runs it as a [`env::Task`] in bounded steps. The machine around it is an [`env::Env`].

pub(crate) mod address_map;
mod barrier;
mod block;
mod builtin;
mod bulk;
mod bytes;
mod cluster;
mod collective;
pub(crate) mod env;
mod fault;
pub(crate) mod file;
mod flow;
pub(crate) mod geometry;
pub(crate) mod image;
mod kernel;
mod later;
pub(crate) mod launch;
pub(crate) mod lower;
mod matrix;
mod mbarrier;
mod memory;
mod near;
pub(crate) mod number;
mod order;
mod pending;
mod polls;
mod printf;
pub(crate) mod program;
mod races;
pub(crate) mod rounding;
mod run;
pub(crate) mod runtime;
mod skipped;
mod skips;
mod stack;
pub(crate) mod tensor;
mod tile;
mod warp;
mod wgmma;
mod workers;

pub(crate) use env::{AccessKind, Poll};
pub(crate) use fault::{CodeLine, Fault, Mistake, Refused, Report, ThreadLine};
pub(crate) use kernel::Kernel;
pub(crate) use launch::Launch;
pub(crate) use lower::{Addresses, lower};
pub(crate) use program::Program;

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    clippy::precedence,
    clippy::double_comparisons,
    reason = "the tests compute what kernels compute"
)]
mod tests;
