//! The kernels of this crate against the same computation on the host.

mod fill;
mod gate;
mod heap;
mod matrix;
mod points;
mod tensor;
mod vector;
