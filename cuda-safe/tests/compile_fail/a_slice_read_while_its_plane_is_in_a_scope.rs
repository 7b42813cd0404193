//! A plane that is passed by value to a copy of a scope keeps its memory borrowed until the scope ends.
use cuda_safe::memory::{PitchedBuffer, PlaneMut};
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let device = PitchedBuffer::<u32>::alloc(2, 2)?;
    let mut host = vec![0_u32; 4];
    stream.scope(|scope| {
        scope.memcpy_2d_async(PlaneMut::from_slice(&mut host, 2, 2)?, &device)?;
        println!("{}", host[0]);
        Ok(())
    })?
}
