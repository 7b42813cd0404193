//! A product of half-precision matrices by tensor cores.
use anyhow::ensure;
use cuda_kernels::kernels::{TENSOR_TILE, tensor_multiply};
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, Stream, memcpy};
use half::f16;

fn main() -> anyhow::Result<()> {
    let tiles = 4;
    let (width, n) = (tiles * TENSOR_TILE, (tiles * TENSOR_TILE) as usize);
    let number = |i: usize, step, below| f16::from_f32((i * step % below) as f32 - (below / 2) as f32);
    let a: Vec<f16> = (0..n * n).map(|i| number(i, 7, 11)).collect();
    let b: Vec<f16> = (0..n * n).map(|i| number(i, 5, 13)).collect();
    let mut c = vec![0.0_f32; n * n];

    let (d_a, d_b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let mut d_c = DeviceBuffer::<f32>::alloc(n * n)?;
    let stream = Stream::legacy()?;
    launch!(tensor_multiply<<<(tiles, tiles), 32, 0, &stream>>>(&d_a, &d_b, &mut d_c, width))?;
    memcpy(&mut c, &d_c)?;

    // The numbers are small integers, so no sum is rounded, in any order of summation.
    for (i, element) in c.iter().enumerate() {
        let sum: f32 = (0..n).map(|k| a[i / n * n + k].to_f32() * b[k * n + i % n].to_f32()).sum();
        ensure!(*element == sum, "element {i} is {element}, not {sum}");
    }
    println!("corners: {:.0} {:.0} {:.0} {:.0}", c[0], c[n - 1], c[n * n - n], c[n * n - 1]);
    println!("all {} elements are right", n * n);
    Ok(())
}
