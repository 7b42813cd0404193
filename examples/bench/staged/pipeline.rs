//! A pipeline against each of its three stages alone.

use std::time::Instant;

use cuda_kernels::vector::vector_add;
use cuda_safe::copy::Pipeline;
use cuda_safe::stream::{AsStream as _, StreamRef};
use cuda_safe::{
    DeviceBuffer, DeviceSlice, DeviceSliceMut, PinnedBuffer, Result, Stream, memcpy, memcpy_async,
};

use crate::{median, rate};

/// What a chunk is computed by: the sum of a vector and itself, so many times.
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

/// Prints the rates of the stages alone, each over the whole array, and of the pipeline.
pub(crate) fn run(len: usize, turns: usize, chunks: &[usize], emulator: bool) -> Result<()> {
    let bytes = len * size_of::<f32>();
    // As many as keep the device busy for about as long as the link.
    let light_and_heavy: [u32; 2] = if emulator { [1, 2] } else { [1, 60] };
    let stream = Stream::non_blocking()?;
    let mut a = DeviceBuffer::<f32>::alloc_zeroed(len)?;
    let mut b = DeviceBuffer::<f32>::alloc_zeroed(len)?;
    let host = vec![1.0_f32; len];
    let mut back = vec![0.0_f32; len];
    let pinned = PinnedBuffer::from_slice(&host)?;
    let mut pinned_back = PinnedBuffer::<f32>::alloc(len)?;

    println!(
        "\nA pipeline of {} MiB in GB/s of its input, against each stage alone over the whole array.",
        bytes >> 20
    );
    println!(
        "\n| memory, work | up | work | down | chunk | pipeline | of the slowest |\n|----|---:|---:|---:|---:|---:|---:|"
    );
    for pageable in [false, true] {
        let up = time(turns, || {
            if pageable {
                return memcpy(&mut a, &host);
            }
            memcpy_async(&mut a, &pinned, &stream)?;
            stream.synchronize()
        })?;
        let down = time(turns, || {
            if pageable {
                return memcpy(&mut back, &a);
            }
            memcpy_async(&mut pinned_back, &a, &stream)?;
            stream.synchronize()
        })?;
        for times in light_and_heavy {
            let alone = time(turns, || {
                work(stream.as_stream(), a.as_slice(), b.as_slice_mut(), times)?;
                stream.synchronize()
            })?;
            for &chunk in chunks {
                let mut pipeline = Pipeline::<f32, f32>::new(chunk)?;
                let all = time(turns, || {
                    let each = |stream: StreamRef<'_>,
                                input: DeviceSlice<'_, f32>,
                                output: DeviceSliceMut<'_, f32>,
                                _| { work(stream, input, output, times) };
                    if pageable {
                        pipeline.run(&mut back, &host, each)
                    } else {
                        pipeline.run(&mut pinned_back, &pinned, each)
                    }
                })?;
                println!(
                    "| {}, {times} sums | {:.2} | {:.2} | {:.2} | {} MiB | {:.2} | {:.1} % |",
                    if pageable { "pageable" } else { "pinned" },
                    rate(bytes, up),
                    rate(bytes, alone),
                    rate(bytes, down),
                    (chunk * size_of::<f32>()) >> 20,
                    rate(bytes, all),
                    100.0 * up.max(down).max(alone) / all
                );
            }
        }
    }
    Ok(())
}
