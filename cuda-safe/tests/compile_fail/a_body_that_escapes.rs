//! Outside its closure a body would have nodes whose memory its conditional node does not know.
use cuda_safe::Graph;
use cuda_safe::graph::{Conditional, node};

fn main() -> cuda_safe::Result<()> {
    let mut graph = Graph::new()?;
    let condition = graph.condition(1)?;
    let mut escaped = None;
    graph.add(&[], node::conditional(&condition, Conditional::If, |_, body| {
        escaped = Some(body);
        Ok(())
    }))?;
    Ok(())
}
