//! The tracker against models of the devices: random programs, and under loom every interleaving of threads.
//!
//! Not under sanitizers: it uses no GPU.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[cfg(loom)]
mod interleavings;
#[cfg(not(loom))]
mod programs;
