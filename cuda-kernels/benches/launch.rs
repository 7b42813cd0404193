//! The host cost of a launch: the runtime's call alone, `launch!` without buffers, and `launch!` with
//! three buffers that the tracker records.
//!
//! Run it with `cargo bench -p cuda-kernels --bench launch`. The kernel does nothing, so the queue never
//! fills. The figures are medians over many rounds, in which the three take turns. On the emulator they
//! mean nothing.
#![allow(unsafe_code, clippy::unwrap_used, reason = "compares with the raw call")]

use std::ffi::c_void;
use std::time::Instant;

use cuda_kernels::kernels::vector_add;
use cuda_safe::{DeviceBuffer, Result, Stream, check, launch, sys};

const ROUNDS: usize = 200;
const LAUNCHES: u32 = 100;

/// Returns the nanoseconds of one of many launches.
fn time(stream: &Stream, mut launch: impl FnMut() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    let spent = start.elapsed();
    stream.synchronize()?;
    Ok(spent.as_secs_f64() * 1e9 / f64::from(LAUNCHES))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let stream = Stream::non_blocking()?;
    let (a, b) = (DeviceBuffer::<f32>::alloc(256)?, DeviceBuffer::<f32>::alloc(256)?);
    let mut sum = DeviceBuffer::<f32>::alloc(256)?;
    let (mut a_raw, mut b_raw, mut sum_raw, mut count) = (a.as_ptr(), b.as_ptr(), sum.as_mut_ptr(), 0_u32);
    let one = sys::dim3 { x: 1, y: 1, z: 1 };

    let [mut raw, mut pointers, mut buffers, mut proven] = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        raw.push(time(&stream, || {
            let mut values: [*mut c_void; 4] = [
                (&raw mut a_raw).cast(),
                (&raw mut b_raw).cast(),
                (&raw mut sum_raw).cast(),
                (&raw mut count).cast(),
            ];
            let (kernel, values) = (vector_add.as_raw(), values.as_mut_ptr());
            // SAFETY: four values of the kernel's four types; with a count of zero the kernel touches
            // nothing.
            unsafe { check!(cudaLaunchKernel(kernel, one, one, values, 0, stream.as_raw())) }
        })?);
        pointers.push(time(&stream, || {
            // SAFETY: with a count of zero the kernel touches nothing.
            unsafe { launch!(vector_add.unchecked()<<<1, 1, 0, &stream>>>(a_raw, b_raw, sum_raw, 0)) }
        })?);
        buffers.push(time(&stream, || {
            // SAFETY: as above.
            unsafe { launch!(vector_add.unchecked()<<<1, 1, 0, &stream>>>(&a, &b, &mut sum, 0)) }
        })?);
        proven.push(time(&stream, || launch!(vector_add<<<1, 1, 0, &stream>>>(&a, &b, &mut sum, 0)))?);
    }
    let (raw, pointers, buffers) = (median(raw), median(pointers), median(buffers));
    let proven = median(proven);
    println!("cudaLaunchKernel                 {raw:8.1} ns");
    println!("launch! with raw pointers        {pointers:8.1} ns  ({:+.1})", pointers - raw);
    println!("launch! with three buffers       {buffers:8.1} ns  ({:+.1})", buffers - raw);
    println!("launch! of the same, proven      {proven:8.1} ns  ({:+.1})", proven - raw);
    Ok(())
}
