//! A launch borrows the executable graph mutably: one thread at a time.
use cuda_safe::{GraphExec, Stream};

fn launch(mut exec: GraphExec, stream: &Stream) {
    std::thread::scope(|threads| {
        threads.spawn(|| exec.launch(stream));
        threads.spawn(|| exec.launch(stream));
    });
}

fn main() {
    let _ = launch;
}
