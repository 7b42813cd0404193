//! CUDA kernels that are compiled with this crate, and two ways to launch each of them.
//!
//! - The functions of this crate ([`vector_add`], [`matrix_multiply_tiled`], ...) are safe: they check
//!   lengths and devices, choose the grid, and launch.
//! - [`kernels`] has typed handles for [`launch!`](cuda_safe::launch!), as in CUDA C++. A launch is proven
//!   from the kernel's PTX to stay within its arguments, or refused. Without proof it is `unsafe`.
//!
//! All functions are stream-ordered and return when the launch is queued. `cuda-safe` orders work of
//! other streams on the same memory. A function over zero elements launches nothing.
//!
//! | module | kernels |
//! |---|---|
//! | [`vector`] | element by element over vectors |
//! | [`fill`](mod@fill) | one value everywhere |
//! | [`matrix`] | products of matrices |
//! | [`points`] | an array of structs |
//! | [`copy_many`](mod@copy_many) | many copies by one launch |
//! | [`image`] | images, read by textures and written by surfaces |
//! | [`heap`] | memory from the device heap |
//! | [`cluster`] | clusters of blocks, for devices of compute capability 9.0 and newer |
//! | [`gate`](mod@gate) | kernels that hold a stream until the host opens them |
//!
//! A crate with its own kernels works in the same way: see `cuda-kernels-build`.

// The unit tests.
// Not under sanitizers: they use no GPU.

mod check;
pub mod cluster;
pub mod copy_many;
pub mod fill;
pub mod gate;
pub mod heap;
pub mod image;
pub mod matrix;
pub mod points;
pub mod vector;

/// The typed handles, one for each kernel, with the structs and constants of their headers.
///
/// The names are those of C++, with a namespace in front.
pub mod kernels {
    cuda_safe::include_kernels!("cuda_kernels");

    /// The handles of kernels for devices with clusters of blocks: compute capability 9.0 and newer.
    pub mod clusters {
        cuda_safe::include_kernels!("cuda_clusters");
    }
}

pub use cluster::cluster_histogram;
pub use copy_many::{CopyManyPlan, copy_many};
pub use fill::{Fill, fill};
pub use gate::{gate, gate_announced, gate_then_write, raise_flag};
pub use heap::heap_squares;
pub use image::{paint_gradient, rotate};
pub use kernels::Point;
pub use matrix::{MatrixShape, matrix_multiply_naive, matrix_multiply_tiled};
pub use points::transform_points;
pub use vector::{add_one, copy_values, double_values, scale_offset, square, vector_add};
