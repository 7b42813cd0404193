//! Adds two vectors, with a staging buffer.
//!
//! The sum comes back through a second device buffer, so the program uses an upload, a kernel, a copy on
//! the device, and a download.
use anyhow::ensure;
use cuda_kernels::kernels::vector_add;
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, Stream, memcpy};

fn main() -> anyhow::Result<()> {
    let (n, threads) = (1024_u32, 256);
    let len = n as usize;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
    let mut sum = vec![0.0_f32; len];

    let mut d_a = DeviceBuffer::<f32>::alloc(len)?;
    let mut d_b = DeviceBuffer::<f32>::alloc(len)?;
    let mut d_sum = DeviceBuffer::<f32>::alloc(len)?;
    let mut d_staging = DeviceBuffer::<f32>::alloc(len)?;
    memcpy(&mut d_a, &a)?;
    memcpy(&mut d_b, &b)?;

    launch!(vector_add<<<n / threads, threads, 0, &Stream::legacy()?>>>(&d_a, &d_b, &mut d_sum, n))?;

    memcpy(&mut d_staging, &d_sum)?;
    memcpy(&mut sum, &d_staging)?;

    for i in 0..len {
        ensure!(sum[i] == a[i] + b[i]);
    }
    for i in (0..len).step_by(341) {
        println!("{:.1} + {:.1} = {:.1}", a[i], b[i], sum[i]);
    }
    println!("all {n} sums are right");
    Ok(())
}
