//! The abstract interpreter: transfer functions, and the fixpoint iteration that applies them.

mod analysis;
mod fixpoint;
mod interpreter;
mod transfer;
mod unroll;

pub(crate) use analysis::{Access, Analysis, Doubt, FARTHEST};
pub(crate) use interpreter::{GaveUp, Interpreter};
