//! A wait for one thread's stream on another thread would be a wait for another stream.
use cuda_safe::{AsStream, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::per_thread()?;
    let view = stream.as_stream();
    std::thread::scope(|threads| {
        threads.spawn(move || view.synchronize());
    });
    Ok(())
}
