//! Measures a pipeline against each of its three stages alone.

use std::time::Instant;

use cuda_kernels::vector::vector_add;
use cuda_safe::copy::Pipeline;
use cuda_safe::stream::{AsStream as _, StreamRef};
use cuda_safe::{
    DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer, Result, Stream, memcpy, memcpy_async,
};

use crate::{median, rate};

/// The work on a chunk: the sum of a vector and itself, several times.
fn work(
    stream: StreamRef<'_>,
    input: DeviceSlice<'_, f32>,
    mut output: DeviceSliceMut<'_, f32>,
    times: u32,
) -> Result<()> {
    for _ in 0..times {
        vector_add(input, input, &mut output, &stream)?;
    }
    Ok(())
}

fn time(turns: usize, mut f: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for turn in 0..=turns {
        let start = Instant::now();
        f()?;
        if turn > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e9);
        }
    }
    Ok(median(&mut times))
}

/// The arrays, in both kinds of memory, and streams for their copies.
struct Arrays {
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    host: Vec<f32>,
    back: Vec<f32>,
    pinned: PinnedBuffer<f32>,
    pinned_back: PinnedBuffer<f32>,
    streams: [Stream; 2],
}

impl Arrays {
    fn new(len: usize) -> Result<Self> {
        let host = vec![1.0; len];
        Ok(Self {
            a: DeviceBuffer::alloc_zeroed(len)?,
            b: DeviceBuffer::alloc_zeroed(len)?,
            back: vec![0.0; len],
            pinned: PinnedBuffer::from_slice(&host)?,
            pinned_back: PinnedBuffer::alloc(len)?,
            host,
            streams: [Stream::non_blocking()?, Stream::non_blocking()?],
        })
    }

    fn up(&mut self, pageable: bool) -> Result<()> {
        if pageable {
            return memcpy(&mut self.a, &self.host);
        }
        memcpy_async(&mut self.a, &self.pinned, &self.streams[0])?;
        self.streams[0].synchronize()
    }

    fn down(&mut self, pageable: bool) -> Result<()> {
        if pageable {
            return memcpy(&mut self.back, &self.b);
        }
        memcpy_async(&mut self.pinned_back, &self.b, &self.streams[1])?;
        self.streams[1].synchronize()
    }

    /// Copies in both directions at the same time.
    fn both(&mut self, pageable: bool) -> Result<()> {
        if pageable {
            let Self { a, b, host, back, .. } = self;
            return std::thread::scope(|threads| {
                let up = threads.spawn(|| memcpy(a, host));
                let down = memcpy(back, b);
                up.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(down)
            });
        }
        memcpy_async(&mut self.a, &self.pinned, &self.streams[0])?;
        memcpy_async(&mut self.pinned_back, &self.b, &self.streams[1])?;
        self.streams[0].synchronize()?;
        self.streams[1].synchronize()
    }

    fn work(&mut self, times: u32) -> Result<()> {
        work(self.streams[0].as_stream(), self.a.as_slice(), self.b.as_slice_mut(), times)?;
        self.streams[0].synchronize()
    }

    fn through(&mut self, pipeline: &mut Pipeline<f32, f32>, pageable: bool, times: u32) -> Result<()> {
        let each = |stream: StreamRef<'_>,
                    input: DeviceSlice<'_, f32>,
                    output: DeviceSliceMut<'_, f32>,
                    _| { work(stream, input, output, times) };
        if pageable {
            pipeline.run(&mut self.back, &self.host, each)
        } else {
            pipeline.run(&mut self.pinned_back, &self.pinned, each)
        }
    }
}

/// Prints the rates of each stage alone over whole arrays of `bytes` bytes, of both directions at the same
/// time, and of the pipeline.
pub(crate) fn run(bytes: usize, turns: usize, emulator: bool) -> Result<()> {
    // The heavy work keeps the device busy for at least about as long as the link.
    let light_and_heavy: [u32; 2] = if emulator { [1, 2] } else { [1, 60] };
    let mut arrays = Arrays::new(bytes / size_of::<f32>())?;

    println!(
        "\nA pipeline of {} MiB in GB/s of its input, against its stages over the whole array.",
        bytes >> 20
    );
    println!(
        "\n| memory, work | host to device | device to host | both at once, each | work | pipeline | of the \
         slowest alone | of the slowest |\n|----|---:|---:|---:|---:|---:|---:|---:|"
    );
    for pageable in [false, true] {
        let up = time(turns, || arrays.up(pageable))?;
        let down = time(turns, || arrays.down(pageable))?;
        let both = time(turns, || arrays.both(pageable))?;
        for times in light_and_heavy {
            let alone = time(turns, || arrays.work(times))?;
            let mut pipeline = Pipeline::builder().build()?;
            let all = time(turns, || arrays.through(&mut pipeline, pageable, times))?;
            println!(
                "| {}, {times} sums | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} % | {:.1} % |",
                if pageable { "pageable" } else { "pinned" },
                rate(bytes, up),
                rate(bytes, down),
                rate(bytes, both),
                rate(bytes, alone),
                rate(bytes, all),
                100.0 * up.max(down).max(alone) / all,
                100.0 * both.max(alone) / all
            );
        }
    }
    println!(
        "\n\"The slowest\" is the slowest stage. It is either the work, or the copies while the other \
         direction is busy too, as in a pipeline: the link is slower in each direction then. Copies of \
         pageable memory by `memcpy` are on the legacy stream, where one waits for the other. Those of a \
         pipeline are not, so they may be faster than both at the same time."
    );
    Ok(())
}
