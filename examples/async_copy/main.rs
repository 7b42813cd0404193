//! Copies a million random floats to the device and back.
//!
//! They go asynchronously from pinned memory through a non-blocking stream. The host waits once, at the end.
use anyhow::ensure;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, memcpy_async};

fn main() -> anyhow::Result<()> {
    let n = 1 << 20;
    let mut h_source = PinnedBuffer::<f32>::alloc(n)?;
    let mut h_result = PinnedBuffer::<f32>::alloc(n)?;
    let mut d_data = DeviceBuffer::<f32>::alloc(n)?;

    let mut state = 2_463_534_242_u32; // xorshift: every run and both languages draw the same numbers
    for number in h_source.host_mut()?.iter_mut() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *number = (state >> 8) as f32 / 16_777_216.0;
    }
    h_result.host_mut()?.fill(0.0);

    let stream = Stream::non_blocking()?;
    memcpy_async(&mut d_data, &h_source, &stream)?;
    memcpy_async(&mut h_result, &d_data, &stream)?;
    stream.synchronize()?;

    let (source, result) = (h_source.host()?, h_result.host()?);
    let mut sum = 0.0_f64;
    for i in 0..n {
        ensure!(result[i] == source[i]);
        sum += f64::from(result[i]);
    }
    println!("{n} floats came back unchanged");
    println!("first {:.6}, last {:.6}, mean {:.6}", result[0], result[n - 1], sum / n as f64);
    Ok(())
}
