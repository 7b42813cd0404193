//! A batch is asynchronous: a slice may be freed before it is read, or read before it is written.
use cuda_safe::{CopyBatch, DeviceBuffer, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    let (source, mut destination) = (vec![1_u32, 2, 3], vec![0_u32; 3]);
    CopyBatch::new().copy(&mut device, &source).enqueue(&stream)?;
    CopyBatch::new().copy(&mut destination, &device).enqueue(&stream)
}
