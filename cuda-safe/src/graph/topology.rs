//! What a graph looks like: its nodes, and which come after which.
#![expect(unsafe_code, reason = "asks the runtime about graphs")]

use std::collections::{BTreeSet, HashMap};
use std::ptr;

use super::graph::Graph;
use super::nodes::Node;
use super::steps::Step;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

/// What a node is: one of the constants, or something newer.
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
    /// A function on the host.
    pub const HOST: Self = Self(sys::cudaGraphNodeTypeHost);
    /// Another graph.
    pub const GRAPH: Self = Self(sys::cudaGraphNodeTypeGraph);
    /// Nothing.
    pub const EMPTY: Self = Self(sys::cudaGraphNodeTypeEmpty);
    /// The record of an event.
    pub const EVENT_RECORD: Self = Self(sys::cudaGraphNodeTypeEventRecord);
    /// The wait for an event.
    pub const EVENT_WAIT: Self = Self(sys::cudaGraphNodeTypeWaitEvent);
    /// An allocation.
    pub const MEM_ALLOC: Self = Self(sys::cudaGraphNodeTypeMemAlloc);
    /// The end of an allocation.
    pub const MEM_FREE: Self = Self(sys::cudaGraphNodeTypeMemFree);

    /// The number as C has it.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaGraphNodeType {
        self.0
    }
}

impl Graph {
    /// The nodes, in the order in which they were added. All that was captured is one of them, the first: as what others come after it
    /// stands for all of that.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::NodeKind;
    /// use cuda_safe::{DeviceBuffer, Graph};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut bytes = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut graph = Graph::new()?;
    /// let fill = graph.add_memset(&[], &mut bytes, 7)?;
    /// let end = graph.add_empty(&[fill])?;
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

    /// The nodes that come after no other one.
    ///
    /// Stands for [`cudaGraphGetRootNodes`](sys::cudaGraphGetRootNodes).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaGraphGetRootNodes")]
    #[track_caller]
    pub fn root_nodes(&self) -> Result<Vec<Node>> {
        stream::ensure_idle("Graph::root_nodes")?;
        let mut count = 0;
        // SAFETY: the graph is live; without room for them, the nodes are only counted.
        unsafe { check!(cudaGraphGetRootNodes(self.as_raw(), ptr::null_mut(), &raw mut count)) }?;
        let mut raws = vec![ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: the graph is live, and there is room for as many nodes as the call is told.
            unsafe { check!(cudaGraphGetRootNodes(self.as_raw(), raws.as_mut_ptr(), &raw mut count)) }?;
        }
        let numbers = self.numbers();
        let found: BTreeSet<usize> = raws.iter().filter_map(|raw| numbers.get(raw).copied()).collect();
        Ok(found.into_iter().map(|at| Node::new(self.number, at)).collect())
    }

    /// Which node comes directly after which: pairs of a node and one behind it. What was captured counts as one node.
    ///
    /// Stands for [`cudaGraphGetEdges`](sys::cudaGraphGetEdges).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaGraphGetEdges")]
    #[track_caller]
    pub fn edges(&self) -> Result<Vec<(Node, Node)>> {
        stream::ensure_idle("Graph::edges")?;
        let mut count = 0;
        edges_of(self.as_raw(), ptr::null_mut(), ptr::null_mut(), &mut count)?;
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        if count > 0 {
            edges_of(self.as_raw(), from.as_mut_ptr(), to.as_mut_ptr(), &mut count)?;
        }
        let numbers = self.numbers();
        let at = |raw| numbers.get(raw).copied();
        let pairs = from.iter().zip(&to).filter_map(|(from, to)| Some((at(from)?, at(to)?)));
        let found: BTreeSet<(usize, usize)> = pairs.filter(|(from, to)| from != to).collect();
        let node = |at| Node::new(self.number, at);
        Ok(found.into_iter().map(|(from, to)| (node(from), node(to))).collect())
    }

    /// What a node is.
    ///
    /// Stands for [`cudaGraphNodeGetType`](sys::cudaGraphNodeGetType).
    ///
    /// # Errors
    /// `Unsupported` for a node of another graph, and for several that were captured; what the runtime fails with; a refusal inside
    /// a host function.
    #[doc(alias = "cudaGraphNodeGetType")]
    #[track_caller]
    pub fn node_kind(&self, node: Node) -> Result<NodeKind> {
        let api = "Graph::node_kind";
        stream::ensure_idle(api)?;
        let refused = |what| Error::refused(api, Detail::Unsupported { what });
        let (_, step) = self.steps.find(api, self.number, node)?;
        let [raw] = *step.raws else { return Err(refused("the kind of several nodes that were captured")) };
        let mut kind = sys::cudaGraphNodeTypeEmpty;
        // SAFETY: the node is one of a live graph, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphNodeGetType(raw, &raw mut kind)) }?;
        Ok(NodeKind(kind))
    }

    /// The numbers of the raw nodes.
    pub(super) fn numbers(&self) -> HashMap<sys::cudaGraphNode_t, usize> {
        let of = |(at, step): (usize, &Step)| step.raws.iter().map(move |raw| (*raw, at)).collect::<Vec<_>>();
        self.steps.list.iter().enumerate().flat_map(of).collect()
    }
}

/// Writes the edges of a graph where there is room for so many, or counts them.
#[track_caller]
fn edges_of(
    graph: sys::cudaGraph_t,
    from: *mut sys::cudaGraphNode_t,
    to: *mut sys::cudaGraphNode_t,
    count: &mut usize,
) -> Result<()> {
    let count = ptr::from_mut(count);
    #[cfg(cudart_13_0)]
    // SAFETY: the graph is live; the callers have room for as many edges as they say, or none.
    let got = unsafe { check!(cudaGraphGetEdges(graph, from, to, ptr::null_mut(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: as above.
    let got = unsafe { check!(cudaGraphGetEdges(graph, from, to, count)) };
    got
}
