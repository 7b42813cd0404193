//! The per-thread stream's handle names another stream on another thread.
use cuda_safe::stream::Stream;

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::per_thread()?;
    std::thread::spawn(move || stream.synchronize());
    Ok(())
}
