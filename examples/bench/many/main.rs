//! Many small copies: the Rust side of that part of `ci/bench`.
//!
//! Prints a description of the machine. Then it answers every line `OPERATION CALLS BATCHES` of standard
//! input with the nanoseconds that 64 copies take until all have arrived: the median over BATCHES batches
//! of CALLS rounds each, after one batch that does not count. An operation is a direction, a method and
//! the bytes of a copy: `h2d_loop_4096`, `d2h_batch_256`, `d2d_kernel_65536`.

use std::io::{Write as _, stdin, stdout};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use cuda_kernels::CopyManyPlan;
use cuda_safe::copy::{AsyncDestination, AsyncSource};
use cuda_safe::device::{driver_version, runtime_version};
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::memory::{MemoryType, Slice, SliceMut};
use cuda_safe::{CopyBatch, Device, DeviceBuffer, PinnedBuffer, Result, Stream, memcpy_async};

const COPIES: usize = 64;
const LARGEST: usize = 65536;

/// The size of the measurement for one answer.
struct Plan {
    device: Device,
    calls: u32,
    batches: u32,
}

impl Plan {
    /// Returns the nanoseconds of one of many calls.
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

/// Returns 64 parts of the same size, with gaps of that size.
fn places<'a, M: MemoryType>(memory: Slice<'a, u8, M>, bytes: usize) -> Result<Vec<Slice<'a, u8, M>>> {
    memory.chunks(2 * bytes)?.take(COPIES).map(|chunk| chunk.slice(..bytes)).collect()
}

/// Returns the same parts as mutable views.
fn places_mut<'a, M: MemoryType>(
    memory: SliceMut<'a, u8, M>,
    bytes: usize,
) -> Result<Vec<SliceMut<'a, u8, M>>> {
    let chunks = memory.chunks_mut(2 * bytes)?.take(COPIES);
    chunks.map(|chunk| Ok(chunk.split_at_mut(bytes)?.0)).collect()
}

/// Measures a loop of asynchronous copies, a batch, or one kernel. Returns `None` for any other method.
fn copies<D, S>(way: &str, plan: &Plan, to: &mut [D], from: &[S], stream: &Stream) -> Result<Option<f64>>
where
    D: AsyncDestination<Element = u8>,
    S: AsyncSource<Element = u8>,
    for<'a> &'a mut D: KernelOutput<u8>,
    for<'a> &'a S: KernelInput<u8>,
{
    match way {
        "loop" => plan.time(|| {
            for (to, from) in to.iter_mut().zip(from) {
                memcpy_async(to, from, stream)?;
            }
            stream.synchronize()
        }),
        "batch" => plan.time(|| {
            to.iter_mut().zip(from).collect::<CopyBatch<'_>>().enqueue(stream)?;
            stream.synchronize()
        }),
        "kernel" => {
            let copies = CopyManyPlan::new(to.iter_mut().zip(from))?;
            plan.time(|| {
                copies.enqueue(to.iter_mut().zip(from), stream)?;
                stream.synchronize()
            })
        }
        _ => return Ok(None),
    }
    .map(Some)
}

fn main() -> anyhow::Result<()> {
    let device = Device::current()?;
    let stream = Stream::non_blocking()?;
    let a = DeviceBuffer::from_slice(&vec![1_u8; 2 * COPIES * LARGEST])?;
    let mut b = DeviceBuffer::<u8>::alloc(2 * COPIES * LARGEST)?;
    let mut host = PinnedBuffer::from_slice(&vec![2_u8; 2 * COPIES * LARGEST])?;
    let (runtime, driver) = (runtime_version()?, driver_version()?);
    println!("{}; runtime {runtime}, driver for {driver}", device.properties()?.name());

    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [operation, calls, batches] = words[..] else { bail!("not OPERATION CALLS BATCHES: {line}") };
        let plan = Plan { device, calls: calls.parse()?, batches: batches.parse()? };
        ensure!(plan.calls > 0 && plan.batches > 0, "nothing to measure: {line}");
        let parts: Vec<&str> = operation.split('_').collect();
        let [direction, way, bytes] = parts[..] else { bail!("not DIRECTION_WAY_BYTES: {operation}") };
        let bytes: usize = bytes.parse()?;
        ensure!(bytes > 0 && bytes <= LARGEST && bytes.is_multiple_of(16), "{bytes} bytes");
        let time = match direction {
            "h2d" => {
                let (mut to, from) = (places_mut(b.slice_mut(..)?, bytes)?, places(host.slice(..)?, bytes)?);
                copies(way, &plan, &mut to, &from, &stream)?
            }
            "d2h" => {
                let (mut to, from) = (places_mut(host.slice_mut(..)?, bytes)?, places(a.slice(..)?, bytes)?);
                copies(way, &plan, &mut to, &from, &stream)?
            }
            "d2d" => {
                let (mut to, from) = (places_mut(b.slice_mut(..)?, bytes)?, places(a.slice(..)?, bytes)?);
                copies(way, &plan, &mut to, &from, &stream)?
            }
            _ => None,
        };
        println!("{}", time.with_context(|| format!("no operation {operation}"))?);
        stdout().flush()?;
    }
    Ok(())
}
