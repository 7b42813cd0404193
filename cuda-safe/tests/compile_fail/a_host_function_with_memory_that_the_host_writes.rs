//! While a guard lends the memory, no function can be launched that reads it.
use cuda_safe::{PinnedBuffer, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut host = PinnedBuffer::<f32>::alloc(4)?;
    let mut written = host.host_mut()?;
    stream.launch_host_fn_with(&host, |h: &[f32]| println!("{h:?}"))?;
    written[0] = 1.0;
    Ok(())
}
