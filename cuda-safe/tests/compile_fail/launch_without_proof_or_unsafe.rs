//! A launch without proof, and without `unsafe`.

use cuda_safe::launch::{Checked, Kernel};
use cuda_safe::{DeviceBuffer, Stream, launch};

fn unproven(rows: &Kernel<(*mut *mut f32, u32)>, scale: &Checked<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[1.0_f32; 8])?;
    launch!(scale.unchecked()<<<1, 8, 0, &stream>>>(&mut data, 2.0, 8))?;
    launch!(rows<<<1, 8, 0, &stream>>>(std::ptr::null_mut(), 8))
}

fn main() {}
