//! draft
mod flow;
mod form;
mod graph;
mod launch;
mod lower;
mod ptx;
mod slice;
mod state;
mod step;
mod verdict;
pub use launch::{Argument, Launch};
pub use lower::{SyntaxError, kernels};
pub use slice::{Kernel, NotASlice, Parameter};
pub use verdict::{BUDGET, Bytes, Memory, Need, Proof, Refusal, Verdict, prove, prove_within};
// Tests share files with the crate's examples.
#[cfg(test)]
extern crate self as cuda_proof;
#[cfg(test)]
mod tests;
