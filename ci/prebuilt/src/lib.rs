//! A library with kernels, whose program names none of them: the linker has to keep what registers them.

use cuda_safe::copy::{memcpy_from_symbol, memcpy_to_symbol};
use cuda_safe::{DeviceBuffer, Result, Stream, launch};

/// The kernels.
pub mod kernels {
    cuda_safe::include_kernels!("my_kernels");
}

/// Launches each kernel, and prints what it makes.
pub fn run() -> Result<()> {
    let (one, other) = (Stream::new()?, Stream::new()?);
    let x = DeviceBuffer::from_slice(&[1.5_f32; 1000])?;
    let mut y = DeviceBuffer::from_slice(&[0.0_f32; 1000])?;
    launch!(kernels::twice_float<<<4, 256, 0, &one>>>(&x, &mut y, 1000))?;
    let line = kernels::Line { factor: 2.0, offset: 1.0 };
    launch!(kernels::apply<<<4, 256, 0, &other>>>(line, &mut y, 1000))?;
    println!("y[999] = {}", y.to_vec()?[999]);
    if let Err(error) = launch!(kernels::apply<<<4, 256, 0, &one>>>(line, &mut y, 1024)) {
        println!("{error}");
    }
    memcpy_to_symbol(&kernels::filter, &[0.5, 1.5, 2.5])?;
    let mut out = DeviceBuffer::from_slice(&[0.0_f32; 3])?;
    launch!(kernels::count<<<1, 32, 0, &one>>>(&mut out))?;
    let (mut hits, mut numbers, mut inside) = ([0], [0; 4], [0]);
    memcpy_from_symbol(&mut hits, &kernels::hits)?;
    memcpy_from_symbol(&mut numbers, &kernels::shared_numbers)?;
    memcpy_from_symbol(&mut inside, &kernels::inside)?;
    println!("{:?}, {hits:?}, {numbers:?}, {inside:?}", out.to_vec()?);
    Ok(())
}
