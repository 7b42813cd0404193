//! Tests of a package link its kernels, with no use of the package's library. Kernels need no header.

use cuda_safe::{DeviceBuffer, Result, Stream, launch};

use crate::kernels;

#[test]
fn a_kernel_of_a_source_without_a_header_runs() -> Result<()> {
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
    let line = kernels::Line { factor: 2.0, offset: 1.0 };
    launch!(kernels::apply<<<1, kernels::TILE, 0, &stream>>>(&mut data, line, 3_u32))?;
    assert_eq!(data.to_vec()?, [3.0, 5.0, 7.0]);
    Ok(())
}

#[test]
fn explicit_instances_of_a_template_have_handles() -> Result<()> {
    let stream = Stream::new()?;
    let ones = DeviceBuffer::from_slice(&[1.0_f32; 8])?;
    let mut sums = DeviceBuffer::from_slice(&[0.0_f32; 2])?;
    launch!(kernels::sums_float_4<<<1, 32, 0, &stream>>>(&ones, &mut sums, 2))?;
    assert_eq!(sums.to_vec()?, [4.0, 4.0]);

    let mut ones = DeviceBuffer::from_slice(&[1_u32; 32])?;
    let mut sum = DeviceBuffer::from_slice(&[0_u32])?;
    launch!(kernels::sums_unsigned_int_32<<<1, 32, 0, &stream>>>(&mut ones, &mut sum, 1))?;
    assert_eq!(sum.to_vec()?, [32]);
    Ok(())
}
