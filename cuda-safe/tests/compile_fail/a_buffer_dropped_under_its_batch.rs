//! What a batch keeps of its memory's books is valid only as long as the memory is there.
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
