//! An operation borrows its memory until a node gets it. From then on, the graph retains the memory.
use cuda_safe::graph::node;
use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer};

fn main() -> cuda_safe::Result<()> {
    let mut graph = Graph::new()?;
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    let fill = node::memset(&mut device, 1);
    let call = node::host_fn_with(&mut host, |host: &mut [u8]| host.fill(2));
    drop((device, host));
    graph.add(&[], fill)?;
    graph.add(&[], call)?;
    Ok(())
}
