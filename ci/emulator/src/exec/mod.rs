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
pub mod env;
mod fault;
pub mod file;
mod flow;
pub mod geometry;
pub mod image;
pub mod kernel;
pub mod later;
pub mod launch;
pub mod lower;
pub mod matrix;
pub mod mbarrier;
mod memory;
mod near;
pub mod number;
mod order;
mod pending;
mod polls;
pub mod printf;
pub mod program;
mod races;
pub mod rounding;
mod run;
pub mod runtime;
mod skipped;
mod skips;
mod stack;
pub mod tensor;
pub mod tile;
mod warp;
mod wgmma;
mod workers;

pub use env::{AccessKind, Env, Poll, Region, Step, Task};
pub use fault::{CodeLine, Fault, Mistake, Refused, Report, ThreadLine};
pub use kernel::Kernel;
pub use launch::Launch;
pub use lower::{Addresses, lower};
pub use program::Program;

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
