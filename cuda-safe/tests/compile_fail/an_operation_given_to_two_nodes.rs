//! An operation is consumed by its node: the duty of an unsafe one is for one node.
use cuda_safe::Graph;
use cuda_safe::graph::node;
use cuda_safe::launch::Kernel;

fn add(graph: &mut Graph, kernel: &Kernel<(u32,)>) -> cuda_safe::Result<()> {
    // SAFETY: does not compile.
    let launch = unsafe { node::kernel(kernel, (1, 1), (7,)) };
    graph.add(&[], launch)?;
    graph.add(&[], launch)?;
    Ok(())
}

fn main() {}
