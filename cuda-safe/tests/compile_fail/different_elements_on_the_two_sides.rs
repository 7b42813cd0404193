//! Bytes of one type are not elements of another.
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let mut device = DeviceBuffer::<f32>::alloc(3)?;
    memcpy(&mut device, &[1_u32, 2, 3])
}
