//! What safe code may try, what becomes of it, and the tests that show it.
//!
//! Safe code that uses this crate cannot cause undefined behaviour: that is the promise, and these pages are the list of what it
//! was tried on. A test of the crate fails when one that a page names is gone. [`hazard`](crate::hazard) says why the part of
//! the promise that is about order holds. Nothing here runs, and it stands for no C function.

/// Programs that a tracker of conflicts must survive.
#[doc = include_str!("../docs/hazard-programs.md")]
pub mod hazard_programs {}

/// What CUDA programs in C++ go wrong with.
#[doc = include_str!("../docs/classic-mistakes.md")]
pub mod classic_mistakes {}

/// What layers over CUDA go wrong with.
#[doc = include_str!("../docs/holes-of-wrappers.md")]
pub mod holes_of_wrappers {}
