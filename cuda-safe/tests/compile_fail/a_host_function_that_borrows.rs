//! A host function may run after the frame that launched it has returned.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut count = 0;
    stream.launch_host_fn(|| count += 1)?;
    Ok(())
}
