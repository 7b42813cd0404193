//! The tracker knows every kind of stream, and a program cannot add one.
use cuda_safe::{AsStream, Stream, stream::StreamRef};

struct Mine(Stream);

impl AsStream for Mine {
    fn as_stream(&self) -> StreamRef<'_> {
        self.0.as_stream()
    }
}

fn main() {}
