//! How the sides take turns, and how a batch of calls is timed.

use std::time::Instant;

use cuda_safe::{Device, Result};

/// One side at one operation: runs a batch of so many calls, and tells the nanoseconds that one takes.
pub(crate) type Batch<'a> = &'a mut dyn FnMut(u32) -> Result<f64>;

/// Nanoseconds of a call in one turn: C++, raw, safe.
pub(crate) type Times = [f64; 3];

/// In which order the sides go: whatever a side leaves behind meets each of the others as often.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// How many turns there are, after one in each order that does not count.
pub(crate) struct Turns {
    pub(crate) calls: u32,
    pub(crate) counted: usize,
}

impl Turns {
    /// Takes them: in each, every side runs one batch.
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

/// What is to be done with a side's batches of an operation, once that side is ready for them.
pub(crate) struct Plan<'a> {
    device: Device,
    then: &'a mut dyn FnMut(Batch<'_>) -> Result<()>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(device: Device, then: &'a mut dyn FnMut(Batch<'_>) -> Result<()>) -> Self {
        Self { device, then }
    }

    /// Hands over the batches of a call.
    pub(crate) fn time(self, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        (self.then)(&mut |calls| time(self.device, calls, &mut call))
    }
}

/// Nanoseconds that one of many calls takes. The device has nothing to do before, and is waited for after
/// them; some calls ahead bring the code back into the caches that the other sides have used meanwhile.
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
