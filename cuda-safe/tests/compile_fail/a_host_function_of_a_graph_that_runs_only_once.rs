//! A graph may be launched again, so its host functions must be callable again.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let mut stream = Stream::new()?;
    let text = String::from("once");
    stream.capture(|s| s.host_fn(move || drop(text)))?;
    Ok(())
}
