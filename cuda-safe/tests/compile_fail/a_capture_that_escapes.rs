//! Outside its closure there is no graph that the work could go into.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let mut stream = Stream::new()?;
    let mut escaped = None;
    stream.capture(|s| {
        escaped = Some(s);
        Ok(())
    })?;
    Ok(())
}
