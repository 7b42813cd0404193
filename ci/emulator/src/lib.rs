//! See the workspace README.

pub mod exec;
pub mod module;
pub mod ptx;
#[cfg(test)]
mod testing;
