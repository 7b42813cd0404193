//! Tensor cores: products of half-precision matrices against the host's.

use cuda_kernels::kernels::{TENSOR_TILE, tensor_multiply};
use cuda_safe::{DeviceBuffer, Result, Stream};
use cuda_testing::alone;
use cuda_testing::images::numbers;
use half::f16;

/// Returns the product of two matrices of `tiles` by `tiles` tiles.
fn product(a: &[f16], b: &[f16], tiles: u32) -> Result<Vec<f32>> {
    let stream = Stream::non_blocking()?;
    let (a, b) = (DeviceBuffer::from_slice(a)?, DeviceBuffer::from_slice(b)?);
    let mut c = DeviceBuffer::<f32>::alloc(a.len())?;
    let n = tiles * TENSOR_TILE;
    tensor_multiply.launch(((tiles, tiles), 32), &stream, (&a, &b, &mut c, n))?;
    c.to_vec()
}

#[test]
fn sums_of_whole_numbers_are_exact() -> Result<()> {
    let _alone = alone();
    for tiles in [1, 3] {
        let n = (tiles * TENSOR_TILE) as usize;
        let number = |i: usize, by, below| f16::from_f64((i * by % below) as f64 - (below / 2) as f64);
        let a: Vec<f16> = (0..n * n).map(|i| number(i, 7, 11)).collect();
        let b: Vec<f16> = (0..n * n).map(|i| number(i, 5, 13)).collect();
        let at =
            |i: usize| (0..n).map(|k| a[i / n * n + k].to_f32() * b[k * n + i % n].to_f32()).sum::<f32>();
        assert_eq!(product(&a, &b, tiles)?, (0..n * n).map(at).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn sums_of_any_numbers_are_rounded_as_those_of_32_bits_are() -> Result<()> {
    let _alone = alone();
    let n = (4 * TENSOR_TILE) as usize;
    let halves = |seed| numbers(n * n, seed).into_iter().map(f16::from_f32).collect::<Vec<_>>();
    let (a, b) = (halves(1), halves(2));
    for (i, got) in product(&a, &b, 4)?.into_iter().enumerate() {
        let terms = (0..n).map(|k| a[i / n * n + k].to_f64() * b[k * n + i % n].to_f64());
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        // A device has at least as many bits for each term as for a 32-bit sum, and may truncate instead
        // of round.
        let bound = size * f64::from(f32::EPSILON) * n as f64;
        assert!((f64::from(got) - sum).abs() <= bound, "element {i}: {got}, not {sum}");
    }
    Ok(())
}
