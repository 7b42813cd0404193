//! Memory that is borrowed in a scope must live until the scope has synchronized.
use cuda_safe::DeviceBuffer;
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(3)?;
    stream.scope(|scope| {
        let host = vec![1_u32, 2, 3];
        scope.memcpy_async(&mut device, &host)
    })?
}
