//! Padding on the host is uninitialized, and must not be read.
use bytemuck::AnyBitPattern;
use cuda_safe::{DeviceBuffer, memcpy};

#[derive(Clone, Copy, AnyBitPattern)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

fn main() -> cuda_safe::Result<()> {
    let mut device = DeviceBuffer::<Padded>::alloc(1)?;
    memcpy(&mut device, &[Padded { small: 1, large: 2 }])
}
