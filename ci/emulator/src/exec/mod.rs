//! Runs kernels: PTX functions lowered once, then interpreted a warp at a time.

pub mod env;
