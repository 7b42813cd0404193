//! A copy of an owner would free the same memory, and a copy of the memory can fail: it is made by `memcpy`.
use cuda_safe::DeviceBuffer;

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let _second = device.clone();
    Ok(())
}
