//! A view for reading is not a destination.
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<u32>::alloc(3)?;
    memcpy(&mut device.slice(..)?, &[1_u32, 2, 3])
}
