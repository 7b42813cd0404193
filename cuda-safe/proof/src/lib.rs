//! Proves which bytes a kernel's launch accesses, from its PTX and the values of the launch.
//!
//! A launch of a CUDA kernel can leave its buffers, so it is `unsafe`, unless something shows that it does
//! not. This crate shows it for many ordinary kernels, unmodified. nvcc's PTX, the grid, the block and the
//! numbers among the arguments give, for each pointer, the bytes that the launch may read and write, and the
//! alignment that the pointer must have. What cannot be proven is refused, with the line of the `.cu` file
//! and the reason.
//!
//! The crate is an abstract interpreter (Cousot and Cousot, "Abstract Interpretation: A Unified Lattice
//! Model", 1977). It contains no CUDA and no `unsafe` code. `cuda-safe/proof/DESIGN.md` in the repository has
//! the rules: what each concludes, why it is sound, and the file that tries to fool it. [`prove`] has an
//! example.
//!
//! # Claim
//! *A proven launch accesses no bytes but those of its needs, shared memory, the stack, constants and
//! variables of the program, each within its bounds.* Values may differ from run to run (a race in a kernel
//! is no violation), a launch may trap or never end, and bytes may remain unwritten: the elements are plain
//! data.
//!
//! # What is trusted
//! - The caller: the slice is that of the code that runs, a whole program without options that change the
//!   meaning of PTX. The launch passes the values of the proof. Pointers lead to the stated memory, which
//!   stays valid until the kernel has ended. What is written through one pointer overlaps no other pointer's
//!   memory. [`Kernel::handles`] are handles of live textures and surfaces. Meanwhile only the kernel changes
//!   the memory, or others by accesses of the same size.
//! - ptxas and the driver keep the meaning of PTX, as NVIDIA's manual has it. They load a value that PTX
//!   loads once only once, if the kernel itself writes that memory in elements of the same size.
//! - The hardware keeps textures and surfaces inside of their arrays. Device addresses are below 2^57, shared
//!   memory has fewer than 2^24 bytes, and no loop has more than 2^66 rounds.
//! - The transfer functions. They are tested against a GPU's answers, two interpreters and random programs,
//!   and not proven by a machine.
//!
//! # The field's word, here
//! | word | here |
//! |---|---|
//! | lattice | the states, ordered by the runs that they allow: `domain::State` has a value for each register, an interval for each symbol, and linear constraints between symbols. There are infinite ascending chains, so loops are widened |
//! | affine expression, symbol | the value of a register: a constant plus multiples of whole numbers (`Affine`). A symbol has one value in a run, and never gets another one |
//! | region | what an address counts from: the memory of a pointer, or a variable (`Region`) |
//! | transfer function | `engine::transfer`: what a step does to a state |
//! | guard, assume | `assume`: a branch, a predicate, `selp`, `min` and `max` add constraints, and intervals by propagation |
//! | bound query | `upper_bound`: positive combinations of constraints (Farkas); none is tried where a witness shows that it is in vain |
//! | projection | `project`: constraints on symbols that no register needs are forgotten |
//! | join | `join_constraints`, `join_values`: what holds on both paths into a block |
//! | trace partitioning | `partition`: states that differ in a flag or a region are not joined, as far as the budget goes |
//! | loop unrolling | `unroll`: rounds that decide by themselves whether another follows |
//! | fixpoint iteration | `fixpoint`: passes over a loop until what its header claims is inductive |
//! | induction variable, candidate invariant | `Claim`, `candidates`: guessed from a first round and from the loop's tests |
//! | inductive check | `is_inductive`: at each back edge, in the pass whose accesses count |
//! | delayed widening, widening threshold, narrowing | `widen`, `USUAL_THRESHOLDS`, `narrow`: intervals of registers |
//! | slicing, liveness, dead code | `lower::slice`, `Block::live`: what feeds no address, guard or access is left out |
//!
//! # Files
//! | file | purpose |
//! |---|---|
//! | `lower` | makes a kernel's slice from the tree that `cuda-ptx` reads: inlines calls, drops the rest |
//! | `ir` | the slice, what each of its operations does, its control flow and its bytes |
//! | `launch.rs` | the values of a launch |
//! | `domain` | the abstract domain |
//! | `engine` | the interpreter, and in `transfer` its transfer functions |
//! | `effort.rs` | the budgets and depths |
//! | `verdict` | needs, checks, and the words of refusals |
//! | `tests` | two interpreters that judge proofs, and the harness of the kernels in `tests/filetests` |

mod domain;
mod effort;
mod engine;
mod ir;
mod launch;
mod lower;
mod verdict;

pub use effort::BUDGET;
pub use ir::{Kernel, NotASlice, Parameter};
pub use launch::{Argument, Launch};
pub use lower::{SyntaxError, kernels, kernels_with_architecture};
pub use verdict::{Bytes, Memory, Need, Proof, Refusal, Verdict, prove, prove_within};

// Not under sanitizers: they use no GPU.
// Tests share files with the crate's examples.
#[cfg(test)]
extern crate self as cuda_proof;
#[cfg(test)]
mod tests;
