//! A plane that is passed by value to a copy of a scope must be of memory that outlives the scope.
use cuda_safe::memory::{PitchedBuffer, PlaneMut};
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = PitchedBuffer::<u32>::alloc(2, 2)?;
    stream.scope(|scope| {
        let mut host = vec![0_u32; 4];
        scope.memcpy_2d_async(PlaneMut::from_slice(&mut host, 2, 2)?, &device)
    })?
}
