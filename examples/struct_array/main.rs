//! An array of structs, transformed on the device.
use anyhow::ensure;
use cuda_kernels::kernels::{Point, transform_points};
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, Stream, memcpy};

fn main() -> anyhow::Result<()> {
    let (n, threads) = (256_u32, 64);
    let mut points: Vec<Point> =
        (0..n).map(|i| Point { x: i as f32, y: (2 * i) as f32, z: (3 * i) as f32 }).collect();

    let (scale, offset) = (Point { x: 2.0, y: 2.0, z: 0.5 }, Point { x: 1.0, y: 0.0, z: -1.0 });
    let mut d_points = DeviceBuffer::<Point>::alloc(n as usize)?;
    memcpy(&mut d_points, &points)?;
    let stream = Stream::legacy()?;
    launch!(transform_points<<<n / threads, threads, 0, &stream>>>(&mut d_points, scale, offset, n))?;
    memcpy(&mut points, &d_points)?;

    for (i, p) in (0..n).zip(&points) {
        ensure!(p.x == (2 * i) as f32 + 1.0 && p.y == (4 * i) as f32 && p.z == 1.5 * i as f32 - 1.0);
        if i % 85 == 0 {
            println!("point {i}: ({:.1}, {:.1}, {:.1})", p.x, p.y, p.z);
        }
    }
    println!("all {n} points are right");
    Ok(())
}
