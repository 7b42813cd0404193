//! The copy may not have read the vector before the scope has synchronized.
use cuda_safe::DeviceBuffer;
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    let mut host = vec![1_u32, 2, 3];
    stream.scope(|scope| {
        scope.memcpy_async(&mut device, &host)?;
        host[0] = 4;
        Ok(())
    })?
}
