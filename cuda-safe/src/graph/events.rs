//! Nodes that record events, and nodes that wait for them.
//!
//! Such an event stands for the work that the last launch had done when it reached the node. The host does
//! not know when that happens, so waiting for the event proves nothing to the tracker. The event is never
//! destroyed, because graphs and launches may outlive it. A wait node waits for the event's state at the
//! time of the graph launch, so waits cannot form a cycle.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use super::executable::GraphExec;
use super::graph::Graph;
use super::steps::Node;
use super::topology::NodeKind;
use crate::error::Result;
use crate::hazard::RetainedAccesses;
use crate::stream::Event;
use crate::{check, stream, sys};

impl Graph {
    /// Adds a node that records an event of the graph's device. After each launch the event stands for all
    /// work that precedes the node.
    ///
    /// Stands for [`cudaGraphAddEventRecordNode`](sys::cudaGraphAddEventRecordNode). From now on the
    /// tracker does not know what the event stands for, wherever else it is recorded, as with
    /// [`RecordFlags::EXTERNAL`](crate::stream::RecordFlags::EXTERNAL).
    ///
    /// # Errors
    /// `DeviceMismatch` if the event belongs to another device; those of [`add_empty`](Self::add_empty).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::Event;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let (stream, other) = (Stream::new()?, Stream::new()?);
    /// let (start, end) = (Event::new()?, Event::new()?);
    /// let mut bytes = DeviceBuffer::<u8>::alloc(1 << 20)?;
    /// let mut graph = Graph::new()?;
    /// let first = graph.add_event_record(&[], &start)?;
    /// let fill = graph.add_memset(&[first], &mut bytes, 7)?;
    /// graph.add_event_record(&[fill], &end)?;
    /// graph.instantiate()?.launch(&stream)?;
    /// other.wait(&end)?;
    /// end.synchronize()?;
    /// println!("the fill took {} ms", end.elapsed_ms(&start)?);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddEventRecordNode")]
    #[track_caller]
    pub fn add_event_record(&mut self, after: &[Node], event: &Event) -> Result<Node> {
        let api = "Graph::add_event_record";
        stream::ensure_idle(api)?;
        event.device().ensure_is(self.device(), api, "the event")?;
        event.given_to_graphs(true);
        let raw = event.as_raw();
        self.add(api, after, RetainedAccesses::default(), false, |node, graph, before, count| {
            // SAFETY: the graph and its `count` nodes are live, and `node` points to a live variable. The
            // event is never destroyed.
            unsafe { check!(cudaGraphAddEventRecordNode(node, graph, before, count, raw)) }
        })
    }

    /// Adds a node that waits for an event. Its successors run after the work that the event stands for at
    /// the time of the launch. If the event was never recorded, the node does nothing.
    ///
    /// Stands for [`cudaGraphAddEventWaitNode`](sys::cudaGraphAddEventWaitNode). The tracker does not rely
    /// on the order that the wait creates.
    ///
    /// # Errors
    /// Those of [`add_empty`](Self::add_empty).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::Event;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let (stream, other) = (Stream::new()?, Stream::new()?);
    /// let event = Event::without_timing()?;
    /// let mut bytes = DeviceBuffer::<u8>::alloc(1 << 20)?;
    /// let mut graph = Graph::new()?;
    /// let wait = graph.add_event_wait(&[], &event)?;
    /// graph.add_memset(&[wait], &mut bytes, 7)?;
    /// let mut exec = graph.instantiate()?;
    /// event.record(&other)?;
    /// exec.launch(&stream)?;
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddEventWaitNode")]
    #[track_caller]
    pub fn add_event_wait(&mut self, after: &[Node], event: &Event) -> Result<Node> {
        let api = "Graph::add_event_wait";
        stream::ensure_idle(api)?;
        event.given_to_graphs(false);
        let raw = event.as_raw();
        self.add(api, after, RetainedAccesses::default(), false, |node, graph, before, count| {
            // SAFETY: as in `add_event_record`.
            unsafe { check!(cudaGraphAddEventWaitNode(node, graph, before, count, raw)) }
        })
    }

    /// Returns the handle of the event that a node records or waits for. It equals that of
    /// [`Event::as_raw`].
    ///
    /// Stands for [`cudaGraphEventRecordNodeGetEvent`](sys::cudaGraphEventRecordNodeGetEvent) and
    /// [`cudaGraphEventWaitNodeGetEvent`](sys::cudaGraphEventWaitNodeGetEvent).
    ///
    /// # Errors
    /// Those of [`node_kind`](Self::node_kind); the runtime's error for a node of another kind.
    #[doc(alias = "cudaGraphEventRecordNodeGetEvent")]
    #[doc(alias = "cudaGraphEventWaitNodeGetEvent")]
    #[track_caller]
    pub fn event(&self, node: Node) -> Result<sys::cudaEvent_t> {
        let (api, mut event) = ("Graph::event", std::ptr::null_mut());
        let waits = self.node_kind(node)? == NodeKind::EVENT_WAIT;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        if waits {
            // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call
            // fills.
            unsafe { check!(cudaGraphEventWaitNodeGetEvent(raw, &raw mut event)) }?;
        } else {
            // SAFETY: as above.
            unsafe { check!(cudaGraphEventRecordNodeGetEvent(raw, &raw mut event)) }?;
        }
        Ok(event)
    }

    /// Sets the event that a node records or waits for. Executable graphs that were made before do not
    /// change.
    ///
    /// Stands for [`cudaGraphEventRecordNodeSetEvent`](sys::cudaGraphEventRecordNodeSetEvent) and
    /// [`cudaGraphEventWaitNodeSetEvent`](sys::cudaGraphEventWaitNodeSetEvent).
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured or belongs to another graph.
    /// - `DeviceMismatch` if a record node gets an event of another device.
    /// - The runtime's error for a node of another kind.
    #[doc(alias = "cudaGraphEventRecordNodeSetEvent")]
    #[doc(alias = "cudaGraphEventWaitNodeSetEvent")]
    #[track_caller]
    pub fn set_event(&mut self, node: Node, event: &Event) -> Result<()> {
        let api = "Graph::set_event";
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        let waits = give(api, self, node, event)?;
        let event = event.as_raw();
        if waits {
            // SAFETY: the node belongs to a live graph, which is borrowed mutably. The event is never
            // destroyed.
            unsafe { check!(cudaGraphEventWaitNodeSetEvent(raw, event)) }
        } else {
            // SAFETY: as above.
            unsafe { check!(cudaGraphEventRecordNodeSetEvent(raw, event)) }
        }
    }
}

impl GraphExec {
    /// Sets the event that a node records or waits for, from the next launch on.
    ///
    /// Stands for [`cudaGraphExecEventRecordNodeSetEvent`](sys::cudaGraphExecEventRecordNodeSetEvent) and
    /// [`cudaGraphExecEventWaitNodeSetEvent`](sys::cudaGraphExecEventWaitNodeSetEvent).
    ///
    /// # Errors
    /// Those of [`Graph::set_event`] and of [`set_kernel`](Self::set_kernel).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::Event;
    /// use cuda_safe::{Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let (first, second) = (Event::new()?, Event::new()?);
    /// let mut graph = Graph::new()?;
    /// let node = graph.add_event_record(&[], &first)?;
    /// let mut exec = graph.instantiate()?;
    /// exec.set_event(&graph, node, &second)?;
    /// exec.launch(&stream)?;
    /// second.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecEventRecordNodeSetEvent")]
    #[doc(alias = "cudaGraphExecEventWaitNodeSetEvent")]
    #[track_caller]
    pub fn set_event(&mut self, graph: &Graph, node: Node, event: &Event) -> Result<()> {
        let api = "GraphExec::set_event";
        stream::ensure_idle(api)?;
        let (_, raw) = self.find(api, graph, node)?;
        let waits = give(api, graph, node, event)?;
        let (exec, event) = (self.as_raw(), event.as_raw());
        if waits {
            // SAFETY: the executable graph, and the node of the graph that it was made from, are live. The
            // mutable borrow excludes launches. The event is never destroyed.
            unsafe { check!(cudaGraphExecEventWaitNodeSetEvent(exec, raw, event)) }
        } else {
            // SAFETY: as above.
            unsafe { check!(cudaGraphExecEventRecordNodeSetEvent(exec, raw, event)) }
        }
    }
}

/// Assigns an event to a node. Returns whether the node waits for it.
#[track_caller]
fn give(api: &'static str, graph: &Graph, node: Node, event: &Event) -> Result<bool> {
    let waits = graph.node_kind(node)? == NodeKind::EVENT_WAIT;
    if !waits {
        event.device().ensure_is(graph.device(), api, "the event")?;
    }
    event.given_to_graphs(!waits);
    Ok(waits)
}
