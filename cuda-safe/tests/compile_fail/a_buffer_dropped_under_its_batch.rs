//! The accesses that a batch retains are valid only while the memory exists.
use cuda_safe::{CopyBatch, DeviceBuffer, PinnedBuffer, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let pinned = PinnedBuffer::<u32>::alloc(3)?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    let batch = CopyBatch::new().copy(&mut device, &pinned);
    batch.enqueue(&stream)?;
    drop(pinned);
    batch.enqueue(&stream)
}
