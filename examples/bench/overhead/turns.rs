//! Runs the sides in turns, and times a batch of calls.

use std::time::Instant;

use cuda_safe::{Device, Result};

/// One side with one operation: runs a batch of the given number of calls, and returns the nanoseconds of
/// one call.
pub(crate) type Batch<'a> = &'a mut dyn FnMut(u32) -> Result<f64>;

/// The nanoseconds of a call in one turn: C++, raw, safe.
pub(crate) type Times = [f64; 3];

/// The orders of the sides. The effects of a side on the next one reach each of the others equally often.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// The number of turns, after one turn in each order that does not count.
pub(crate) struct Turns {
    pub(crate) calls: u32,
    pub(crate) counted: usize,
}

impl Turns {
    /// Runs the turns. In each turn, every side runs one batch.
    pub(crate) fn take(&self, sides: [Batch<'_>; 3]) -> Result<Vec<Times>> {
        let mut taken = Vec::with_capacity(self.counted);
        for (turn, order) in ORDERS.iter().cycle().take(ORDERS.len() + self.counted).enumerate() {
            let mut times = [0.0; 3];
            for &side in order {
                times[side] = sides[side](self.calls)?;
            }
            if turn >= ORDERS.len() {
                taken.push(times);
            }
        }
        Ok(taken)
    }
}

/// The work for a side's batches of an operation, run when that side is ready.
pub(crate) struct Plan<'a> {
    device: Device,
    then: &'a mut dyn FnMut(Batch<'_>) -> Result<()>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(device: Device, then: &'a mut dyn FnMut(Batch<'_>) -> Result<()>) -> Self {
        Self { device, then }
    }

    /// Passes on the batches of a call.
    pub(crate) fn time(self, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        (self.then)(&mut |calls| time(self.device, calls, &mut call))
    }
}

/// Returns the nanoseconds of one of many calls. The device is idle before the calls, and the function
/// waits for it after them. Some calls ahead bring the code back into the caches, which the other sides
/// have used meanwhile.
fn time(device: Device, calls: u32, call: &mut impl FnMut() -> Result<()>) -> Result<f64> {
    for _ in 0..=calls / 5 {
        call()?;
    }
    device.synchronize()?;
    let start = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    let spent = start.elapsed();
    device.synchronize()?;
    Ok(spent.as_secs_f64() * 1e9 / f64::from(calls))
}
