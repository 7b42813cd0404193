//! A raw pointer in a launch that is proven.

use cuda_safe::launch::Checked;
use cuda_safe::{DeviceBuffer, Stream, launch};

fn raw(scale: &Checked<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[1.0_f32; 8])?;
    let address = data.as_mut_ptr();
    launch!(scale<<<1, 8, 0, &stream>>>(address, 2.0, 8))
}

fn main() {}
