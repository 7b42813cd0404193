//! Many small copies: the Rust side of that part of `ci/bench`.
//!
//! Prints a description of the machine. Then it answers every line `OPERATION CALLS BATCHES` of standard
//! input with the nanoseconds that 64 copies take until all have arrived: the median over BATCHES batches
//! of CALLS rounds each, after one batch that does not count. An operation is a direction, a method and
//! the bytes of a copy: `h2d_loop_4096`, `d2h_batch_256`, `d2d_kernel_65536`.

use anyhow::{bail, ensure};
use bench::serve::{Plan, serve};
use cuda_kernels::CopyManyPlan;
use cuda_safe::copy::{AsyncDestination, AsyncSource};
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::memory::{MemoryType, Slice, SliceMut};
use cuda_safe::{CopyBatch, Device, DeviceBuffer, PinnedBuffer, Result, Stream, memcpy_async};

const COPIES: usize = 64;
const LARGEST: usize = 65536;

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
fn copies<D, S>(way: &str, plan: Plan, to: &mut [D], from: &[S], stream: &Stream) -> Result<Option<f64>>
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
    let stream = Stream::non_blocking()?;
    let a = DeviceBuffer::from_slice(&vec![1_u8; 2 * COPIES * LARGEST])?;
    let mut b = DeviceBuffer::<u8>::alloc(2 * COPIES * LARGEST)?;
    let mut host = PinnedBuffer::from_slice(&vec![2_u8; 2 * COPIES * LARGEST])?;
    serve(Device::current()?, |operation, plan| {
        let parts: Vec<&str> = operation.split('_').collect();
        let [direction, way, bytes] = parts[..] else { bail!("not DIRECTION_WAY_BYTES: {operation}") };
        let bytes: usize = bytes.parse()?;
        ensure!(bytes > 0 && bytes <= LARGEST && bytes.is_multiple_of(16), "{bytes} bytes");
        Ok(match direction {
            "h2d" => {
                let (mut to, from) = (places_mut(b.slice_mut(..)?, bytes)?, places(host.slice(..)?, bytes)?);
                copies(way, plan, &mut to, &from, &stream)?
            }
            "d2h" => {
                let (mut to, from) = (places_mut(host.slice_mut(..)?, bytes)?, places(a.slice(..)?, bytes)?);
                copies(way, plan, &mut to, &from, &stream)?
            }
            "d2d" => {
                let (mut to, from) = (places_mut(b.slice_mut(..)?, bytes)?, places(a.slice(..)?, bytes)?);
                copies(way, plan, &mut to, &from, &stream)?
            }
            _ => None,
        })
    })
}
