//! CUDA allows no host function in the body of a conditional node.
use cuda_safe::Graph;
use cuda_safe::graph::{Conditional, node};

fn main() -> cuda_safe::Result<()> {
    let mut graph = Graph::new()?;
    let condition = graph.condition(1)?;
    graph.add(&[], node::conditional(&condition, Conditional::If, |_, body| {
        body.add(&[], node::host_fn(|| ()))?;
        Ok(())
    }))?;
    Ok(())
}
