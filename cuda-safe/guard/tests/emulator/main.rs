//! Guarded kernels run.
#![expect(unsafe_code, reason = "launches kernels with any arguments")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "helpers of tests")]

mod device;
mod kinds;
