//! What is a stream is known to the tracker, and nobody adds to it.
use cuda_safe::{AsStream, Stream, stream::StreamRef};

struct Mine(Stream);

impl AsStream for Mine {
    fn as_stream(&self) -> StreamRef<'_> {
        self.0.as_stream()
    }
}

fn main() {}
