//! A plane of a slice that a copy of a scope writes stays borrowed until the scope ends.
use cuda_safe::memory::{PitchedBuffer, PlaneMut};
use cuda_safe::stream::Stream;
use cuda_safe::memcpy_2d;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = PitchedBuffer::<u32>::alloc(2, 2)?;
    let mut other = PitchedBuffer::<u32>::alloc(2, 2)?;
    let mut host = vec![0_u32; 4];
    let mut plane = PlaneMut::from_slice(&mut host, 2, 2)?;
    stream.scope(|scope| {
        scope.memcpy_2d_async(&mut plane, &device)?;
        memcpy_2d(&mut other, &plane)
    })?
}
