//! Nothing would keep the vector alive and unchanged until the copy is complete.
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    memcpy_async(&mut device, &vec![1_u32, 2, 3], &stream)
}
