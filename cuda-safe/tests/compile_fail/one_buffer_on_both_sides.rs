//! A buffer is not copied onto itself: one side is read while the other is written.
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let mut device = DeviceBuffer::<u32>::alloc(4)?;
    memcpy(&mut device, &device)
}
