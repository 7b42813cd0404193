//! See the workspace README.

pub mod exec;
