//! A new recording moves the mark that another thread is waiting for.
use cuda_safe::{Event, Stream};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut event = Event::new()?;
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| event.synchronize());
        event.record(&stream)?;
        waiting.join().expect("no panic")
    })
}
