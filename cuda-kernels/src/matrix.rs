//! Products of matrices of `f32`, row by row in memory.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::{Kernel, KernelInput, KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;

use crate::{check, kernels};

/// The sizes of a product: a `rows x inner` matrix times an `inner x columns` matrix gives `rows x
/// columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// The rows of the first factor and of the product.
    pub rows: u32,
    /// The columns of the first factor, which are the rows of the second.
    pub inner: u32,
    /// The columns of the second factor and of the product.
    pub columns: u32,
}

type Multiply = Kernel<(*const f32, *const f32, *mut f32, u32, u32, u32)>;

/// Multiplies with one thread for each element. Each thread reads a row and a column from global memory.
///
/// # Errors
/// - The length of memory is not that of its matrix, or the memory is on another device than the
///   stream's.
/// - The grid of the shape would be too large.
/// - The launch fails.
#[track_caller]
pub fn matrix_multiply_naive(
    a: impl KernelInput<f32>,
    b: impl KernelInput<f32>,
    product: impl KernelOutput<f32>,
    shape: MatrixShape,
    stream: &impl AsStream,
) -> Result<()> {
    multiply("matrix_multiply_naive", &kernels::matrix_multiply_naive, (a, b, product), shape, stream)
}

/// Multiplies tile by tile. The block that needs a tile loads it once into shared memory.
///
/// # Errors
/// As [`matrix_multiply_naive`].
#[track_caller]
pub fn matrix_multiply_tiled(
    a: impl KernelInput<f32>,
    b: impl KernelInput<f32>,
    product: impl KernelOutput<f32>,
    shape: MatrixShape,
    stream: &impl AsStream,
) -> Result<()> {
    multiply("matrix_multiply_tiled", &kernels::matrix_multiply_tiled, (a, b, product), shape, stream)
}

#[track_caller]
fn multiply(
    api: &'static str,
    kernel: &Multiply,
    (a, b, product): (impl KernelInput<f32>, impl KernelInput<f32>, impl KernelOutput<f32>),
    MatrixShape { rows, inner, columns }: MatrixShape,
    stream: &impl AsStream,
) -> Result<()> {
    check::input(api, "a", &a, check::product(api, "the size of a", rows, inner)?, stream)?;
    check::input(api, "b", &b, check::product(api, "the size of b", inner, columns)?, stream)?;
    check::output(
        api,
        "product",
        &product,
        check::product(api, "the size of the product", rows, columns)?,
        stream,
    )?;
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let tile = kernels::MATRIX_TILE;
    let config = LaunchConfig::new((columns.div_ceil(tile), rows.div_ceil(tile)), (tile, tile));
    // SAFETY: each matrix has the length that the kernel computes from the same sizes, on the stream's
    // device. The block is the one that the tiled kernel requires.
    unsafe { kernel.launch(config, stream, (a, b, product, rows, inner, columns)) }
}
