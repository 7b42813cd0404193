//! A graph's own memory exists only between two of its nodes: operations of a stream do not take it.
use cuda_safe::graph::node;
use cuda_safe::{Graph, Stream, memset_async};

fn main() -> cuda_safe::Result<()> {
    let stream = Stream::new()?;
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u8>(16))?;
    memset_async(&mut scratch, 1, &stream)
}
