//! Memory that a graph allocates and frees through its nodes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::error::Detail;
use cuda_safe::graph::{NodeKind, node};
use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Result, Stream, memset_async, sys};
use cuda_testing::{Gate, alone};

fn unsupported<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    answer.unwrap_err().detail().as_str().contains(" is not supported")
}

#[test]
fn memory_of_a_graph_is_allocated_used_and_freed_by_each_launch() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut source = PinnedBuffer::from_slice(&[5_u32; 1000])?;
    let mut host = PinnedBuffer::from_slice(&[0_u32; 1000])?;
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u32>(1000))?;
    let put = graph.add(&[], node::memcpy(&mut scratch, &source))?;
    let get = graph.add(&[], node::memcpy(&mut host, &scratch))?;
    let end = graph.add(&[], node::free(&mut scratch))?;
    let start = scratch.node();
    assert_eq!((scratch.len(), scratch.is_empty()), (1000, false));
    assert!(!scratch.as_ptr().is_null());
    // The program named no edge.
    assert_eq!(graph.edges()?, [(start, put), (put, get), (get, end)]);
    let kinds = [graph.node_kind(start)?, graph.node_kind(end)?];
    assert_eq!(kinds, [NodeKind::MEM_ALLOC, NodeKind::MEM_FREE]);
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [5; 1000]);
    source.host_mut()?.fill(6);
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [6; 1000]);
    // An H200 also counts memory that its graphs may use at their next launch. Nothing remains after the
    // last graph is dropped.
    let device = graph.device();
    drop((exec, graph, scratch));
    device.synchronize()?;
    device.trim_graph_memory()?;
    let left = device.graph_memory()?;
    assert_eq!((left.used, left.reserved), (0, 0));
    Ok(())
}

#[test]
fn memory_that_no_node_frees_keeps_a_graph_from_being_made_executable() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u8>(16))?;
    assert!(unsupported(graph.instantiate()));
    graph.add(&[], node::free(&mut scratch))?;
    graph.instantiate()?;
    // The value is only a name of the memory. Without it, the memory cannot be freed.
    let mut graph = Graph::new()?;
    drop(graph.add(&[], node::alloc::<u8>(16))?);
    assert!(unsupported(graph.instantiate()));
    Ok(())
}

#[test]
fn nodes_behind_the_end_of_memory_cannot_use_it_nor_end_it_again() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 16])?;
    let mut graph = Graph::new()?;
    let before = graph.add(&[], node::memset(&mut bytes, 1))?;
    let mut scratch = graph.add(&[before], node::alloc::<u8>(16))?;
    let between = graph.add(&[scratch.node()], node::memset(&mut bytes, 2))?;
    let free = graph.add(&[between], node::free(&mut scratch))?;
    let after = graph.add(&[free], node::memset(&mut bytes, 3))?;
    assert!(unsupported(graph.add(&[], node::memset(&mut scratch, 4))));
    assert!(unsupported(graph.add(&[], node::memcpy(&mut bytes, &scratch))));
    assert!(unsupported(graph.add(&[], node::free(&mut scratch))));
    let mut exec = graph.instantiate()?;
    // Nor can nodes whose operation is replaced, unless they are between the allocation and the free.
    assert!(unsupported(exec.set(&graph, before, node::memset(&mut scratch, 4))));
    assert!(unsupported(exec.set(&graph, after, node::memset(&mut scratch, 4))));
    exec.set(&graph, between, node::memset(&mut scratch, 4))?;
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [3; 16]);
    Ok(())
}

#[test]
fn an_executable_form_that_is_older_than_memory_of_the_graph_cannot_use_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 16])?;
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    let mut old = graph.instantiate()?;
    let mut scratch = graph.add(&[], node::alloc::<u8>(16))?;
    assert!(unsupported(old.set(&graph, fill, node::memset(&mut scratch, 2))));
    graph.add(&[], node::free(&mut scratch))?;
    assert!(unsupported(old.set(&graph, fill, node::memset(&mut scratch, 2))));
    // Nor does it take the memory over.
    assert!(old.update(&graph).is_err());
    old.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [1; 16]);
    Ok(())
}

#[test]
fn memory_of_a_graph_is_refused_by_other_graphs() -> Result<()> {
    let _alone = alone();
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 16])?;
    let (mut first, mut second) = (Graph::new()?, Graph::new()?);
    let mut scratch = first.add(&[], node::alloc::<u8>(16))?;
    let fill = second.add(&[], node::memset(&mut bytes, 1))?;
    assert!(unsupported(second.add(&[], node::memset(&mut scratch, 1))));
    assert!(unsupported(second.add(&[], node::memcpy(&mut bytes, &scratch))));
    assert!(unsupported(second.add(&[], node::free(&mut scratch))));
    let mut exec = second.instantiate()?;
    assert!(unsupported(exec.set(&second, fill, node::memset(&mut scratch, 1))));
    // So is the graph that another one would contain.
    first.add(&[], node::free(&mut scratch))?;
    assert!(unsupported(second.add(&[], node::child_graph(&first))));
    assert!(unsupported(exec.update(&first)));
    assert!(unsupported(first.try_clone()));
    let (mut within, mut outer) = (Graph::new()?, Graph::new()?);
    within.add(&[], node::memset(&mut bytes, 1))?;
    let node = outer.add(&[], node::child_graph(&within))?;
    let mut exec = outer.instantiate()?;
    assert!(unsupported(exec.set(&outer, node, node::child_graph(&first))));
    Ok(())
}

#[test]
fn a_graph_with_memory_has_one_executable_form_at_a_time() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u8>(16))?;
    graph.add(&[], node::free(&mut scratch))?;
    let mut exec = graph.instantiate()?;
    assert!(unsupported(graph.instantiate()));
    exec.launch(&stream)?;
    drop(exec);
    let mut exec = graph.instantiate()?;
    drop((graph, scratch));
    exec.launch(&stream)?;
    stream.synchronize()
}

#[test]
fn launches_of_a_graph_with_memory_are_ordered_like_any_other() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 1 << 16])?;
    let mut host = PinnedBuffer::from_slice(&[0_u8; 1 << 16])?;
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u8>(1 << 16))?;
    graph.add(&[], node::memcpy(&mut scratch, &bytes))?;
    graph.add(&[], node::memcpy(&mut host, &scratch))?;
    graph.add(&[], node::free(&mut scratch))?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &other);
    memset_async(&mut bytes, 7, &other)?;
    exec.launch(&stream)?;
    gate.open();
    assert!(host.host()?.iter().all(|byte| *byte == 7));
    Ok(())
}

#[test]
fn parts_of_such_memory_conflict_only_where_they_overlap() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut host = PinnedBuffer::from_slice(&[0_u16; 6])?;
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u16>(8))?;
    let low = graph.add(&[], node::memset(&mut scratch.slice_mut(..4)?, 1))?;
    let high = graph.add(&[], node::memset(&mut scratch.slice_mut(4..)?, 2))?;
    let get = graph.add(&[], node::memcpy(&mut host, &scratch.slice(2..)?))?;
    let free = graph.add(&[], node::free(&mut scratch))?;
    let start = scratch.node();
    assert_eq!(graph.edges()?, [(start, low), (start, high), (low, get), (high, get), (get, free)]);
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [0x101, 0x101, 0x202, 0x202, 0x202, 0x202]);
    // The two fills are not ordered, so neither may reach into the other's part.
    let refused = exec.set(&graph, low, node::memset(&mut scratch.slice_mut(3..5)?, 3)).unwrap_err();
    assert_eq!(refused.detail().as_str(), cuda_testing::nodes_unordered(2));
    exec.set(&graph, low, node::memset(&mut scratch.slice_mut(2..4)?, 3))?;
    exec.launch(&stream)?;
    assert_eq!(host.host()?[..3], [0x303, 0x303, 0x202]);
    let range = Detail::out_of_range(5, 9, 8);
    assert_eq!(scratch.slice(5..9).unwrap_err().detail(), &range);
    assert_eq!(scratch.slice_mut(5..9).unwrap_err().detail(), &range);
    assert!(scratch.slice(3..3)?.is_empty() && scratch.slice_mut(..)?.len() == 8);
    Ok(())
}

#[test]
fn no_elements_are_no_allocation_and_too_many_are_refused() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let mut none = graph.add(&[], node::alloc::<u32>(0))?;
    assert!(none.is_empty() && none.as_ptr().is_null());
    let fill = graph.add(&[], node::memset(&mut none, 1))?;
    let free = graph.add(&[], node::free(&mut none))?;
    for node in [none.node(), fill, free] {
        assert_eq!(graph.node_kind(node)?, NodeKind::EMPTY);
    }
    assert!(
        graph
            .add(&[], node::alloc::<u32>(usize::MAX))
            .unwrap_err()
            .detail()
            .as_str()
            .contains(" overflows: ")
    );
    let error = graph.add(&[], node::alloc::<u8>(isize::MAX.unsigned_abs())).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorMemoryAllocation);
    graph.instantiate()?;
    Ok(())
}
