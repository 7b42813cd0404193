//! Executable graphs whose nodes receive other operations, and the properties that graphs report of their
//! nodes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_safe::error::Detail;
use cuda_safe::graph::{NodeKind, node};
use cuda_safe::{
    DeviceBuffer, Graph, GraphExec, PinnedBuffer, Registered, Result, Stream, memset, memset_async, sys,
};
use cuda_testing::{Gate, alone};

fn unsupported<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    answer.unwrap_err().detail().as_str().contains(" is not supported")
}

#[test]
fn copies_and_fills_are_others_from_the_next_launch_on() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let (mut first, mut second) =
        (PinnedBuffer::from_slice(&[0_u8; 4])?, PinnedBuffer::from_slice(&[0_u8; 4])?);
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    let copy = graph.add(&[fill], node::memcpy(&mut first, &bytes))?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    // The launch above waits at the gate, and is not changed.
    exec.set(&graph, fill, node::memset(&mut bytes.slice_mut(1..3)?, 9))?;
    exec.set(&graph, copy, node::memcpy(&mut second, &bytes))?;
    exec.launch(&stream)?;
    gate.open();
    assert_eq!((first.host()?.to_vec(), second.host()?.to_vec()), (vec![1; 4], vec![1, 9, 9, 1]));
    // The graph itself is unchanged.
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [1; 4]);
    Ok(())
}

#[test]
fn what_a_node_uses_now_is_kept_and_ordered_and_what_it_used_is_not() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 1 << 20])?;
    let mut second = DeviceBuffer::from_slice(&[0_u8; 1 << 20])?;
    let mut host = PinnedBuffer::from_slice(&[0_u8; 1 << 20])?;
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    let copy = graph.add(&[fill], node::memcpy(&mut host, &bytes))?;
    let mut exec = graph.instantiate()?;
    exec.set(&graph, fill, node::memset(&mut second, 5))?;
    exec.set(&graph, copy, node::memcpy(&mut host, &second))?;
    // The graph and its executable form retain their memory, also after the owners are dropped.
    drop(graph);
    let gate = Gate::on(&alone, &other);
    memset_async(&mut second, 7, &other)?;
    drop(second);
    exec.launch(&stream)?;
    // A launch does not wait for memory that it no longer uses.
    memset_async(&mut bytes, 3, &other)?;
    gate.open();
    assert!(host.host()?.iter().all(|byte| *byte == 5));
    let guard = host.host()?;
    let refused = exec.launch(&stream).unwrap_err();
    assert_eq!(refused.detail(), &Detail::HOST_BORROWED, "{refused}");
    drop(guard);
    exec.launch(&stream)
}

#[test]
fn the_memory_of_a_launch_under_way_lives_until_that_is_over() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 1 << 20])?;
    let mut host = PinnedBuffer::from_slice(&[0_u8; 1 << 20])?;
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    graph.add(&[fill], node::memcpy(&mut host, &bytes))?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    let mut other = DeviceBuffer::from_slice(&[0_u8; 1 << 20])?;
    exec.set(&graph, fill, node::memset(&mut other, 2))?;
    drop((bytes, graph));
    let mut new = DeviceBuffer::from_slice(&[9_u8; 1 << 20])?;
    memset(&mut new, 9)?;
    assert!(host.host()?.iter().all(|byte| *byte == 1));
    Ok(())
}

#[test]
fn work_that_nothing_orders_with_another_node_is_refused() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[0_u8; 4])?, DeviceBuffer::from_slice(&[0_u8; 4])?);
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memset(&mut a, 1))?;
    let second = graph.add(&[], node::memset(&mut b, 2))?;
    let third = graph.add(&[first], node::memset(&mut b.slice_mut(..2)?, 3))?;
    let mut exec = graph.instantiate()?;
    let error = exec.set(&graph, second, node::memset(&mut a, 4)).unwrap_err();
    assert_eq!(error.detail().as_str(), cuda_testing::nodes_unordered(0), "{error}");
    // The third comes after both.
    exec.set(&graph, third, node::memset(&mut a, 5))?;
    exec.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![5; 4], vec![2; 4]));
    Ok(())
}

#[test]
fn nodes_that_cannot_be_meant_are_refused_and_what_was_executable_still_is() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    let mut exec: GraphExec = graph.instantiate()?;
    let late = graph.add(&[fill], node::empty())?;
    let other = Graph::new()?;
    let captured = stream.capture(|s| memset_async(&mut bytes, 2, s))?;
    let mut of_capture = captured.instantiate()?;
    let whole = captured.nodes()[0];
    assert!(unsupported(exec.set(&graph, late, node::memset(&mut bytes, 3))));
    assert!(unsupported(exec.set(&other, fill, node::memset(&mut bytes, 3))));
    assert!(unsupported(exec.set(&captured, whole, node::memset(&mut bytes, 3))));
    assert!(unsupported(exec.set(&graph, whole, node::memset(&mut bytes, 3))));
    assert!(unsupported(of_capture.set(&captured, whole, node::memset(&mut bytes, 3))));
    let error = exec.set(&graph, fill, node::host_fn(|| ())).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "{error}");
    let error = exec.set(&graph, fill, node::memset(&mut bytes.slice_mut(..0)?, 3)).unwrap_err();
    assert_eq!(error.detail(), &Detail::zero("the number of elements"), "{error}");
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [1; 4]);
    // The names of the nodes that were taken over are not known.
    let same = graph_of(&mut bytes, 6)?;
    let mut exec = graph_of(&mut bytes, 5)?.instantiate()?;
    exec.update(&same)?;
    assert!(unsupported(exec.set(&same, same.nodes()[0], node::memset(&mut bytes, 3))));
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [6; 4]);
    Ok(())
}

fn graph_of(bytes: &mut DeviceBuffer<u8>, value: u8) -> Result<Graph> {
    let mut graph = Graph::new()?;
    graph.add(&[], node::memset(bytes, value))?;
    Ok(graph)
}

#[test]
fn another_function_is_called_and_each_is_dropped_once_nobody_calls_it() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let counts = |amount: usize| {
        let calls = Arc::clone(&calls);
        move || {
            calls.fetch_add(amount, Ordering::SeqCst);
        }
    };
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::host_fn(counts(1)))?;
    let mut exec: GraphExec = graph.instantiate()?;
    exec.launch(&stream)?;
    exec.set(&graph, node, node::host_fn(counts(10)))?;
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    exec.set(&graph, node, node::host_fn(counts(100)))?;
    assert_eq!(Arc::strong_count(&calls), 4, "a launch under way still needs the second one");
    exec.launch(&stream)?;
    gate.open();
    stream.synchronize()?;
    assert_eq!(calls.load(Ordering::SeqCst), 111);
    exec.set(&graph, node, node::host_fn(|| ()))?;
    assert_eq!(Arc::strong_count(&calls), 2, "nobody calls the second and the third any more");
    drop((exec, graph));
    while Arc::strong_count(&calls) > 1 {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn a_panic_in_a_function_that_was_set_is_reported() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::host_fn(|| ()))?;
    let mut exec: GraphExec = graph.instantiate()?;
    exec.set(&graph, node, node::host_fn(|| std::panic::resume_unwind(Box::new(()))))?;
    exec.launch(&stream)?;
    let error = stream.synchronize().unwrap_err();
    assert!(error.detail().as_str().contains(" panicked"), "{error}");
    stream.synchronize()
}

#[test]
fn a_graph_within_is_another_one_of_its_shape() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[0_u8; 4])?, DeviceBuffer::from_slice(&[0_u8; 4])?);
    let (ones, twos) = (graph_of(&mut a, 1)?, graph_of(&mut b, 2)?);
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::child_graph(&ones))?;
    assert_eq!(graph.node_kind(node)?, NodeKind::GRAPH);
    let mut exec = graph.instantiate()?;
    exec.set(&graph, node, node::child_graph(&twos))?;
    drop(twos);
    exec.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![0; 4], vec![2; 4]));
    let mut calls = Graph::new()?;
    calls.add(&[], node::host_fn(|| ()))?;
    let error = exec.set(&graph, node, node::child_graph(&calls)).unwrap_err();
    assert!(!error.is_refused(), "a function in the place of a fill: {error}");
    let error = exec.set(&graph, node, node::child_graph(&Graph::new()?)).unwrap_err();
    assert!(!error.is_refused(), "{error}");
    exec.launch(&stream)?;
    stream.synchronize()
}

#[test]
fn nodes_are_skipped_while_they_are_disabled() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let values = DeviceBuffer::from_slice(&[1_u8, 1, 1, 1, 2, 2, 5])?;
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memcpy(&mut bytes, &values.slice(..4)?))?;
    let second = graph.add(&[first], node::memcpy(&mut bytes.slice_mut(2..)?, &values.slice(4..6)?))?;
    let nothing = graph.add(&[], node::empty())?;
    let mut exec = graph.instantiate()?;
    exec.set_enabled(&graph, second, false)?;
    assert!(exec.is_enabled(&graph, first)? && !exec.is_enabled(&graph, second)?);
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [1; 4]);
    exec.set_enabled(&graph, first, false)?;
    memset(&mut bytes, 7)?;
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [7; 4]);
    // The operation of a disabled node can be changed, too, and runs when the node is enabled again.
    exec.set(&graph, second, node::memcpy(&mut bytes.slice_mut(..1)?, &values.slice(6..)?))?;
    exec.launch(&stream)?;
    exec.set_enabled(&graph, second, true)?;
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [5, 7, 7, 7]);
    let error = exec.set_enabled(&graph, nothing, false).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "{error}");
    assert!(exec.is_enabled(&graph, nothing).is_err());
    Ok(())
}

/// A driver skips neither of them rightly.
#[test]
fn neither_a_fill_nor_a_change_that_no_launch_has_seen_is_disabled() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut buffers = [(); 2].map(|()| DeviceBuffer::from_slice(&[0_u8; 4]));
    let [first, second] = buffers.each_mut().map(|buffer| buffer.as_mut().unwrap());
    let ones = DeviceBuffer::from_slice(&[1_u8; 4])?;
    let mut graph = Graph::new()?;
    let copy = graph.add(&[], node::memcpy(first, &ones))?;
    let fill = graph.add(&[copy], node::memset(second, 1))?;
    let mut exec = graph.instantiate()?;
    assert!(unsupported(exec.set_enabled(&graph, fill, false)) && exec.is_enabled(&graph, fill)?);
    exec.launch(&stream)?;
    exec.set(&graph, copy, node::memcpy(second, &ones))?;
    assert!(unsupported(exec.set_enabled(&graph, copy, false)) && exec.is_enabled(&graph, copy)?);
    exec.launch(&stream)?;
    exec.set_enabled(&graph, copy, false)?;
    exec.set_enabled(&graph, copy, true)?;
    exec.update(&graph)?;
    assert!(unsupported(exec.set_enabled(&graph, copy, false)));
    exec.launch(&stream)?;
    exec.set_enabled(&graph, copy, false)
}

#[test]
fn a_graph_says_what_its_nodes_are_and_how_they_are_ordered() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let mut host = PinnedBuffer::from_slice(&[0_u8; 4])?;
    let mut graph = stream.capture(|s| {
        memset_async(&mut bytes, 1, s)?;
        memset_async(&mut bytes, 2, s)
    })?;
    let copy = graph.add(&[], node::memcpy(&mut host, &bytes))?;
    let call = graph.add(&[], node::host_fn(|| ()))?;
    let end = graph.add(&[copy, call], node::empty())?;
    let nodes = graph.nodes();
    assert_eq!(nodes[1..], [copy, call, end]);
    let captured = nodes[0];
    assert_eq!(graph.root_nodes()?, [captured, call]);
    assert_eq!(graph.edges()?, [(captured, copy), (copy, end), (call, end)]);
    let kinds = [copy, call, end].map(|node| graph.node_kind(node).unwrap());
    assert_eq!(kinds, [NodeKind::MEMCPY, NodeKind::HOST, NodeKind::EMPTY]);
    assert!(unsupported(graph.node_kind(captured)) && unsupported(Graph::new()?.node_kind(copy)));
    assert_eq!((Graph::new()?.edges()?, Graph::new()?.root_nodes()?), (vec![], vec![]));
    // All captured nodes together can be named as a predecessor.
    let last = graph.add(&[captured], node::empty())?;
    assert!(graph.edges()?.contains(&(captured, last)));
    Ok(())
}

/// An executable graph may be sent to another thread with its changes.
#[test]
fn a_changed_executable_graph_goes_to_another_thread() -> Result<()> {
    let _alone = alone();
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let graph = graph_of(&mut bytes, 1)?;
    let mut exec: GraphExec = graph.instantiate()?;
    exec.set(&graph, graph.nodes()[0], node::memset(&mut bytes, 8))?;
    std::thread::spawn(move || exec.launch(&Stream::new()?)).join().unwrap()?;
    assert_eq!(bytes.to_vec()?, [8; 4]);
    drop(graph);
    Ok(())
}

#[test]
fn which_node_is_which_is_known_after_an_update_only_where_no_node_or_edge_has_changed() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut buffers = [(); 4].map(|()| DeviceBuffer::from_slice(&[0_u8; 4]));
    let [first, second, third, fourth] = buffers.each_mut().map(|buffer| buffer.as_mut().unwrap());
    let mut graph = Graph::new()?;
    let gone = graph.add(&[], node::memset(first, 1))?;
    let node = graph.add(&[], node::memset(second, 2))?;
    let mut exec = graph.instantiate()?;
    graph.set(node, node::memset(second, 3))?;
    exec.update(&graph)?;
    exec.set(&graph, node, node::memset(second, 4))?;
    // The runtime pairs nodes by their order, not by their names.
    graph.destroy_node(gone)?;
    graph.add(&[], node::memset(third, 5))?;
    exec.update(&graph)?;
    assert!(unsupported(exec.set(&graph, node, node::memset(fourth, 6))));
    assert!(unsupported(exec.set_enabled(&graph, node, false)));
    exec.launch(&stream)?;
    let found = buffers.map(|buffer| buffer.unwrap().to_vec().unwrap()[0]);
    assert_eq!(found, [0, 3, 5, 0]);
    Ok(())
}

#[test]
fn what_an_executable_graph_used_before_an_update_is_let_go() -> Result<()> {
    let _alone = alone();
    let mut registered = Registered::new(vec![0_u8; 64])?;
    let mut other = PinnedBuffer::<u8>::alloc(64)?;
    let (mut first, mut second) = (Graph::new()?, Graph::new()?);
    first.add(&[], node::memset(&mut registered, 1))?;
    second.add(&[], node::memset(&mut other, 2))?;
    let mut exec = first.instantiate()?;
    drop(first);
    let (refused, registered) = registered.into_inner().unwrap_err().into_parts();
    assert_eq!(refused.detail(), &Detail::IN_GRAPH);
    exec.update(&second)?;
    assert_eq!(registered.into_inner().unwrap(), [0; 64]);
    Ok(())
}
