//! Work that is meant for the graph would run at once.
use cuda_safe::{DeviceBuffer, Stream, memset_async};

fn main() -> cuda_safe::Result<()> {
    let mut stream = Stream::new()?;
    let mut buffer = DeviceBuffer::<u8>::alloc(4)?;
    stream.capture(|_| memset_async(&mut buffer, 1, &stream))?;
    Ok(())
}
