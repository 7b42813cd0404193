//! draft
mod flow;
mod form;
mod graph;
mod launch;
mod lower;
#[doc(hidden)]
pub mod ptx;
mod slice;
mod state;
mod step;
mod verdict;
pub use launch::{Argument, Launch};
pub use lower::{SyntaxError, kernels};
pub use slice::{Kernel, NotASlice, Parameter};
pub use verdict::{BUDGET, Bytes, Memory, Need, Proof, Refusal, Verdict, prove, prove_within};
