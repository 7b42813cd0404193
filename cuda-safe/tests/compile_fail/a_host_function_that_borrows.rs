//! A host function runs when the frame that launched it may be gone.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut count = 0;
    stream.launch_host_fn(|| count += 1)?;
    Ok(())
}
