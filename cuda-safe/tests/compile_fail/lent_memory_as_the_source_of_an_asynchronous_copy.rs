//! Lent memory may change once the guard is dropped: the buffer itself is the source.
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    let pinned = PinnedBuffer::<u32>::alloc(3)?;
    memcpy_async(&mut device, &*pinned.host()?, &stream)
}
