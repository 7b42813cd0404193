//! The abstract interpreter: transfer functions, and the fixpoint iteration that applies them.

mod analysis;
mod candidates;
mod fixpoint;
mod interpreter;
mod partition;
mod transfer;
mod unroll;
mod widening;

pub(crate) use analysis::{Access, Analysis, Doubt, FARTHEST};
pub(crate) use interpreter::{GaveUp, Interpreter};
