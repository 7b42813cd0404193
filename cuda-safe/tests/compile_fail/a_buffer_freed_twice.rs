//! Freeing takes the owner: there is nothing left to free, to drop or to use.
use cuda_safe::DeviceBuffer;

fn main() -> cuda_safe::Result<()> {
    let device = DeviceBuffer::<u32>::alloc(3)?;
    device.free()?;
    device.free()
}
