//! A copy into memory that is registered for reading fails on the device.
use cuda_safe::{DeviceBuffer, Registered, Stream, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::from_slice(&[1_u32, 2, 3])?;
    let mut numbers = Registered::new_read_only(vec![0; 3])?;
    memcpy_async(&mut numbers, &device, &stream)?;
    memcpy_async(&mut numbers.as_slice_mut(), &device, &stream)
}
