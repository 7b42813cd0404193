//! Each copy of a batch has elements of one type on both sides.
use cuda_safe::{CopyBatch, DeviceBuffer, PinnedBuffer, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<f32>::alloc(3)?;
    let pinned = PinnedBuffer::<u32>::alloc(3)?;
    CopyBatch::new().copy(&mut device, &pinned).enqueue(&stream)
}
