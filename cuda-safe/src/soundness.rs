//! Why safe code cannot cause undefined behaviour, and the attempts to break it.
//!
//! The sentences on the [front page](crate) are the model. The proofs stand beside the code that they are
//! about:
//!
//! | claim | proof |
//! |---|---|
//! | conflicting operations are ordered, and the host waits | [`cuda_hazard`], `src/stream/enqueue.rs` |
//! | a graph has no data race, and its memory lives | [`graph`](crate::graph), `src/graph/steps.rs` |
//! | managed memory and variables have no data race | `src/memory/managed.rs`, `src/launch/symbol.rs` |
//! | no buffer outlives its pool | `src/memory/pool/mod.rs` |
//! | no code is unloaded while it runs | `src/library/mod.rs` |
//! | a handle stands for its own crate's kernel | `cuda-kernels/build/src/compiler/names.rs` |
//! | a slice that a host function receives is valid | `src/stream/host_function_with.rs` |
//! | an element has the layout that its kernel sees | `build/src/compiler/agree.rs` of `cuda-kernels` |
//! | memory that a kernel only reads is not written | `build/src/compiler/ptx.rs` of `cuda-kernels` |
//! | a proven launch stays within its arguments | [`proofs`], [`cuda_proof`] |
//! | a pipeline's chunks do not collide | `src/copy/pipeline.rs` |
//!
//! The pages below list the programs that try to break the promise, each with its result and the test that
//! shows it. A test of the crate fails if a test that a page names no longer exists. Nothing here runs, and
//! it stands for no C function.

/// Programs that try to defeat the tracker.
#[doc = include_str!("../docs/hazard-programs.md")]
pub mod hazard_programs {}

/// Common errors of CUDA programs in C++, and soundness holes of CUDA wrappers.
#[doc = include_str!("../docs/mistakes.md")]
pub mod mistakes {}

/// Every call that destroys something, and what hardware showed.
#[doc = include_str!("../docs/drops.md")]
pub mod drops {}

/// What a proven launch claims, and what that rests on.
#[doc = include_str!("../docs/proofs.md")]
pub mod proofs {}
