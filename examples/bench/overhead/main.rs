//! What each operation costs the host: the Rust side of `ci/bench`; with `--raw` through `check!` around the C functions.
//!
//! Says what it runs on, then answers every line `OPERATION CALLS BATCHES` of standard input with the nanoseconds that one
//! call takes: the median over the batches, each of so many calls, after one batch that is not counted.

mod raw;
mod safe;

use std::io::{Write as _, stdin, stdout};
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use cuda_safe::device::{driver_version, runtime_version};
use cuda_safe::memory::MemoryPool;
use cuda_safe::{Device, DeviceBuffer, Event, PinnedBuffer, Result, Stream};

const FLOATS: usize = 1024;
const BYTES: usize = FLOATS * size_of::<f32>();
const MEBIBYTE: usize = 1 << 20;

/// Elements of a row of planes and volumes, bytes that one begins after another, and how many there are.
const ROW: usize = 32;
const PITCH: usize = 256;
const ROWS: usize = 16;
const LAYER_ROWS: usize = 4;
const LAYERS: usize = 4;

/// Copies of a batch, elements of each, and how many elements one begins after another.
const COPIES: usize = 64;
const SMALL: usize = 8;
const APART: usize = 16;

/// What host functions count up.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// What the operations work on.
struct Things {
    stream: Stream,
    second: Stream,
    event: Event,
    pool: MemoryPool,
    numbers: DeviceBuffer<i32>,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
    pinned: PinnedBuffer<f32>,
    pageable: Vec<f32>,
}

impl Things {
    fn new() -> Result<Self> {
        let stream = Stream::non_blocking()?;
        let mut event = Event::without_timing()?;
        event.record(&stream)?;
        let pool = MemoryPool::new()?;
        pool.set_release_threshold(u64::MAX)?;
        Ok(Self {
            stream,
            second: Stream::non_blocking()?,
            event,
            pool,
            numbers: DeviceBuffer::alloc(FLOATS)?,
            a: DeviceBuffer::alloc_zeroed(FLOATS)?,
            b: DeviceBuffer::alloc(FLOATS)?,
            c: DeviceBuffer::alloc(FLOATS)?,
            pinned: PinnedBuffer::from_slice(&[0.0; FLOATS])?,
            pageable: vec![0.0; FLOATS],
        })
    }
}

/// How much is measured before an answer.
struct Plan {
    device: Device,
    calls: u32,
    batches: u32,
}

impl Plan {
    /// Nanoseconds that one of many calls takes.
    fn time(&self, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        let mut times = Vec::new();
        for batch in 0..=self.batches {
            self.device.synchronize()?;
            let start = Instant::now();
            for _ in 0..self.calls {
                call()?;
            }
            let spent = start.elapsed();
            if batch > 0 {
                times.push(spent.as_secs_f64() * 1e9 / f64::from(self.calls));
            }
        }
        self.device.synchronize()?;
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

fn main() -> anyhow::Result<()> {
    let measure = match std::env::args().nth(1).as_deref() {
        None => safe::measure,
        Some("--raw") => raw::measure,
        Some(other) => bail!("overhead [--raw], and not {other}"),
    };
    let device = Device::current()?;
    let mut things = Things::new()?;
    let (runtime, driver) = (runtime_version()?, driver_version()?);
    println!("{}; runtime {runtime}, driver for {driver}", device.properties()?.name());

    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [operation, calls, batches] = words[..] else { bail!("not OPERATION CALLS BATCHES: {line}") };
        let plan = Plan { device, calls: calls.parse()?, batches: batches.parse()? };
        ensure!(plan.calls > 0 && plan.batches > 0, "nothing to measure: {line}");
        let time =
            measure(operation, &plan, &mut things)?.with_context(|| format!("no operation {operation}"))?;
        println!("{time}");
        stdout().flush()?;
    }
    Ok(())
}
