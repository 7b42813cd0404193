//! Graphs that are changed before they are made executable: the operations of nodes, their order, and which
//! nodes exist.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_safe::error::Detail;
use cuda_safe::graph::{NodeKind, node};
use cuda_safe::{DeviceBuffer, Graph, GraphExec, PinnedBuffer, Result, Stream, memset_async, sys};
use cuda_testing::{Gate, alone};

fn detail<T: std::fmt::Debug>(answer: Result<T>) -> Detail {
    answer.unwrap_err().detail().clone()
}

fn unsupported<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    detail(answer).as_str().contains(" is not supported")
}

/// Waits until no function is left. The runtime drops them on one of its threads.
fn wait_until_dropped(functions: &Arc<AtomicUsize>, left: usize) {
    while Arc::strong_count(functions) > left {
        std::thread::yield_now();
    }
}

fn counting(calls: &Arc<AtomicUsize>) -> impl Fn() + Send + Sync + 'static {
    let calls = Arc::clone(calls);
    move || _ = calls.fetch_add(1, Ordering::SeqCst)
}

#[test]
fn nodes_of_a_graph_are_given_other_work_and_its_executable_form_does_what_it_did() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let (mut first, mut second) =
        (PinnedBuffer::from_slice(&[0_u8; 4])?, PinnedBuffer::from_slice(&[0_u8; 4])?);
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    let copy = graph.add(&[fill], node::memcpy(&mut first, &bytes))?;
    let mut old: GraphExec = graph.instantiate()?;
    graph.set(fill, node::memset(&mut bytes.slice_mut(1..3)?, 9))?;
    graph.set(copy, node::memcpy(&mut second, &bytes))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!((first.host()?.to_vec(), second.host()?.to_vec()), (vec![0; 4], vec![0, 9, 9, 0]));
    old.launch(&stream)?;
    assert_eq!((first.host()?.to_vec(), second.host()?.to_vec()), (vec![1; 4], vec![0, 9, 9, 0]));
    // The old executable form takes the new work over.
    old.update(&graph)?;
    old.launch(&stream)?;
    assert_eq!(second.host()?.to_vec(), [1, 9, 9, 1]);
    Ok(())
}

#[test]
fn what_a_node_of_a_graph_used_is_neither_kept_nor_waited_for_any_more() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut before = DeviceBuffer::from_slice(&[0_u8; 1 << 16])?;
    let mut now = DeviceBuffer::from_slice(&[0_u8; 1 << 16])?;
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut before, 1))?;
    graph.set(fill, node::memset(&mut now, 2))?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &other);
    memset_async(&mut before, 3, &other)?;
    exec.launch(&stream)?;
    // No edge delays it.
    stream.synchronize()?;
    gate.open();
    assert!(now.to_vec()?.iter().all(|byte| *byte == 2));
    assert!(before.to_vec()?.iter().all(|byte| *byte == 3));
    Ok(())
}

#[test]
fn work_that_nothing_orders_is_refused_until_a_dependency_does() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[0_u8; 4])?, DeviceBuffer::from_slice(&[0_u8; 4])?);
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memset(&mut a, 1))?;
    let second = graph.add(&[], node::memset(&mut b, 2))?;
    assert_eq!(detail(graph.set(first, node::memset(&mut b, 3))).as_str(), cuda_testing::nodes_unordered(1));
    graph.add_dependencies(&[(second, first)])?;
    graph.set(first, node::memset(&mut b, 3))?;
    // Now the edge is needed.
    assert_eq!(
        detail(graph.remove_dependencies(&[(second, first)])).as_str(),
        cuda_testing::nodes_unordered(1)
    );
    graph.instantiate()?.launch(&stream)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![0; 4], vec![3; 4]));
    // Now it is no longer needed.
    graph.set(first, node::memset(&mut a, 4))?;
    graph.remove_dependencies(&[(second, first)])?;
    assert!(graph.edges()?.is_empty());
    Ok(())
}

#[test]
fn edges_are_added_and_taken_away_but_not_what_keeps_conflicts_in_order() -> Result<()> {
    let _alone = alone();
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let mut graph = Graph::new()?;
    let a = graph.add(&[], node::memset(&mut bytes, 1))?;
    let b = graph.add(&[a], node::empty())?;
    let c = graph.add(&[b], node::memset(&mut bytes, 2))?;
    let d = graph.add(&[], node::empty())?;
    assert_eq!((graph.dependencies(c)?, graph.dependent_nodes(a)?), (vec![b], vec![b]));
    // Both edges together provide the order of the two fills.
    for edge in [(a, b), (b, c)] {
        assert_eq!(detail(graph.remove_dependencies(&[edge])).as_str(), cuda_testing::nodes_unordered(0));
    }
    assert_eq!(graph.edges()?, [(a, b), (b, c)]);
    // It may be removed if another path provides the order.
    graph.add_dependencies(&[(a, d), (d, c)])?;
    graph.remove_dependencies(&[(a, b), (b, c)])?;
    assert_eq!(graph.edges()?, [(a, d), (d, c)]);
    assert_eq!((graph.dependencies(c)?, graph.dependent_nodes(a)?), (vec![d], vec![d]));
    assert!(graph.dependencies(b)?.is_empty() && graph.dependent_nodes(b)?.is_empty());
    graph.instantiate().map(drop)
}

#[test]
fn edges_that_cannot_be_are_refused_and_all_stay_as_they_were() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let (a, b, c) =
        (graph.add(&[], node::empty())?, graph.add(&[], node::empty())?, graph.add(&[], node::empty())?);
    let stranger = Graph::new()?.add(&[], node::empty())?;
    for edges in [&[(a, a)][..], &[(a, b), (b, c), (c, a)], &[(a, b), (stranger, c)]] {
        assert!(unsupported(graph.add_dependencies(edges)));
        assert!(graph.edges()?.is_empty());
    }
    graph.add_dependencies(&[(a, b)])?;
    assert_eq!(graph.add_dependencies(&[(a, b)]).unwrap_err().code(), sys::cudaErrorInvalidValue);
    assert!(unsupported(graph.remove_dependencies(&[(b, c)])));
    assert!(unsupported(graph.remove_dependencies(&[(stranger, c)])));
    assert!(unsupported(graph.dependencies(stranger)) && unsupported(graph.dependent_nodes(stranger)));
    graph.add_dependencies(&[])?;
    graph.remove_dependencies(&[])?;
    assert_eq!(graph.edges()?, [(a, b)]);
    Ok(())
}

#[test]
fn what_a_destroyed_node_has_kept_in_order_stays_so() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let mut graph = Graph::new()?;
    let a = graph.add(&[], node::memset(&mut bytes, 1))?;
    let b = graph.add(&[a], node::empty())?;
    let c = graph.add(&[b], node::memset(&mut bytes.slice_mut(1..)?, 2))?;
    let d = graph.add(&[b], node::empty())?;
    let mut exec = graph.instantiate()?;
    graph.destroy_node(b)?;
    assert_eq!((graph.nodes(), graph.node_count()?), (vec![a, c, d], 3));
    // Only if there is a conflict.
    assert_eq!(graph.edges()?, [(a, c)]);
    assert_eq!(detail(graph.remove_dependencies(&[(a, c)])).as_str(), cuda_testing::nodes_unordered(0));
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [1, 2, 2, 2]);
    // No call names it any more.
    assert!(unsupported(graph.destroy_node(b)) && unsupported(graph.node_kind(b)));
    assert!(unsupported(graph.add(&[b], node::empty())) && unsupported(graph.add_dependencies(&[(b, d)])));
    assert!(unsupported(graph.set(b, node::memset(&mut bytes, 3))));
    assert!(unsupported(exec.set(&graph, b, node::memset(&mut bytes, 3))));
    // The executable form retains its nodes.
    exec.set(&graph, c, node::memset(&mut bytes, 5))?;
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [5; 4]);
    Ok(())
}

#[test]
fn a_destroyed_nodes_memory_is_let_go() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut a, mut b) =
        (DeviceBuffer::from_slice(&[0_u8; 1 << 16])?, DeviceBuffer::from_slice(&[0_u8; 1 << 16])?);
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memset(&mut a, 1))?;
    let second = graph.add(&[first], node::memset(&mut b, 2))?;
    graph.destroy_node(first)?;
    assert_eq!(graph.root_nodes()?, [second]);
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &other);
    memset_async(&mut a, 3, &other)?;
    exec.launch(&stream)?;
    stream.synchronize()?;
    gate.open();
    assert!(b.to_vec()?.iter().all(|byte| *byte == 2));
    // Without work it is not an operation of the stream.
    graph.destroy_node(second)?;
    graph.instantiate()?.launch(&stream)
}

#[test]
fn a_host_function_is_another_one_or_none_and_the_first_is_dropped_with_the_last_that_has_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (first, second) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::host_fn(counting(&first)))?;
    let mut exec = graph.instantiate()?;
    graph.set(node, node::host_fn(counting(&second)))?;
    // The executable form retains it.
    exec.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!((first.load(Ordering::SeqCst), Arc::strong_count(&first)), (1, 2));
    drop(exec);
    wait_until_dropped(&first, 1);
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!((first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)), (1, 1));
    drop(exec);
    // A function that cannot be set replaces nothing.
    let empty = graph.add(&[], node::empty())?;
    assert!(graph.set(empty, node::host_fn(counting(&first))).is_err());
    graph.destroy_node(node)?;
    wait_until_dropped(&second, 1);
    // Now it can be taken over.
    let mut other = Graph::new()?;
    other.add(&[], node::empty())?;
    other.instantiate()?.update(&graph)
}

#[test]
fn nodes_of_a_copy_are_found_and_changed_without_the_original() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let calls = Arc::new(AtomicUsize::new(0));
    let mut graph = Graph::new()?;
    let gone = graph.add(&[], node::empty())?;
    let fill = graph.add(&[gone], node::memset(&mut bytes, 1))?;
    let call = graph.add(&[fill], node::host_fn(counting(&calls)))?;
    graph.destroy_node(gone)?;
    let mut copy = graph.try_clone()?;
    let late = graph.add(&[], node::empty())?;
    let own = copy.add(&[], node::empty())?;
    let (fill2, call2) = (copy.find_in_clone(fill)?, copy.find_in_clone(call)?);
    assert_eq!((copy.nodes(), copy.edges()?), (vec![fill2, call2, own], vec![(fill2, call2)]));
    assert_eq!(copy.node_kind(fill2)?, NodeKind::MEMSET);
    for none in [gone, late, fill2] {
        assert!(unsupported(copy.find_in_clone(none)));
    }
    assert!(unsupported(graph.find_in_clone(fill)));
    copy.set(fill2, node::memset(&mut bytes, 2))?;
    copy.destroy_node(call2)?;
    copy.instantiate()?.launch(&stream)?;
    assert_eq!((bytes.to_vec()?, calls.load(Ordering::SeqCst)), (vec![2; 4], 0));
    graph.instantiate()?.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!((bytes.to_vec()?, calls.load(Ordering::SeqCst)), (vec![1; 4], 1));
    // A capture is one node in the copy, too.
    let captured = stream.capture(|s| {
        memset_async(&mut bytes, 3, s)?;
        memset_async(&mut bytes, 4, s)
    })?;
    let mut copy = captured.try_clone()?;
    let all = copy.find_in_clone(captured.nodes()[0])?;
    assert!(unsupported(copy.set(all, node::memset(&mut bytes, 5))) && unsupported(copy.destroy_node(all)));
    let before = copy.add(&[], node::empty())?;
    copy.add_dependencies(&[(before, all)])?;
    assert_eq!((copy.dependencies(all)?, copy.dependent_nodes(before)?), (vec![before], vec![all]));
    copy.remove_dependencies(&[(before, all)])?;
    assert_eq!(copy.edges()?, []);
    copy.instantiate()?.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [4; 4]);
    Ok(())
}

#[test]
fn nodes_before_and_after_a_capture_are_ordered_with_all_of_it_until_their_edges_are_removed() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::from_slice(&[0_u8; 4])?, DeviceBuffer::from_slice(&[0_u8; 4])?);
    let (mut host, mut other) =
        (PinnedBuffer::from_slice(&[0_u8; 4])?, PinnedBuffer::from_slice(&[0_u8; 4])?);
    let captured = stream.capture(|s| {
        memset_async(&mut a, 1, s)?;
        memset_async(&mut b, 2, s)?;
        memset_async(&mut a.slice_mut(2..)?, 3, s)
    })?;
    for mut graph in [captured.try_clone()?, captured] {
        let all = graph.nodes()[0];
        // The first captured node fills the source, the second one does not.
        let after = graph.add(&[], node::memcpy(&mut host, &a))?;
        let before = graph.add(&[], node::memset(&mut other, 9))?;
        graph.add_dependencies(&[(before, all)])?;
        assert_eq!(graph.edges()?, [(all, after), (before, all)]);
        let unordered = |to| detail(to).as_str().contains("memory that node 0 of the graph");
        assert!(unordered(graph.remove_dependencies(&[(all, after)])));
        let mut exec = graph.instantiate()?;
        exec.launch(&stream)?;
        assert_eq!((host.host()?.to_vec(), other.host()?.to_vec()), (vec![1, 1, 3, 3], vec![9; 4]));
        graph.set(after, node::memcpy(&mut host, &other))?;
        graph.add_dependencies(&[(before, after)])?;
        graph.remove_dependencies(&[(all, after), (before, all)])?;
        assert_eq!(graph.edges()?, [(before, after)]);
        graph.instantiate()?.launch(&stream)?;
        assert_eq!(host.host()?.to_vec(), [9; 4]);
    }
    Ok(())
}

#[test]
fn an_edge_to_a_capture_goes_with_all_that_its_branches_made_of_it() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let (mut first, mut second) = (DeviceBuffer::<u8>::alloc(4)?, DeviceBuffer::<u8>::alloc(4)?);
    let mut graph = Graph::new()?;
    let empty = graph.add(&[], node::empty())?;
    // The second fill comes directly after the empty node, too: its branch began there.
    let (mut graph, captured) = stream.capture_to_graph(graph, &[empty], |stream| {
        let side = stream.fork()?;
        memset_async(&mut first, 1, &side)?;
        stream.join(side)?;
        memset_async(&mut second, 2, stream)
    })?;
    assert_eq!(graph.edges()?, [(empty, captured)]);
    graph.remove_dependencies(&[(empty, captured)])?;
    assert!(graph.edges()?.is_empty() && graph.dependencies(captured)?.is_empty());
    graph.add_dependencies(&[(empty, captured)])?;
    assert_eq!(graph.edges()?, [(empty, captured)]);
    graph.instantiate()?.launch(&stream)?;
    assert_eq!((first.to_vec()?, second.to_vec()?), (vec![1; 4], vec![2; 4]));
    Ok(())
}

#[test]
fn a_graph_with_memory_of_its_own_loses_neither_nodes_nor_edges() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let mut scratch = graph.add(&[], node::alloc::<u8>(16))?;
    let (a, b) = (graph.add(&[], node::empty())?, graph.add(&[], node::empty())?);
    let free = graph.add(&[], node::free(&mut scratch))?;
    graph.add_dependencies(&[(a, b)])?;
    assert!(unsupported(graph.remove_dependencies(&[(a, b)])));
    for node in [a, free, scratch.node()] {
        assert!(unsupported(graph.destroy_node(node)));
    }
    // Nor can it be reversed.
    assert!(unsupported(graph.add_dependencies(&[(free, scratch.node())])));
    graph.instantiate().map(drop)
}

#[test]
fn the_graph_of_a_node_is_told_by_its_handle() -> Result<()> {
    let _alone = alone();
    let (mut inner, mut outer) = (Graph::new()?, Graph::new()?);
    inner.add(&[], node::empty())?;
    let node = outer.add(&[], node::child_graph(&inner))?;
    let other = outer.add(&[], node::empty())?;
    let within = outer.graph_within(node)?;
    assert!(!within.is_null() && within != inner.as_raw() && within != outer.as_raw());
    assert_eq!(outer.graph_within(other).unwrap_err().code(), sys::cudaErrorInvalidValue);
    outer.destroy_node(node)?;
    assert_eq!(outer.nodes(), [other]);
    Ok(())
}

#[cfg(cudart_13_1)]
#[test]
fn graphs_and_nodes_have_numbers_that_tools_know_them_by() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let (a, b) = (graph.add(&[], node::empty())?, graph.add(&[], node::empty())?);
    let copy = graph.try_clone()?;
    assert_ne!(graph.node_local_id(a)?, graph.node_local_id(b)?);
    assert_eq!(copy.node_local_id(copy.find_in_clone(a)?)?, graph.node_local_id(a)?);
    assert_ne!(graph.node_tools_id(a)?, graph.node_tools_id(b)?);
    assert_ne!(graph.id()?, copy.id()?);
    let (first, second): (GraphExec, GraphExec) = (graph.instantiate()?, graph.instantiate()?);
    assert_ne!(first.id()?, second.id()?);
    let stranger = Graph::new()?.add(&[], node::empty())?;
    assert!(unsupported(graph.node_local_id(stranger)) && unsupported(graph.node_tools_id(stranger)));
    Ok(())
}

#[test]
fn an_edge_that_was_taken_away_orders_nothing_any_more() -> Result<()> {
    let _alone = alone();
    let (mut one, mut two) = (DeviceBuffer::<u8>::alloc(4)?, DeviceBuffer::<u8>::alloc(4)?);
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memset(&mut one, 1))?;
    let second = graph.add(&[first], node::memset(&mut two, 2))?;
    graph.remove_dependencies(&[(first, second)])?;
    assert!(
        detail(graph.set(second, node::memset(&mut one, 2)))
            .as_str()
            .contains("memory that node 0 of the graph")
    );
    graph.add_dependencies(&[(second, first)])?;
    graph.set(second, node::memset(&mut one, 2))
}

#[test]
fn host_functions_of_a_copy_outlive_the_original_and_are_taken_over_as_its_are() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (calls, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut graph = Graph::new()?;
    graph.add(&[], node::host_fn(counting(&calls)))?;
    let copy = graph.try_clone()?;
    let mut other = Graph::new()?;
    other.add(&[], node::host_fn(counting(&others)))?;
    let mut exec = other.instantiate()?;
    drop(graph);
    copy.instantiate()?.launch(&stream)?;
    exec.update(&copy)?;
    drop(copy);
    exec.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!((calls.load(Ordering::SeqCst), others.load(Ordering::SeqCst)), (2, 0));
    drop((exec, other));
    wait_until_dropped(&others, 1);
    // Functions that were taken over are released at the next update.
    let mut last = Graph::new()?;
    last.add(&[], node::host_fn(|| ()))?;
    last.instantiate()?.update(&last)?;
    wait_until_dropped(&calls, 1);
    Ok(())
}

#[test]
fn a_host_function_of_the_innermost_of_three_graphs_is_dropped_with_its_last_owner() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let calls = Arc::new(AtomicUsize::new(0));
    // The outermost graph is copied, added to another one, or made executable. Each of the four owners goes
    // first once.
    for (made, first) in (0..3).flat_map(|made| (0..4).map(move |first| (made, first))) {
        let (mut inner, mut middle, mut outer) = (Graph::new()?, Graph::new()?, Graph::new()?);
        inner.add(&[], node::host_fn(counting(&calls)))?;
        middle.add(&[], node::child_graph(&inner))?;
        outer.add(&[], node::child_graph(&middle))?;
        let mut other = Graph::new()?;
        let mut exec = None;
        match made {
            0 => other = outer.try_clone()?,
            1 => _ = other.add(&[], node::child_graph(&outer))?,
            _ => exec = Some(outer.instantiate()?),
        }
        let mut owners = vec![Some(inner), Some(middle), Some(outer), (made < 2).then_some(other)];
        owners.rotate_left(first);
        let at = 3 - first;
        for (number, owner) in owners.into_iter().enumerate() {
            if number == 3 {
                let mut last = match (&owner, exec.take()) {
                    (_, Some(exec)) => exec,
                    (Some(graph), None) => graph.instantiate()?,
                    (None, None) => break,
                };
                let before = calls.swap(0, Ordering::SeqCst);
                last.launch(&stream)?;
                stream.synchronize()?;
                assert_eq!((before, calls.load(Ordering::SeqCst)), (usize::from(made + first > 0), 1));
            } else if number == at && made == 2 && first > 0 {
                exec = None;
            }
            drop(owner);
        }
        wait_until_dropped(&calls, 1);
    }
    Ok(())
}
