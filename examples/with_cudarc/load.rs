//! The work: turns of both crates with one slice, alone and from many threads.
#![expect(unsafe_code, reason = "adopts streams of cudarc, and looks for the driver's library")]

use std::sync::Arc;
use std::thread;

use anyhow::{Result, anyhow, ensure};
use cuda_kernels::{add_one, double_values};
use cuda_safe::{DeviceBuffer, Stream, launch};
use cudarc::driver::CudaContext;

use crate::beside::{self, Shared};

mod kernels {
    cuda_safe::include_kernels!("with_cudarc");
}

/// Returns whether the driver's library is there. Without it, cudarc panics.
pub(crate) fn has_driver() -> bool {
    // SAFETY: the call opens the library, whose initialization is NVIDIA's.
    unsafe { cudarc::driver::sys::is_culib_present() }
}

/// Takes turns with five numbers: fills by cudarc, kernels by `cuda-safe`, a copy by cudarc.
pub(crate) fn in_turns(context: &Arc<CudaContext>) -> Result<Vec<i32>> {
    let theirs = context.new_stream()?;
    // SAFETY: this program captures no stream, tracks events, and makes no graph.
    let mut shared = unsafe { Shared::new(theirs.clone_htod(&[1, 2, 3, 4, 5])?) }?;
    // A kernel of ours on their stream, and one on a stream of our own: the tracker orders the two.
    let own = Stream::non_blocking()?;
    // SAFETY: this program captures no stream.
    let lent = unsafe { beside::stream(&theirs) }?;
    double_values(shared.ours(), &lent)?;
    add_one(shared.ours(), &own)?;
    // Their copy, on another stream of theirs: it comes after both kernels.
    let other = context.new_stream()?;
    let mut copy = other.alloc_zeros::<i32>(5)?;
    shared.with_cudarc(|slice| Ok(other.memcpy_dtod(slice, &mut copy)?))?;
    // Their slice becomes our buffer, and goes back.
    let mut buffer = beside::from_cudarc(copy)?;
    add_one(buffer.as_slice_mut(), shared.stream())?;
    let mut copied = DeviceBuffer::alloc(5)?;
    cuda_safe::memcpy_async(&mut copied, &buffer, &own)?;
    Ok(theirs.clone_dtoh(&beside::into_cudarc(copied, &theirs)?)?)
}

/// Runs rounds of work on many threads, which share an input.
pub(crate) fn run(context: &Arc<CudaContext>, threads: usize, rounds: usize) -> Result<()> {
    let ones = DeviceBuffer::from_slice(&vec![1; LEN])?;
    thread::scope(|scope| {
        let spawn = |number| {
            scope.spawn({
                let ones = &ones;
                move || work(context, ones, number, rounds)
            })
        };
        let all: Vec<_> = (0..threads).map(spawn).collect();
        all.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a thread has panicked"))?)
    })
}

/// More than a block, and no multiple of one.
const LEN: usize = 4099;

/// One thread's rounds: on streams of its own of both sides, with slices that both sides free.
fn work(context: &Arc<CudaContext>, ones: &DeviceBuffer<i32>, number: usize, rounds: usize) -> Result<()> {
    context.bind_to_thread()?;
    let first = i32::try_from(number)? * 1000;
    let (theirs, other) = (context.new_stream()?, context.new_stream()?);
    let own = Stream::non_blocking()?;
    let count = u32::try_from(LEN)?;
    for round in 0..i32::try_from(rounds)? {
        let start: Vec<i32> = (0..).map(|i| first + round + i % 7).take(LEN).collect();
        // SAFETY: this program captures no stream, tracks events, and makes no graph.
        let mut shared = unsafe { Shared::new(theirs.clone_htod(&start)?) }?;
        // Kernels of two crates on streams of both sides.
        double_values(shared.ours(), &own)?;
        let blocks = count.div_ceil(256);
        launch!(kernels::accumulate<<<blocks, 256, 0, &own>>>(ones, shared.ours(), count))?;
        let mut copy = other.alloc_zeros::<i32>(LEN)?;
        shared.with_cudarc(|slice| {
            other.memcpy_dtod(slice, &mut copy)?;
            Ok(theirs.memset_zeros(slice)?)
        })?;
        add_one(shared.ours(), &own)?;
        // Ownership passes to one side, and back to the other.
        let mut buffer = beside::from_cudarc(copy)?;
        add_one(buffer.as_slice_mut(), &own)?;
        let copied: Vec<i32> = if round % 2 == 0 {
            buffer.to_vec()?
        } else {
            let mut pooled = DeviceBuffer::alloc_async(LEN, &own)?;
            cuda_safe::memcpy_async(&mut pooled, &buffer, &own)?;
            theirs.clone_dtoh(&beside::into_cudarc(pooled, &theirs)?)?
        };
        let expected = start.iter().map(|value| value * 2 + 2);
        ensure!(copied.iter().copied().eq(expected), "thread {number}, round {round}: wrong copy");
        let rest = shared.ours().as_slice().to_vec()?;
        ensure!(rest.iter().all(|&value| value == 1), "thread {number}, round {round}: wrong rest");
    }
    Ok(())
}
