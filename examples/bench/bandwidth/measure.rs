//! The measurement of a rate.
//!
//! Asynchronous copies are measured by nvbandwidth's method: a kernel of one thread holds the stream
//! until all copies are enqueued, so the host's part is not measured. After some copies that do not
//! count, the others run between two events. Blocking copies have no stream to hold: the host's clock
//! measures them until the device is done.

use std::time::Instant;

use cuda_kernels::{gate, kernels};
use cuda_safe::{Device, Event, MappedFlag, Result, Stream};

/// The size of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The number of copies that do not count.
    pub(crate) warmups: u32,
    /// The number of copies that count.
    pub(crate) copies: u32,
    /// The number of repetitions, whose median is the result.
    pub(crate) samples: u32,
}

/// Returns the rate in units of 1e9 bytes a second. Each byte counts once.
fn rate(bytes: usize, copies: u32, seconds: f64) -> f64 {
    bytes as f64 * f64::from(copies) / seconds / 1e9
}

/// Opens the gate when it is dropped, so that nothing waits forever if a copy could not be enqueued.
struct Opens<'a>(&'a MappedFlag);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.set(1);
    }
}

impl Plan {
    /// Returns the median of the samples.
    fn median(self, mut sample: impl FnMut() -> Result<f64>) -> Result<f64> {
        let mut rates = (0..self.samples).map(|_| sample()).collect::<Result<Vec<_>>>()?;
        rates.sort_by(f64::total_cmp);
        Ok(rates[rates.len() / 2])
    }

    /// Returns the rate of copies on one stream.
    pub(crate) fn enqueued(
        self,
        bytes: usize,
        stream: &Stream,
        mut copy: impl FnMut() -> Result<()>,
    ) -> Result<f64> {
        // Loading a kernel may wait for a running kernel.
        kernels::gate.load()?;
        let (start, end) = (Event::new()?, Event::new()?);
        self.median(|| {
            let flag = MappedFlag::new()?;
            let opens = Opens(&flag);
            gate(&flag, stream)?;
            for _ in 0..self.warmups {
                copy()?;
            }
            start.record(stream)?;
            for _ in 0..self.copies {
                copy()?;
            }
            end.record(stream)?;
            drop(opens);
            stream.synchronize()?;
            Ok(rate(bytes, self.copies, f64::from(end.elapsed_ms(&start)?) / 1e3))
        })
    }

    /// Returns the sum of the rates of copies on two streams that run at the same time.
    pub(crate) fn both(
        self,
        bytes: usize,
        streams: [&Stream; 2],
        mut one: impl FnMut() -> Result<()>,
        mut other: impl FnMut() -> Result<()>,
    ) -> Result<f64> {
        kernels::gate.load()?;
        let [first, second] = streams;
        let (open, warm) = (Event::without_timing()?, Event::without_timing()?);
        let (start, first_end, second_end) = (Event::new()?, Event::new()?, Event::new()?);
        self.median(|| {
            let flag = MappedFlag::new()?;
            let opens = Opens(&flag);
            gate(&flag, first)?;
            open.record(first)?;
            second.wait(&open)?;
            for _ in 0..self.warmups {
                one()?;
                other()?;
            }
            // The timed copies of both begin at the same time.
            warm.record(second)?;
            first.wait(&warm)?;
            start.record(first)?;
            second.wait(&start)?;
            for _ in 0..self.copies {
                one()?;
                other()?;
            }
            first_end.record(first)?;
            second_end.record(second)?;
            drop(opens);
            first.synchronize()?;
            second.synchronize()?;
            let ms = first_end.elapsed_ms(&start)?.max(second_end.elapsed_ms(&start)?);
            Ok(2.0 * rate(bytes, self.copies, f64::from(ms) / 1e3))
        })
    }

    /// Returns the rate of blocking copies. It makes a quarter as many, because some are slow.
    pub(crate) fn blocking(self, bytes: usize, mut copy: impl FnMut() -> Result<()>) -> Result<f64> {
        let device = Device::current()?;
        let copies = self.copies.div_ceil(4);
        self.median(|| {
            for _ in 0..self.warmups.div_ceil(4) {
                copy()?;
            }
            device.synchronize()?;
            let start = Instant::now();
            for _ in 0..copies {
                copy()?;
            }
            device.synchronize()?;
            Ok(rate(bytes, copies, start.elapsed().as_secs_f64()))
        })
    }
}
