//! [`Graph`]: nodes and their order.
#![expect(unsafe_code, reason = "calls the runtime's graph functions")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::handle::{GraphHandle, Raw};
use super::identity::Node;
use super::steps::Steps;
use crate::device::Device;
use crate::error::Result;
use crate::{check, stream, sys, system};

/// Work that is described but does not run: nodes and the order between them.
///
/// [`Stream::capture`](crate::Stream::capture) makes a graph, and so do [`new`](Self::new) and
/// [`add`](Self::add). A graph is for one device. It retains the memory that its nodes use.
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut device = DeviceBuffer::<u8>::alloc(4)?;
/// let mut host = PinnedBuffer::<u8>::alloc(4)?;
/// let mut graph = Graph::new()?;
/// let fill = graph.add(&[], node::memset(&mut device, 7))?;
/// graph.add(&[fill], node::memcpy(&mut host, &device))?;
/// let mut exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// assert_eq!(*host.host()?, [7; 4]); // waits
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[doc(alias = "cudaGraphDestroy")]
#[doc(alias = "cudaGraph_t")]
pub struct Graph {
    /// Destroyed before the retained memory is released.
    owner: GraphHandle,
    raw: sys::cudaGraph_t,
    device: Device,
    /// Distinguishes the graph's nodes from those of other graphs.
    pub(super) number: u64,
    /// The number of the graph that this one is a body in, or its own.
    pub(super) root: u64,
    /// Shared with the executable forms until one of them changes.
    pub(super) steps: Arc<Steps>,
    /// Whether each launch is known to give the device work. A graph of empty nodes is not an operation of
    /// the stream: an H200 does not order a blocking stream after the legacy stream because of it.
    pub(super) acts: bool,
    /// The graph that this is a copy of, and the number of its nodes at that time.
    pub(super) original: Option<(u64, usize)>,
    /// Shared with the executable forms if the graph may have only one.
    pub(super) made: Arc<()>,
    /// The number of the newest condition in the graph and its bodies. 0 without conditions.
    pub(super) newest_condition: u64,
    /// False while a conditional node is added, and after adding a node has failed half-way.
    pub(super) is_complete: bool,
}

// SAFETY: the handles are names that the runtime accepts on any thread, one thread at a time: a graph is
// not `Sync`.
unsafe impl Send for Graph {}

impl Graph {
    /// Makes a graph without nodes for the current device.
    ///
    /// Stands for [`cudaGraphCreate`](sys::cudaGraphCreate).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device. Refused inside a host function.
    #[doc(alias = "cudaGraphCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        stream::ensure_idle("Graph::new")?;
        let device = Device::current()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphCreate(&raw mut raw, 0)) }?;
        Ok(Self::of(raw, device))
    }

    /// Makes the owner of a raw graph without memory.
    pub(super) fn of(raw: sys::cudaGraph_t, device: Device) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            owner: GraphHandle::new(Raw::Graph(raw)),
            raw,
            device,
            number,
            root: number,
            steps: Arc::default(),
            acts: false,
            original: None,
            made: Arc::default(),
            newest_condition: 0,
            is_complete: true,
        }
    }

    /// Makes a body of a conditional node, which owns the raw graph, in graph number `root`.
    pub(super) fn body(raw: sys::cudaGraph_t, device: Device, root: u64) -> Self {
        let mut graph = Self { root, ..Self::of(raw, device) };
        graph.give_up();
        graph
    }

    /// Gives up a graph that the runtime has destroyed, which may only be dropped then.
    pub(super) fn give_up(&mut self) {
        self.owner.give_up();
    }

    /// Returns the raw nodes that edges from these nodes come from.
    #[track_caller]
    pub(super) fn last_of(&self, api: &'static str, nodes: &[Node]) -> Result<Vec<sys::cudaGraphNode_t>> {
        let mut last = Vec::with_capacity(nodes.len());
        for node in nodes {
            last.extend(self.steps.find(api, self.number, *node)?.1.last());
        }
        last.sort_unstable();
        last.dedup();
        Ok(last)
    }

    /// Returns the nodes for a change.
    pub(super) fn steps_mut(&mut self) -> &mut Steps {
        Arc::make_mut(&mut self.steps)
    }

    /// Returns the device of the graph.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the number of nodes. A child graph counts as one node.
    ///
    /// Stands for [`cudaGraphGetNodes`](sys::cudaGraphGetNodes).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphGetNodes")]
    #[track_caller]
    pub fn node_count(&self) -> Result<usize> {
        stream::ensure_idle("Graph::node_count")?;
        let mut count = 0;
        // SAFETY: the graph is live. With a null array the call only counts the nodes.
        unsafe { check!(cudaGraphGetNodes(self.raw, std::ptr::null_mut(), &raw mut count)) }?;
        Ok(count)
    }

    /// Returns all raw nodes.
    #[track_caller]
    pub(super) fn raw_nodes(&self) -> Result<Vec<sys::cudaGraphNode_t>> {
        let mut count = self.node_count()?;
        let mut nodes = vec![std::ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: the graph is live, and the array has `count` entries.
            unsafe { check!(cudaGraphGetNodes(self.raw, nodes.as_mut_ptr(), &raw mut count)) }?;
        }
        Ok(nodes)
    }

    /// Writes the graph to a file in Graphviz's DOT language.
    ///
    /// Stands for [`cudaGraphDebugDotPrint`](sys::cudaGraphDebugDotPrint).
    ///
    /// # Errors
    /// Returns the runtime's error if the file cannot be written. Refused if the path contains a zero byte,
    /// and inside a host function.
    #[doc(alias = "cudaGraphDebugDotPrint")]
    #[track_caller]
    pub fn write_dot(&self, path: impl AsRef<Path>) -> Result<()> {
        stream::ensure_idle("Graph::write_dot")?;
        let path = system::c_path("Graph::write_dot", path.as_ref())?;
        let flags = sys::cudaGraphDebugDotFlagsVerbose.0;
        // SAFETY: the graph is live, and the path ends in a zero byte.
        unsafe { check!(cudaGraphDebugDotPrint(self.raw, path.as_ptr(), flags)) }
    }

    /// Returns the raw handle. The graph retains ownership of it. The crate does not see changes that raw
    /// calls make through the handle: memory that they add is neither tracked nor retained.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaGraph_t {
        self.raw
    }
}
