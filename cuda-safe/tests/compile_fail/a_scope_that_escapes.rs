//! Outside its closure nothing would wait for the work of a scope.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut escaped = None;
    stream.scope(|scope| escaped = Some(scope))?;
    Ok(())
}
