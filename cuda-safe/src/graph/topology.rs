//! Queries the nodes and edges of a graph.
#![expect(unsafe_code, reason = "asks the runtime about graphs")]

use std::collections::BTreeSet;
use std::ptr;

use super::graph::Graph;
use super::identity::Node;
use crate::error::{Result, unsupported};
use crate::{check, stream, sys};

/// The kind of a node. One of the constants, or a newer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaGraphNodeType")]
pub struct NodeKind(sys::cudaGraphNodeType);

impl NodeKind {
    /// A kernel.
    pub const KERNEL: Self = Self(sys::cudaGraphNodeTypeKernel);
    /// A copy.
    pub const MEMCPY: Self = Self(sys::cudaGraphNodeTypeMemcpy);
    /// A fill.
    pub const MEMSET: Self = Self(sys::cudaGraphNodeTypeMemset);
    /// A host function.
    pub const HOST: Self = Self(sys::cudaGraphNodeTypeHost);
    /// A child graph.
    pub const GRAPH: Self = Self(sys::cudaGraphNodeTypeGraph);
    /// An empty node.
    pub const EMPTY: Self = Self(sys::cudaGraphNodeTypeEmpty);
    /// Records an event.
    pub const EVENT_RECORD: Self = Self(sys::cudaGraphNodeTypeEventRecord);
    /// Waits for an event.
    pub const EVENT_WAIT: Self = Self(sys::cudaGraphNodeTypeWaitEvent);
    /// Signals semaphores of another interface.
    pub const EXT_SEMAPHORE_SIGNAL: Self = Self(sys::cudaGraphNodeTypeExtSemaphoreSignal);
    /// Waits for semaphores of another interface.
    pub const EXT_SEMAPHORE_WAIT: Self = Self(sys::cudaGraphNodeTypeExtSemaphoreWait);
    /// Allocates memory.
    pub const MEM_ALLOC: Self = Self(sys::cudaGraphNodeTypeMemAlloc);
    /// Frees memory.
    pub const MEM_FREE: Self = Self(sys::cudaGraphNodeTypeMemFree);
    /// Runs its bodies by a condition.
    pub const CONDITIONAL: Self = Self(sys::cudaGraphNodeTypeConditional);
    /// A batch of copies, from CUDA 13.5 on.
    #[cfg(cudart_13_5)]
    pub const MEMCPY_BATCH: Self = Self(sys::cudaGraphNodeTypeMemcpyBatch);
    /// The node of an external engine, from CUDA 13.5 on.
    #[cfg(cudart_13_5)]
    pub const EXTERNAL_ENGINE: Self = Self(sys::cudaGraphNodeTypeExternalEngine);

    /// Returns C's number.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaGraphNodeType {
        self.0
    }
}

impl Graph {
    /// Returns the nodes in the order in which they were added. A capture is one node. As a dependency of
    /// other nodes it stands for all captured nodes.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::{NodeKind, node};
    /// use cuda_safe::{DeviceBuffer, Graph};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut bytes = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut graph = Graph::new()?;
    /// let fill = graph.add(&[], node::memset(&mut bytes, 7))?;
    /// let end = graph.add(&[fill], node::empty())?;
    /// assert_eq!(graph.nodes(), [fill, end]);
    /// assert_eq!(graph.root_nodes()?, [fill]);
    /// assert_eq!(graph.edges()?, [(fill, end)]);
    /// assert_eq!(graph.node_kind(fill)?, NodeKind::MEMSET);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        let all = 0..self.steps.list.len();
        all.filter(|at| self.steps.get(*at).is_some()).map(|at| Node::new(self.number, at)).collect()
    }

    /// Returns the nodes without a predecessor.
    ///
    /// Stands for [`cudaGraphGetRootNodes`](sys::cudaGraphGetRootNodes).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphGetRootNodes")]
    #[track_caller]
    pub fn root_nodes(&self) -> Result<Vec<Node>> {
        stream::ensure_idle("Graph::root_nodes")?;
        let mut count = 0;
        // SAFETY: the graph is live. With a null array the call only counts the nodes.
        unsafe { check!(cudaGraphGetRootNodes(self.as_raw(), ptr::null_mut(), &raw mut count)) }?;
        let mut raws = vec![ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: the graph is live, and the array has `count` entries.
            unsafe { check!(cudaGraphGetRootNodes(self.as_raw(), raws.as_mut_ptr(), &raw mut count)) }?;
        }
        let numbers = self.steps.numbers();
        let found: BTreeSet<usize> = raws.iter().filter_map(|raw| numbers.get(raw).copied()).collect();
        Ok(found.into_iter().map(|at| Node::new(self.number, at)).collect())
    }

    /// Returns the edges as pairs of a node and its direct successor. A capture counts as one node.
    ///
    /// Stands for [`cudaGraphGetEdges`](sys::cudaGraphGetEdges).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphGetEdges")]
    #[track_caller]
    pub fn edges(&self) -> Result<Vec<(Node, Node)>> {
        stream::ensure_idle("Graph::edges")?;
        let (from, to) = self.all_raw_edges()?;
        let numbers = self.steps.numbers();
        let at = |raw| numbers.get(raw).copied();
        let pairs = from.iter().zip(&to).filter_map(|(from, to)| Some((at(from)?, at(to)?)));
        let found: BTreeSet<(usize, usize)> = pairs.filter(|(from, to)| from != to).collect();
        let node = |at| Node::new(self.number, at);
        Ok(found.into_iter().map(|(from, to)| (node(from), node(to))).collect())
    }

    /// Returns both ends of all raw edges.
    #[track_caller]
    pub(super) fn all_raw_edges(&self) -> Result<(Vec<sys::cudaGraphNode_t>, Vec<sys::cudaGraphNode_t>)> {
        let mut count = 0;
        edges_of(self.as_raw(), ptr::null_mut(), ptr::null_mut(), &mut count)?;
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        if count > 0 {
            edges_of(self.as_raw(), from.as_mut_ptr(), to.as_mut_ptr(), &mut count)?;
        }
        Ok((from, to))
    }

    /// Returns the kind of a node.
    ///
    /// Stands for [`cudaGraphNodeGetType`](sys::cudaGraphNodeGetType).
    ///
    /// # Errors
    /// `Unsupported` if the node belongs to another graph, or is a capture of several nodes. Otherwise
    /// returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphNodeGetType")]
    #[track_caller]
    pub fn node_kind(&self, node: Node) -> Result<NodeKind> {
        let api = "Graph::node_kind";
        stream::ensure_idle(api)?;
        let (_, step) = self.steps.find(api, self.number, node)?;
        let what = "the kind of several nodes that were captured";
        let [raw] = *step.raws else { return Err(unsupported(api, what)) };
        kind_of(raw)
    }

    /// Returns the handle of the event that a node records or waits for. It equals that of
    /// [`Event::as_raw`](crate::Event::as_raw).
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
            // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call
            // fills.
            unsafe { check!(cudaGraphEventRecordNodeGetEvent(raw, &raw mut event)) }?;
        }
        Ok(event)
    }
}

/// Returns the kind of a node of a live graph.
#[track_caller]
pub(super) fn kind_of(raw: sys::cudaGraphNode_t) -> Result<NodeKind> {
    let mut kind = sys::cudaGraphNodeTypeEmpty;
    // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call fills.
    unsafe { check!(cudaGraphNodeGetType(raw, &raw mut kind)) }?;
    Ok(NodeKind(kind))
}

/// Writes a graph's edges to arrays of `count` entries, or counts them if the arrays are null.
#[track_caller]
fn edges_of(
    graph: sys::cudaGraph_t,
    from: *mut sys::cudaGraphNode_t,
    to: *mut sys::cudaGraphNode_t,
    count: &mut usize,
) -> Result<()> {
    let count = ptr::from_mut(count);
    #[cfg(cudart_13_0)]
    // SAFETY: the graph is live. The callers pass arrays of `count` entries, or null.
    let got = unsafe { check!(cudaGraphGetEdges(graph, from, to, ptr::null_mut(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: the graph is live. The callers pass arrays of `count` entries, or null.
    let got = unsafe { check!(cudaGraphGetEdges(graph, from, to, count)) };
    got
}
