//! Nodes are added with these operations, but CUDA cannot give them to a node that exists.
use cuda_safe::Graph;
use cuda_safe::graph::node;

fn main() -> cuda_safe::Result<()> {
    let (mut graph, other) = (Graph::new()?, Graph::new()?);
    let child = graph.add(&[], node::child_graph(&other))?;
    graph.set(child, node::child_graph(&other))?;
    let mut exec = graph.instantiate()?;
    exec.set(&graph, child, node::empty())?;
    Ok(())
}
