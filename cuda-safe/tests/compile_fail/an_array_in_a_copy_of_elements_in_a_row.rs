//! An array has no address: rows and layers of it are copied.
use cuda_safe::memory::Array;
use cuda_safe::{DeviceBuffer, memcpy};

fn main() -> cuda_safe::Result<()> {
    let mut device = DeviceBuffer::<f32>::alloc(4)?;
    let array = Array::<f32>::alloc_1d(4)?;
    memcpy(&mut device, &array)
}
