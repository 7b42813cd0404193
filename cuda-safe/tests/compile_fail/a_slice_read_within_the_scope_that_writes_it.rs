//! The copy may be incomplete before the scope has synchronized.
use cuda_safe::DeviceBuffer;
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = DeviceBuffer::<u32>::alloc(3)?;
    let mut host = vec![0_u32; 3];
    stream.scope(|scope| {
        scope.memcpy_async(&mut host, &device)?;
        assert_eq!(host[0], 0);
        Ok(())
    })?
}
