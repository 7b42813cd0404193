//! Matrix products of any shape, naive and tiled.
//!
//! They are computed element by element, and tile by tile through shared memory, in blocks of 16 x 16
//! threads, for square, ragged and thin shapes. Every product goes through a staging buffer on the
//! device. The numbers are small integers, so both methods and the host give identical results.
use anyhow::ensure;
use cuda_kernels::kernels::{matrix_multiply_naive, matrix_multiply_tiled};
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, Stream, memcpy};

fn multiply(rows: u32, inner: u32, columns: u32) -> anyhow::Result<()> {
    let (height, depth, width) = (rows as usize, inner as usize, columns as usize);
    let a: Vec<f32> = (0..rows * inner).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..inner * columns).map(|i| (i % 5) as f32 - 1.0).collect();
    let mut c = vec![0.0_f32; height * width];

    let mut d_a = DeviceBuffer::<f32>::alloc(a.len())?;
    let mut d_b = DeviceBuffer::<f32>::alloc(b.len())?;
    let mut d_c = DeviceBuffer::<f32>::alloc(c.len())?;
    let mut d_staging = DeviceBuffer::<f32>::alloc(c.len())?;
    memcpy(&mut d_a, &a)?;
    memcpy(&mut d_b, &b)?;

    let (block, grid) = ((16, 16), (columns.div_ceil(16), rows.div_ceil(16)));
    let legacy = Stream::legacy()?;
    for way in ["naive", "tiled"] {
        if way == "naive" {
            launch!(matrix_multiply_naive<<<grid, block, 0, &legacy>>>(&d_a, &d_b, &mut d_c, rows, inner, columns))?;
        } else {
            launch!(matrix_multiply_tiled<<<grid, block, 0, &legacy>>>(&d_a, &d_b, &mut d_c, rows, inner, columns))?;
        }
        memcpy(&mut d_staging, &d_c)?;
        memcpy(&mut c, &d_staging)?;

        let mut sum = 0.0_f64;
        for row in 0..height {
            for column in 0..width {
                let expected: f32 = (0..depth).map(|k| a[row * depth + k] * b[k * width + column]).sum();
                ensure!(c[row * width + column] == expected);
                sum += f64::from(expected);
            }
        }
        println!("{rows} x {inner} times {inner} x {columns}, {way}: right, the elements' sum is {sum:.0}");
    }
    Ok(())
}

fn main() -> anyhow::Result<()> {
    multiply(64, 64, 64)?;
    multiply(33, 17, 70)?;
    multiply(16, 100, 5)?;
    multiply(1, 1, 1)
}
