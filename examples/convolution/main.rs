//! A filter in constant memory that the host sets.
//!
//! A kernel reads the filter.
use anyhow::ensure;
use cuda_kernels::kernels::{convolution_filter as filter, convolve};
use cuda_safe::copy::{memcpy_from_symbol, memcpy_to_symbol};
use cuda_safe::{DeviceBuffer, Stream, launch, memcpy};

fn main() -> anyhow::Result<()> {
    const N: usize = 16;
    const TAPS: usize = 3;
    let (smooth, edges) = ([0.25_f32, 0.5, 0.25], [-1.0, 0.0, 1.0]);
    let mut signal = [0.0_f32; N];
    signal[8..].fill(8.0);
    let mut result = [0.0; N];

    let d_signal = DeviceBuffer::from_slice(&signal)?;
    let mut d_result = DeviceBuffer::<f32>::alloc(result.len())?;
    for (taps, expected) in [(smooth, 2.0), (edges, 8.0)] {
        memcpy_to_symbol(filter.slice(..taps.len())?, &taps)?;
        launch!(convolve<<<1, N, 0, &Stream::legacy()?>>>(&d_signal, &mut d_result, N, TAPS))?;
        memcpy(&mut result, &d_result)?;
        let numbers: Vec<String> = result.iter().map(|number| format!("{number:.1}")).collect();
        println!("{}", numbers.join(" "));
        ensure!(result[7] == expected);
    }
    let mut back = [0.0; TAPS];
    memcpy_from_symbol(&mut back, filter.slice(..edges.len())?)?;
    ensure!(back == edges);
    Ok(())
}
