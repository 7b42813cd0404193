//! An example beside a library, without a use of the library.

use cuda_safe::{DeviceBuffer, Result, Stream, launch};

mod kernels {
    cuda_safe::include_kernels!("own_kernels");
}

fn main() -> Result<()> {
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
    let line = kernels::Line { factor: 2.0, offset: 1.0 };
    launch!(kernels::apply<<<1, kernels::TILE, 0, &stream>>>(&mut data, line, 3_u32))?;
    println!("{:?}", data.to_vec()?);
    Ok(())
}
