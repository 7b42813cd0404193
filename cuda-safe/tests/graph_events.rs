//! Nodes that record events and wait for them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Gate, alone};
use cuda_safe::error::Detail;
use cuda_safe::graph::NodeKind;
use cuda_safe::stream::Event;
use cuda_safe::{DeviceBuffer, Graph, GraphExec, Result, Stream, memset_async};

fn unsupported<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    matches!(answer.unwrap_err().detail(), Detail::Unsupported { .. })
}

#[test]
fn a_node_records_its_event_at_each_launch_when_what_is_before_it_is_done() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut event = Event::new()?;
    let mut graph = Graph::new()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let call = graph.add_host_fn(&[], move || _ = seen.fetch_add(1, Ordering::SeqCst))?;
    let record = graph.add_event_record(&[call], &mut event)?;
    assert_eq!((graph.node_kind(record)?, graph.event(record)?), (NodeKind::EVENT_RECORD, event.as_raw()));
    let mut exec = graph.instantiate()?;
    assert!(event.is_done()?, "it was never recorded");
    for launches in 1..4 {
        let gate = Gate::on(&stream);
        exec.launch(&stream)?;
        assert!(!event.is_done()?);
        gate.open();
        event.synchronize()?;
        assert_eq!(calls.load(Ordering::SeqCst), launches);
    }
    Ok(())
}

#[test]
fn a_node_waits_for_what_its_event_stands_for_at_the_launch() -> Result<()> {
    let _alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut event = Event::without_timing()?;
    let mut graph = Graph::new()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let wait = graph.add_event_wait(&[], &mut event)?;
    graph.add_host_fn(&[wait], move || _ = seen.fetch_add(1, Ordering::SeqCst))?;
    assert_eq!((graph.node_kind(wait)?, graph.event(wait)?), (NodeKind::EVENT_WAIT, event.as_raw()));
    let mut exec = graph.instantiate()?;
    // Never recorded, it holds nobody up.
    exec.launch(&stream)?;
    stream.synchronize()?;
    let gate = Gate::on(&other);
    event.record(&other)?;
    exec.launch(&stream)?;
    assert!(!stream.is_done()?);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    gate.open();
    stream.synchronize()?;
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    Ok(())
}

#[test]
fn an_event_that_a_node_records_proves_nothing_wherever_else_it_is_recorded() -> Result<()> {
    let _alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 1 << 16])?;
    let mut event = Event::without_timing()?;
    let mut graph = Graph::new()?;
    graph.add_event_record(&[], &mut event)?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&other);
    memset_async(&mut bytes, 1, &other)?;
    event.record(&other)?;
    // Now it stands for what this launch has done.
    exec.launch(&stream)?;
    event.synchronize()?;
    stream.wait(&event)?;
    // So the fill is not over, and has to be waited for.
    let waits = cuda_safe::hazard::added_waits();
    memset_async(&mut bytes, 2, &stream)?;
    assert_eq!(cuda_safe::hazard::added_waits(), waits + 1);
    gate.open();
    assert!(bytes.to_vec()?.iter().all(|byte| *byte == 2));
    Ok(())
}

#[test]
fn nodes_are_given_other_events_in_the_graph_and_in_its_executable_form() -> Result<()> {
    let _alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let [mut a, mut b, mut c, mut d] = [Event::new()?, Event::new()?, Event::new()?, Event::new()?];
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let mut graph = Graph::new()?;
    let wait = graph.add_event_wait(&[], &mut a)?;
    let record = graph.add_event_record(&[wait], &mut b)?;
    let fill = graph.add_memset(&[record], &mut bytes, 1)?;
    let mut exec: GraphExec = graph.instantiate()?;
    exec.set_event(&graph, wait, &mut c)?;
    exec.set_event(&graph, record, &mut d)?;
    assert_eq!((graph.event(wait)?, graph.event(record)?), (a.as_raw(), b.as_raw()));
    let gate = Gate::on(&other);
    a.record(&other)?;
    exec.launch(&stream)?;
    d.synchronize()?;
    assert!(b.is_done()?, "it was never recorded");
    graph.set_event(wait, &mut d)?;
    graph.set_event(record, &mut c)?;
    assert_eq!((graph.event(wait)?, graph.event(record)?), (d.as_raw(), c.as_raw()));
    gate.open();
    // The executable form is as it was.
    c.record(&other)?;
    exec.launch(&stream)?;
    stream.synchronize()?;
    // Nodes of other kinds and graphs have no events.
    assert!(graph.set_event(fill, &mut a).is_err() && graph.event(fill).is_err());
    assert!(exec.set_event(&graph, fill, &mut a).is_err());
    assert!(unsupported(Graph::new()?.set_event(record, &mut a)));
    exec.launch(&stream)?;
    stream.synchronize()
}

#[test]
fn an_event_of_a_node_that_is_dropped_is_never_used_again() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut recorded, mut waited) = (Event::without_timing()?, Event::without_timing()?);
    let handles = [recorded.as_raw(), waited.as_raw()];
    let mut graph = Graph::new()?;
    graph.add_event_record(&[], &mut recorded)?;
    graph.add_event_wait(&[], &mut waited)?;
    drop((recorded, waited));
    let others: Vec<Event> = (0..8).map(|_| Event::without_timing()).collect::<Result<_>>()?;
    assert!(others.iter().all(|event| !handles.contains(&event.as_raw())));
    graph.instantiate()?.launch(&stream)?;
    stream.synchronize()
}
