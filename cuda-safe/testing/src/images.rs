//! Numbers, and images that kernels paint.

use cuda_safe::Result;
use cuda_safe::memory::{Array, ArrayBuilder};

/// Returns pseudo-random numbers between -1 and 1, the same for each run.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Lengths near the edges of blocks of 256 threads.
pub const LENGTHS: [usize; 7] = [1, 2, 255, 256, 257, 1000, 4096];

/// An array that kernels can paint.
pub fn image(width: usize, height: usize) -> Result<Array<f32>> {
    ArrayBuilder::plane(width, height).surface().alloc()
}

/// Returns the image that `paint_gradient` paints with steps of 1 and 10: `x + 10 y`.
pub fn gradient(width: usize, height: usize) -> Vec<f32> {
    let number = |at: usize| f32::from(u16::try_from(10 * (at / width) + at % width).unwrap());
    (0..width * height).map(number).collect()
}
