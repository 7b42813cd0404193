//! What the tests of this folder share: numbers to compute with, images, and turns at the variables.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "test support")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_safe::Result;
use cuda_safe::memory::{Array, ArrayBuilder};

/// Numbers that look random and are the same every time, between -1 and 1.
pub(crate) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Lengths around the edges of blocks of 256 threads.
pub(crate) const LENGTHS: [usize; 7] = [1, 2, 255, 256, 257, 1000, 4096];

/// An array that kernels can paint.
pub(crate) fn image(width: usize, height: usize) -> Result<Array<f32>> {
    ArrayBuilder::plane(width, height).surface().alloc()
}

/// What `paint_gradient` makes of one by steps of 1 and 10: `x + 10 y`.
pub(crate) fn gradient(width: usize, height: usize) -> Vec<f32> {
    let number = |at: usize| f32::from(u16::try_from(10 * (at / width) + at % width).unwrap());
    (0..width * height).map(number).collect()
}

/// The variables of source files are one set for the process, so one test at a time has them.
pub(crate) fn variables_alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
