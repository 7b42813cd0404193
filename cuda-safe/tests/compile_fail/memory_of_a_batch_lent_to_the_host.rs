//! A batch borrows its memory as long as it can be enqueued.
use cuda_safe::{CopyBatch, DeviceBuffer, PinnedBuffer, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let mut pinned = PinnedBuffer::<u32>::alloc(3)?;
    let batch = CopyBatch::new().copy(&mut pinned, &device);
    let reading = pinned.host()?;
    batch.enqueue(&stream)?;
    assert_eq!(reading[0], 0);
    Ok(())
}
