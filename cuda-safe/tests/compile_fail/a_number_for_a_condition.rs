//! A number is not the condition of a graph.
use cuda_safe::graph::node;
use cuda_safe::Graph;
use cuda_safe::launch::{ConditionalHandle, Kernel};

fn add(graph: &mut Graph, kernel: &Kernel<(ConditionalHandle,)>) -> cuda_safe::Result<()> {
    // SAFETY: does not compile.
    unsafe { graph.add(&[], node::kernel(kernel, (1, 1), (7_u64,))) }?;
    Ok(())
}

fn main() {}
