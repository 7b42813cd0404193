//! Matrix products against those of the host, for sizes that fit the tiles and sizes that do not.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use approx::assert_relative_eq;
use cuda_kernels::{MatrixShape, matrix_multiply_naive, matrix_multiply_tiled};
use cuda_safe::error::Detail;
use cuda_safe::{DeviceBuffer, Result, Stream};
use cuda_testing::alone;
use cuda_testing::images::numbers;

const SHAPES: [(u32, u32, u32); 8] = [
    (16, 16, 16),
    (1, 1, 1),
    (17, 16, 16),
    (16, 17, 16),
    (16, 16, 17),
    (5, 40, 3),
    (33, 1, 50),
    (48, 31, 19),
];

fn size(left: u32, right: u32) -> usize {
    usize::try_from(left * right).unwrap()
}

fn on_the_host(a: &[f32], b: &[f32], MatrixShape { rows, inner, columns }: MatrixShape) -> Vec<f32> {
    let (inner, columns) = (size(inner, 1), size(columns, 1));
    let mut product = Vec::new();
    for row in 0..size(rows, 1) {
        for column in 0..columns {
            let terms =
                (0..inner).map(|k| f64::from(a[row * inner + k]) * f64::from(b[k * columns + column]));
            #[expect(clippy::cast_possible_truncation, reason = "the result is compared as f32")]
            product.push(terms.sum::<f64>() as f32);
        }
    }
    product
}

#[test]
fn both_kernels_agree_with_the_host() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    for (rows, inner, columns) in SHAPES {
        let shape = MatrixShape { rows, inner, columns };
        let (h_a, h_b) = (numbers(size(rows, inner), 1), numbers(size(inner, columns), 2));
        let (a, b) = (DeviceBuffer::from_slice(&h_a)?, DeviceBuffer::from_slice(&h_b)?);
        let mut naive = DeviceBuffer::alloc(size(rows, columns))?;
        let mut tiled = DeviceBuffer::alloc(size(rows, columns))?;
        matrix_multiply_naive(&a, &b, &mut naive, shape, &stream)?;
        matrix_multiply_tiled(&a, &b, &mut tiled, shape, &stream)?;
        let expected = on_the_host(&h_a, &h_b, shape);
        let (naive, tiled) = (naive.to_vec()?, tiled.to_vec()?);
        assert_relative_eq!(naive[..], expected[..], max_relative = 1e-5, epsilon = 1e-5);
        assert_relative_eq!(tiled[..], expected[..], max_relative = 1e-5, epsilon = 1e-5);
    }
    Ok(())
}

#[test]
fn nothing_summed_is_zero() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let nothing = DeviceBuffer::<f32>::alloc(0)?;
    let mut product = DeviceBuffer::from_slice(&[5.0; 6])?;
    let shape = MatrixShape { rows: 2, inner: 0, columns: 3 };
    matrix_multiply_tiled(&nothing, &nothing, &mut product, shape, &stream)?;
    assert_eq!(product.to_vec()?, [0.0; 6]);
    Ok(())
}

#[test]
fn a_matrix_of_the_wrong_size_is_refused_by_name() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (a, b) = (DeviceBuffer::from_slice(&[0.0; 6])?, DeviceBuffer::from_slice(&[0.0; 11])?);
    let mut product = DeviceBuffer::alloc(8)?;
    let shape = MatrixShape { rows: 2, inner: 3, columns: 4 };
    let error = matrix_multiply_naive(&a, &b, &mut product, shape, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::wrong_length("b", 12, 11));
    Ok(())
}

#[test]
fn a_matrix_with_more_rows_than_a_grid_has_blocks_is_refused() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let rows = 16 * 65_535 + 1;
    let a = DeviceBuffer::<f32>::alloc(0)?;
    let b = DeviceBuffer::<f32>::alloc(0)?;
    let mut product = DeviceBuffer::<f32>::alloc(size(rows, 1))?;
    let shape = MatrixShape { rows, inner: 0, columns: 1 };
    let error = matrix_multiply_naive(&a, &b, &mut product, shape, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::limit("the grid's y", 65_536, 65_535));
    Ok(())
}
