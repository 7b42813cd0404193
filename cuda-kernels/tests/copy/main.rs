//! Copies by kernels.

mod copy_many;
mod copy_many_plan;
