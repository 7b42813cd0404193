//! Host functions of graphs that read and write memory.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::mpsc::channel;

use cuda_safe::error::Detail;
use cuda_safe::graph::node;
use cuda_safe::{
    DeviceBuffer, Graph, PinnedBuffer, Registered, Result, Stream, memcpy_async, memset, memset_async,
};
use cuda_testing::{Gate, alone};

#[test]
fn a_node_with_memory_comes_after_the_copy_into_it_and_before_the_copy_from_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::from_slice(&[1.0_f64, 2.0, 4.0])?;
    let mut host = PinnedBuffer::from_slice(&[0.0_f64; 3])?;
    let mut graph = Graph::new()?;
    // No node is named in `after`: the memory orders them.
    let copy = graph.add(&[], node::memcpy(&mut host, &device))?;
    let double = |h: &mut [f64]| h.iter_mut().for_each(|x| *x *= 2.0);
    let function = graph.add(&[], node::host_fn_with(&mut host, double))?;
    let back = graph.add(&[], node::memcpy(&mut device, &host))?;
    assert_eq!(graph.dependencies(function)?, [copy]);
    assert!(graph.dependencies(back)?.contains(&function));
    let mut exec = graph.instantiate()?;
    for _ in 0..3 {
        exec.launch(&stream)?;
    }
    assert_eq!(host.host()?[..], [8.0, 16.0, 32.0]);
    assert_eq!(device.to_vec()?, [8.0, 16.0, 32.0]);
    Ok(())
}

#[test]
fn a_captured_function_with_memory_has_its_place_on_the_stream() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::alloc(16)?;
    let mut host = Registered::new(vec![0_u8; 16])?;
    let (tell, told) = channel();
    let graph = stream.capture(|s| {
        memset_async(&mut device, 3, s)?;
        memcpy_async(&mut host, &device, s)?;
        s.host_fn_with(&mut host, move |h: &mut [u8]| {
            tell.send(h.to_vec()).unwrap();
            h[0] = 9;
        })
    })?;
    let mut exec = graph.instantiate()?;
    for _ in 0..2 {
        exec.launch(&stream)?;
        assert_eq!(host.host()?[..2], [9, 3]);
        assert_eq!(told.recv().unwrap(), [3; 16]);
    }
    Ok(())
}

#[test]
fn the_graph_keeps_the_memory_of_its_functions() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (tell, told) = channel();
    let host = Registered::new(vec![5_u32; 4])?;
    let mut graph = Graph::new()?;
    graph.add(&[], node::host_fn_with(&host, move |h: &[u32]| tell.send(h.to_vec()).unwrap()))?;
    let host = host.into_inner().unwrap_err();
    assert_eq!(host.error().detail(), &Detail::IN_GRAPH);
    drop(host);
    let mut exec = graph.instantiate()?;
    drop(graph);
    exec.launch(&stream)?;
    drop(exec);
    stream.synchronize()?;
    assert_eq!(told.recv().unwrap(), [5; 4]);
    Ok(())
}

#[test]
fn launches_from_several_forms_write_one_after_the_other_and_meet_no_guard() -> Result<()> {
    let alone = alone();
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut host = PinnedBuffer::from_slice(&[0_u64; 2])?;
    let mut graph = Graph::new()?;
    graph.add(
        &[],
        node::host_fn_with(&mut host, |h: &mut [u64]| {
            // Two functions that ran at once would lose some of these.
            for _ in 0..1000 {
                h[0] = std::hint::black_box(h[0]) + 1;
            }
        }),
    )?;
    let mut forms = [graph.instantiate()?, graph.try_clone()?.instantiate()?];
    let gate = Gate::on(&alone, &a);
    for _ in 0..5 {
        forms[0].launch(&a)?;
        forms[1].launch(&b)?;
    }
    gate.open();
    assert_eq!(host.host()?[0], 10_000);
    let guard = host.host()?;
    assert_eq!(forms[0].launch(&a).unwrap_err().detail(), &Detail::HOST_BORROWED);
    drop(guard);
    forms[0].launch(&a)?;
    assert_eq!(host.host()?[0], 11_000);
    Ok(())
}

#[test]
fn work_on_a_stream_waits_for_a_launch_whose_function_uses_the_memory() -> Result<()> {
    let alone = alone();
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut host = PinnedBuffer::from_slice(&[0_u8; 64])?;
    let mut device = DeviceBuffer::<u8>::alloc(64)?;
    memset(&mut device, 0)?;
    let mut graph = Graph::new()?;
    graph.add(&[], node::host_fn_with(&mut host, |h: &mut [u8]| h.fill(6)))?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &a);
    exec.launch(&a)?;
    memcpy_async(&mut device, &host, &b)?;
    assert!(!b.is_done()?);
    gate.open();
    assert_eq!(device.to_vec()?, [6; 64]);
    Ok(())
}

#[test]
fn a_node_is_given_another_function_with_other_memory() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut first, mut second, mut third) =
        (PinnedBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    [&mut first, &mut second, &mut third].into_iter().try_for_each(|it| memset(it, 0))?;
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::host_fn_with(&mut first, |h: &mut [u8]| h.fill(1)))?;
    let mut before = graph.instantiate()?;
    graph.set(node, node::host_fn_with(&mut second, |h: &mut [u8]| h.fill(2)))?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!((first.host()?[0], second.host()?[0]), (0, 2));
    // The launch writes what its node was given, and the host waits for that alone.
    exec.set(&graph, node, node::host_fn_with(&mut third, |h: &mut [u8]| h.fill(3)))?;
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    assert_eq!(second.host()?[0], 2);
    // The executable graph retains the memory.
    assert_eq!(third.into_raw().unwrap_err().error().detail(), &Detail::IN_GRAPH);
    gate.open();
    before.launch(&stream)?;
    assert_eq!(first.host()?[0], 1);
    stream.synchronize()
}

#[test]
fn a_function_of_a_node_that_is_refused_is_dropped_before_the_graph() -> Result<()> {
    let _alone = alone();
    let (mut graph, mut other) = (Graph::new()?, Graph::new()?);
    let (own, foreign) = (graph.add(&[], node::host_fn(|| ()))?, other.add(&[], node::empty())?);
    let (tell, told) = channel::<()>();
    let (first, second) = (tell.clone(), tell);
    assert!(graph.add(&[foreign], node::host_fn(move || first.send(()).unwrap())).unwrap_err().is_refused());
    assert!(graph.set(foreign, node::host_fn(|| ())).unwrap_err().is_refused());
    // A conflict with a node that nothing orders it with.
    let mut host = PinnedBuffer::from_slice(&[0_u8; 4])?;
    graph.add(&[], node::memset(&mut host, 1))?;
    let set = graph.set(own, node::host_fn_with(&mut host, move |_: &mut [u8]| second.send(()).unwrap()));
    assert!(set.unwrap_err().detail().as_str().contains(", and nothing orders the two: name one"));
    // The runtime drops them, on a thread of its own.
    let waited = told.recv_timeout(std::time::Duration::from_secs(20));
    assert_eq!(waited, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
    Ok(())
}
