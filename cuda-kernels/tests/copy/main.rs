//! Copies by kernels, and of the variables of source files.

mod copy_many;
mod copy_many_plan;
mod copy_matrix;
