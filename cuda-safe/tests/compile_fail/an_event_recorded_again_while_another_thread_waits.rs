//! Recording again moves the mark under whoever is waiting for it.
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
