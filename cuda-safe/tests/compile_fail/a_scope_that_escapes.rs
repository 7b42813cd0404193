//! Outside its closure nobody would synchronise for what a scope is given.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut escaped = None;
    stream.scope(|scope| escaped = Some(scope))?;
    Ok(())
}
