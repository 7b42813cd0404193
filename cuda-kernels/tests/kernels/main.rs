//! The kernels of this crate against the same computation on the host.

mod fill;
mod halves;
mod image_order;
mod matrix;
mod points;
mod surfaces;
mod tensor;
mod textures;
mod vector;
