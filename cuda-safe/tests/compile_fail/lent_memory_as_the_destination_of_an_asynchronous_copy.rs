//! The host could read lent memory before the copy is complete: the buffer itself is the destination.
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, ManagedBuffer, memcpy_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let mut managed = ManagedBuffer::<u32>::alloc(3)?;
    memcpy_async(&mut *managed.host_mut()?, &device, &stream)
}
