//! What a proof says of a launch.

mod proof;

pub use proof::{Bytes, Memory, Need, Proof, Refusal, Verdict, prove, prove_within};
