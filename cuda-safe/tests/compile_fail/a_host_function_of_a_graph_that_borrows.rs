//! A graph may be launched after the frame that captured it has returned.
use cuda_safe::Stream;

fn main() -> cuda_safe::Result<()> {
    let mut stream = Stream::new()?;
    let text = String::from("here");
    stream.capture(|s| s.host_fn(|| println!("{text}")))?;
    Ok(())
}
