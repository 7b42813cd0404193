//! Nodes that record events and wait for them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_safe::graph::{NodeKind, node};
use cuda_safe::stream::Event;
use cuda_safe::{Device, DeviceBuffer, Graph, GraphExec, Result, Stream, hazard, memset_async};
use cuda_testing::{Gate, alone};

fn unsupported<T: std::fmt::Debug>(answer: Result<T>) -> bool {
    answer.unwrap_err().detail().as_str().contains(" is not supported")
}

#[test]
fn a_node_records_its_event_at_each_launch_when_what_is_before_it_is_done() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let event = Event::new()?;
    let mut graph = Graph::new()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let call = graph.add(&[], node::host_fn(move || _ = seen.fetch_add(1, Ordering::SeqCst)))?;
    let record = graph.add(&[call], node::event_record(&event))?;
    assert_eq!((graph.node_kind(record)?, graph.event(record)?), (NodeKind::EVENT_RECORD, event.as_raw()));
    let mut exec = graph.instantiate()?;
    assert!(event.is_done()?, "it was never recorded");
    for launches in 1..4 {
        let gate = Gate::on(&alone, &stream);
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
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let event = Event::without_timing()?;
    let mut graph = Graph::new()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let wait = graph.add(&[], node::event_wait(&event))?;
    graph.add(&[wait], node::host_fn(move || _ = seen.fetch_add(1, Ordering::SeqCst)))?;
    assert_eq!((graph.node_kind(wait)?, graph.event(wait)?), (NodeKind::EVENT_WAIT, event.as_raw()));
    let mut exec = graph.instantiate()?;
    // An event that was never recorded delays no work.
    exec.launch(&stream)?;
    stream.synchronize()?;
    let gate = Gate::on(&alone, &other);
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
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 1 << 16])?;
    let event = Event::without_timing()?;
    let mut graph = Graph::new()?;
    graph.add(&[], node::event_record(&event))?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &other);
    memset_async(&mut bytes, 1, &other)?;
    event.record(&other)?;
    // Now it stands for the work of this launch.
    exec.launch(&stream)?;
    event.synchronize()?;
    stream.wait(&event)?;
    // So the fill is not complete, and must be waited for.
    let waits = cuda_safe::hazard::added_waits();
    memset_async(&mut bytes, 2, &stream)?;
    assert_eq!(cuda_safe::hazard::added_waits(), waits + 1);
    gate.open();
    assert!(bytes.to_vec()?.iter().all(|byte| *byte == 2));
    Ok(())
}

#[test]
fn nodes_are_given_other_events_in_the_graph_and_in_its_executable_form() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let [a, b, c, d] = [Event::new()?, Event::new()?, Event::new()?, Event::new()?];
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    let mut graph = Graph::new()?;
    let wait = graph.add(&[], node::event_wait(&a))?;
    let record = graph.add(&[wait], node::event_record(&b))?;
    let fill = graph.add(&[record], node::memset(&mut bytes, 1))?;
    let mut exec: GraphExec = graph.instantiate()?;
    exec.set(&graph, wait, node::event_wait(&c))?;
    exec.set(&graph, record, node::event_record(&d))?;
    assert_eq!((graph.event(wait)?, graph.event(record)?), (a.as_raw(), b.as_raw()));
    let gate = Gate::on(&alone, &other);
    a.record(&other)?;
    exec.launch(&stream)?;
    d.synchronize()?;
    assert!(b.is_done()?, "it was never recorded");
    graph.set(wait, node::event_wait(&d))?;
    graph.set(record, node::event_record(&c))?;
    assert_eq!((graph.event(wait)?, graph.event(record)?), (d.as_raw(), c.as_raw()));
    gate.open();
    // The executable form is unchanged.
    c.record(&other)?;
    exec.launch(&stream)?;
    stream.synchronize()?;
    // Nodes of other kinds and graphs have no events.
    assert!(graph.set(fill, node::event_record(&a)).is_err() && graph.event(fill).is_err());
    assert!(exec.set(&graph, fill, node::event_record(&a)).is_err());
    assert!(unsupported(Graph::new()?.set(record, node::event_record(&a))));
    exec.launch(&stream)?;
    stream.synchronize()
}

#[test]
fn an_event_of_a_node_that_is_dropped_is_never_used_again() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (recorded, waited) = (Event::without_timing()?, Event::without_timing()?);
    let handles = [recorded.as_raw(), waited.as_raw()];
    let mut graph = Graph::new()?;
    graph.add(&[], node::event_record(&recorded))?;
    graph.add(&[], node::event_wait(&waited))?;
    drop((recorded, waited));
    let others: Vec<Event> = (0..8).map(|_| Event::without_timing()).collect::<Result<_>>()?;
    assert!(others.iter().all(|event| !handles.contains(&event.as_raw())));
    graph.instantiate()?.launch(&stream)?;
    stream.synchronize()
}

#[test]
fn an_event_that_a_node_is_set_to_is_never_used_again_and_proves_nothing() -> Result<()> {
    let alone = alone();
    let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 64])?;
    let mut events = [Event::new()?, Event::new()?, Event::new()?];
    let [first, second, third] = &mut events;
    let mut graph = Graph::new()?;
    let node = graph.add(&[], node::event_record(first))?;
    let mut exec = graph.instantiate()?;
    graph.set(node, node::event_record(second))?;
    exec.set(&graph, node, node::event_record(third))?;
    for event in [second, third] {
        let gate = Gate::on(&alone, &stream);
        memset_async(&mut bytes, 1, &stream)?;
        event.record(&stream)?;
        let before = hazard::added_waits();
        other.wait(event)?;
        memset_async(&mut bytes, 2, &other)?;
        assert_eq!(hazard::added_waits(), before + 1, "a launch may have recorded the event since");
        gate.open();
        other.synchronize()?;
    }
    let raws = events.each_ref().map(Event::as_raw);
    drop(events);
    let others: Vec<Event> = (0..8).map(|_| Event::new()).collect::<Result<_>>()?;
    assert!(others.iter().all(|event| !raws.contains(&event.as_raw())));
    Ok(())
}

#[test]
fn an_event_of_another_device_or_for_another_graphs_node_is_refused() -> Result<()> {
    let _alone = alone();
    let (mut graph, mut other) = (Graph::new()?, Graph::new()?);
    let event = Event::new()?;
    let node = graph.add(&[], node::event_record(&event))?;
    let elsewhere = other.add(&[], node::event_record(&event))?;
    let mut exec = graph.instantiate()?;
    assert!(unsupported(exec.set(&other, elsewhere, node::event_record(&event))));
    assert!(unsupported(graph.set(elsewhere, node::event_record(&event))));
    if Device::count()? < 2 {
        println!("one device only: no events of others");
        return Ok(());
    }
    let far = Device::new(1)?.with_current(Event::new)?;
    let refused = |answer: Result<()>| {
        assert!(answer.unwrap_err().detail().as_str().contains("belongs to device 1, device 0 is needed"));
    };
    refused(graph.add(&[], node::event_record(&far)).map(drop));
    refused(graph.set(node, node::event_record(&far)));
    refused(exec.set(&graph, node, node::event_record(&far)));
    Ok(())
}
