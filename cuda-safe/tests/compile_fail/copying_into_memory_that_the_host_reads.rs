//! While a guard lends the memory for reading, no copy may write it.
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let mut pinned = PinnedBuffer::<u32>::alloc(3)?;
    let reading = pinned.host()?;
    memcpy_async(&mut pinned, &device, &stream)?;
    assert_eq!(reading[0], 0);
    Ok(())
}
