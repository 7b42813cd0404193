//! A function that writes memory has it alone.
use cuda_safe::graph::node;
use cuda_safe::{Graph, PinnedBuffer};

fn main() -> cuda_safe::Result<()> {
    let mut host = PinnedBuffer::<f32>::alloc(4)?;
    let mut graph = Graph::new()?;
    graph.add(&[], node::host_fn_with((&host, &mut host), |(from, to): (&[f32], &mut [f32])| {
        to.copy_from_slice(from);
    }))?;
    Ok(())
}
