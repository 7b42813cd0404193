//! A view does not outlive its stream.
use cuda_safe::{AsStream, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let view = stream.as_stream();
    drop(stream);
    view.synchronize()
}
