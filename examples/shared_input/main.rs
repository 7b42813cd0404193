//! Four streams share an input, each with its part of an array.
//!
//! Each stream adds a number that all of them read, and copies its part to the host: the copies overlap the
//! kernels of other streams. The kernel declares the number as `int*`, but the build finds that it only reads
//! it. So `&d_step` is enough, and no stream waits for another one. `shared_input ELEMENTS` chooses the size
//! of the work. Times go to standard error.
use anyhow::ensure;
use cuda_kernels::kernels::add_step;
use cuda_safe::{DeviceBuffer, Event, PinnedBuffer, Stream, hazard, launch, memcpy_async, memset};

fn main() -> anyhow::Result<()> {
    let n = std::env::args().nth(1).map_or(Ok(1 << 24), |it| it.parse())?;
    let (threads, rounds, step) = (256, 100, 5);
    let mut h_data = PinnedBuffer::<i32>::alloc(n)?;
    let mut d_data = DeviceBuffer::<i32>::alloc(n)?;
    let d_step = DeviceBuffer::from_slice(&[step])?;
    let streams = [Stream::new()?, Stream::new()?, Stream::new()?, Stream::new()?];
    let (legacy, start, stop) = (Stream::legacy()?, Event::new()?, Event::new()?);

    for used in [streams.len(), 1, streams.len()] {
        let part = n / used;
        memset(&mut d_data, 0)?;
        start.record(&legacy)?;
        for (mut d_part, s) in d_data.chunks_mut(part)?.zip(&streams) {
            launch!(add_step<<<part / threads, threads, 0, s>>>(&mut d_part, &d_step, part, rounds))?;
        }
        for ((mut h_part, d_part), s) in h_data.chunks_mut(part)?.zip(d_data.chunks(part)?).zip(&streams) {
            memcpy_async(&mut h_part, &d_part, s)?;
        }
        stop.record(&legacy)?;

        let right = h_data.host()?.iter().filter(|sum| **sum == rounds * step).count(); // waits
        println!("{used} streams: {right} of {n} elements are right");
        eprintln!("{used} streams: {:.3} ms", stop.elapsed_ms(&start)?);
    }
    ensure!(hazard::added_waits() == 0, "{:?}", hazard::recent_waits());
    Ok(())
}
