//! Nothing would prevent reads of the slice before the copy is complete.
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let mut host = [0_u32; 3];
    memcpy_async(&mut host[..], &device, &stream)
}
