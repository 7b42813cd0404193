//! While a guard lends the memory for writing, no copy may read it.
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    let mut pinned = PinnedBuffer::<u32>::alloc(3)?;
    let mut writing = pinned.host_mut()?;
    memcpy_async(&mut device, &pinned, &stream)?;
    writing[0] = 1;
    Ok(())
}
