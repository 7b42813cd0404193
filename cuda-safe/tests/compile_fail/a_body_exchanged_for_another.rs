//! A body inside another one cannot take its place, in which it would outlive its closure.
use cuda_safe::Graph;
use cuda_safe::graph::{Conditional, node};

fn main() -> cuda_safe::Result<()> {
    let mut graph = Graph::new()?;
    let outer = graph.condition(1)?;
    let mut other = Graph::new()?;
    let inner = other.condition(1)?;
    graph.add(&[], node::conditional(&outer, Conditional::If, |_, body| {
        other.add(&[], node::conditional(&inner, Conditional::If, |_, within| {
            std::mem::swap(body, within);
            Ok(())
        }))?;
        Ok(())
    }))?;
    Ok(())
}
