//! A plane of a slice may be freed or changed before an asynchronous copy of it is complete.
use cuda_safe::memory::{PitchedBuffer, Plane};
use cuda_safe::stream::Stream;
use cuda_safe::memcpy_2d_async;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut device = PitchedBuffer::<u32>::alloc(2, 2)?;
    let host = vec![1_u32, 2, 3, 4];
    memcpy_2d_async(&mut device, &Plane::from_slice(&host, 2, 2)?, &stream)
}
