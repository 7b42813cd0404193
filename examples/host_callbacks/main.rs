//! Host functions continue the work of several streams.
//!
//! Each stream doubles its numbers on the device and copies them back. Then a host function checks them on a
//! thread of the runtime, and reports that the work is complete. The host waits only for these reports.
use std::sync::mpsc;

use cuda_kernels::kernels::double_values;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, launch, memcpy_async};

const WORKS: i32 = 8;
const N: usize = 4096;
const THREADS: usize = 256;

fn main() -> anyhow::Result<()> {
    let (report, reports) = mpsc::channel();
    let mut owners = Vec::new();
    for number in 0..WORKS {
        let input: Vec<i32> = (number..).take(N).collect();
        let mut h_data = PinnedBuffer::from_slice(&input)?;
        let mut d_data = DeviceBuffer::<i32>::alloc(N)?;
        let stream = Stream::non_blocking()?;
        memcpy_async(&mut d_data, &h_data, &stream)?;
        launch!(double_values<<<N / THREADS, THREADS, 0, &stream>>>(&mut d_data, N))?;
        memcpy_async(&mut h_data, &d_data, &stream)?;
        let report = report.clone();
        stream.launch_host_fn_with(&h_data, move |data: &[i32]| {
            let right = data.iter().zip(&input).filter(|(found, number)| **found == 2 * **number).count();
            let _ = report.send((number, right));
        })?;
        owners.push((stream, h_data, d_data)); // a drop here would wait for this stream's work
    }
    drop(report);

    let mut all: Vec<_> = reports.iter().collect();
    all.sort_unstable();
    for (number, right) in all {
        println!("work {number}: {right} of {N} numbers are right");
    }
    Ok(())
}
