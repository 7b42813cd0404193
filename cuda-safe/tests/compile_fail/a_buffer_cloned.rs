//! A copy of an owner would free the same memory twice. A copy of the memory can fail, so `memcpy` makes it.
use cuda_safe::DeviceBuffer;

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let _second = device.clone();
    Ok(())
}
