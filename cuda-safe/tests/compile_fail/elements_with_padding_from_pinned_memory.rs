//! A copy must not read padding that the host did not initialize, in pinned memory either.
use bytemuck::AnyBitPattern;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, memcpy_async};

#[derive(Clone, Copy, AnyBitPattern)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<Padded>::alloc(1)?;
    let pinned = PinnedBuffer::<Padded>::alloc(1)?;
    memcpy_async(&mut device, &pinned, &stream)
}
