//! Nodes that record events, and nodes that wait for them.
//!
//! Such an event stands for the work that the last launch had done when it reached the node. The host does
//! not know when that happens, so waiting for the event proves nothing to the tracker. The event is never
//! destroyed, because graphs and launches may outlive it. A wait node waits for the event's state at the
//! time of the graph launch, so waits cannot form a cycle.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use super::{NodeTarget, Recipient, Resolve, sealed};
use crate::error::Result;
use crate::hazard::RetainedAccesses;
use crate::stream::Event;
use crate::{check, sys};

/// The record of an event. See [`event_record`].
#[derive(Debug)]
pub struct EventRecord<'a>(&'a Event);

/// The wait for an event. See [`event_wait`].
#[derive(Debug)]
pub struct EventWait<'a>(&'a Event);

/// Describes the record of an event of the graph's device. After each launch the event stands for all work
/// that precedes the node.
///
/// Stands for [`cudaGraphAddEventRecordNode`](sys::cudaGraphAddEventRecordNode),
/// [`cudaGraphEventRecordNodeSetEvent`](sys::cudaGraphEventRecordNodeSetEvent) and
/// [`cudaGraphExecEventRecordNodeSetEvent`](sys::cudaGraphExecEventRecordNodeSetEvent). Once a node has the
/// operation, the tracker does not know what the event stands for, wherever else it is recorded, as with
/// [`RecordFlags::EXTERNAL`](crate::stream::RecordFlags::EXTERNAL).
///
/// # Errors
/// `Device` if the event belongs to another device.
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::stream::Event;
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let (stream, other) = (Stream::new()?, Stream::new()?);
/// let (start, end) = (Event::new()?, Event::new()?);
/// let mut bytes = DeviceBuffer::<u8>::alloc(1 << 20)?;
/// let mut graph = Graph::new()?;
/// let first = graph.add(&[], node::event_record(&start))?;
/// let fill = graph.add(&[first], node::memset(&mut bytes, 7))?;
/// graph.add(&[fill], node::event_record(&end))?;
/// graph.instantiate()?.launch(&stream)?;
/// other.wait(&end)?;
/// end.synchronize()?;
/// println!("the fill took {} ms", end.elapsed_ms(&start)?);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddEventRecordNode")]
#[doc(alias = "cudaGraphEventRecordNodeSetEvent")]
#[doc(alias = "cudaGraphExecEventRecordNodeSetEvent")]
#[must_use]
pub fn event_record(event: &Event) -> EventRecord<'_> {
    EventRecord(event)
}

/// Describes the wait for an event. The node's successors run after the work that the event stands for at
/// the time of the launch. If the event was never recorded, the node does nothing.
///
/// Stands for [`cudaGraphAddEventWaitNode`](sys::cudaGraphAddEventWaitNode),
/// [`cudaGraphEventWaitNodeSetEvent`](sys::cudaGraphEventWaitNodeSetEvent) and
/// [`cudaGraphExecEventWaitNodeSetEvent`](sys::cudaGraphExecEventWaitNodeSetEvent). The tracker does not rely
/// on the order that the wait creates.
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::stream::Event;
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let (stream, other) = (Stream::new()?, Stream::new()?);
/// let event = Event::without_timing()?;
/// let mut bytes = DeviceBuffer::<u8>::alloc(1 << 20)?;
/// let mut graph = Graph::new()?;
/// let wait = graph.add(&[], node::event_wait(&event))?;
/// graph.add(&[wait], node::memset(&mut bytes, 7))?;
/// let mut exec = graph.instantiate()?;
/// event.record(&other)?;
/// exec.launch(&stream)?;
/// stream.synchronize()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddEventWaitNode")]
#[doc(alias = "cudaGraphEventWaitNodeSetEvent")]
#[doc(alias = "cudaGraphExecEventWaitNodeSetEvent")]
#[must_use]
pub fn event_wait(event: &Event) -> EventWait<'_> {
    EventWait(event)
}

impl sealed::Sealed for EventRecord<'_> {}

impl Resolve for EventRecord<'_> {
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        self.0.device().ensure_is(to.device(), "node::event_record", "the event")?;
        self.0.given_to_graphs(true);
        let event: sys::cudaEvent_t = self.0.as_raw();
        to.take(RetainedAccesses::default(), false, |place| match place {
            // SAFETY: the invariants of `NewNode`. The event is never destroyed.
            NodeTarget::New(new) => unsafe {
                check!(cudaGraphAddEventRecordNode(new.node, new.graph, new.before, new.count, event))
            },
            // SAFETY: the invariants of `NodeTarget`. The event is never destroyed.
            NodeTarget::Node(node) => unsafe { check!(cudaGraphEventRecordNodeSetEvent(node, event)) },
            // SAFETY: the invariants of `NodeTarget`. The event is never destroyed.
            NodeTarget::Exec(exec, node) => unsafe {
                check!(cudaGraphExecEventRecordNodeSetEvent(exec, node, event))
            },
        })
    }
}

impl sealed::Sealed for EventWait<'_> {}

impl Resolve for EventWait<'_> {
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        self.0.given_to_graphs(false);
        let event: sys::cudaEvent_t = self.0.as_raw();
        to.take(RetainedAccesses::default(), false, |place| match place {
            // SAFETY: the invariants of `NewNode`. The event is never destroyed.
            NodeTarget::New(new) => unsafe {
                check!(cudaGraphAddEventWaitNode(new.node, new.graph, new.before, new.count, event))
            },
            // SAFETY: the invariants of `NodeTarget`. The event is never destroyed.
            NodeTarget::Node(node) => unsafe { check!(cudaGraphEventWaitNodeSetEvent(node, event)) },
            // SAFETY: the invariants of `NodeTarget`. The event is never destroyed.
            NodeTarget::Exec(exec, node) => unsafe {
                check!(cudaGraphExecEventWaitNodeSetEvent(exec, node, event))
            },
        })
    }
}
