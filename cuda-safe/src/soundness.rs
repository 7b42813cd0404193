//! Attempts to break safe code: each with its result and the test that shows it.
//!
//! The crate promises that safe code cannot cause undefined behaviour. These pages list the programs
//! that try to. A test of the crate fails if a test that a page names no longer exists.
//! [`hazard`](crate::hazard) explains why the ordering part of the promise holds. Nothing here runs, and
//! it stands for no C function.

/// Programs that try to defeat the tracker.
#[doc = include_str!("../docs/hazard-programs.md")]
pub mod hazard_programs {}

/// Common errors of CUDA programs in C++.
#[doc = include_str!("../docs/classic-mistakes.md")]
pub mod classic_mistakes {}

/// Common soundness holes of CUDA wrappers.
#[doc = include_str!("../docs/holes-of-wrappers.md")]
pub mod holes_of_wrappers {}
