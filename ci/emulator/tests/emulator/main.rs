//! The emulator from outside: programs and scripts that run on the built library.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod built;
mod cells;
mod functions;
mod hopper;
mod kernels;
mod library;
mod mistakes;
mod nested;
mod options;
mod programs;
mod races;
mod scripts;
mod tool;
mod within;
