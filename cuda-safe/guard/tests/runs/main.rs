//! Guarded kernels run: planted accesses outside of their memory, and drawn kernels.
//!
//! Not under racecheck: a wrong index may lead to another thread's bytes of the same memory.
#![expect(unsafe_code, reason = "launches kernels with any arguments")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "helpers of tests")]

mod cases;
mod device;
mod kinds;
mod random;
