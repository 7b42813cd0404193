//! Copies of graphs, and child graphs.
#![expect(unsafe_code, reason = "copies raw graphs, and asks the runtime about them")]

use std::ptr;
use std::sync::Arc;

use super::graph::Graph;
use super::identity::Node;
use crate::error::{Detail, OrRefused, Result};
use crate::{check, stream, sys};

impl Graph {
    /// Copies the graph. Both graphs share memory and host functions.
    ///
    /// The copy has its own nodes in the same order; [`find_in_clone`](Self::find_in_clone) finds them.
    /// Later changes to one graph do not affect the other. Stands for
    /// [`cudaGraphClone`](sys::cudaGraphClone).
    ///
    /// # Errors
    /// `Unsupported` if the graph has memory or conditions of its own. Otherwise returns the runtime's error.
    /// Refused inside a host function.
    #[doc(alias = "cudaGraphClone")]
    #[track_caller]
    pub fn try_clone(&self) -> Result<Self> {
        stream::ensure_idle("Graph::try_clone")?;
        self.ensure_can_be_copied("Graph::try_clone")?;
        let mut raw = ptr::null_mut();
        // SAFETY: the graph is live. The pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphClone(&raw mut raw, self.as_raw())) }?;
        let mut graph = Self::of(raw, self.device());
        graph.steps = Arc::clone(&self.steps);
        graph.steps_mut().changed();
        for step in graph.steps_mut().list.iter_mut() {
            let ends = step.more.iter_mut().filter_map(|more| more.ends.as_mut()).flatten().flatten();
            for node in step.raws.iter_mut().chain(ends) {
                *node = twin(*node, raw)?;
            }
        }
        graph.acts = self.acts;
        graph.original = Some((self.number, self.steps.list.len()));
        Ok(graph)
    }

    /// Returns the node of this copy that corresponds to a node of the original.
    ///
    /// Stands for [`cudaGraphNodeFindInClone`](sys::cudaGraphNodeFindInClone).
    ///
    /// # Errors
    /// `Unsupported` if the node does not belong to the graph that this is a copy of, was added to the
    /// original later, or was destroyed in this graph, or in the original before the copy.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    /// let mut graph = Graph::new()?;
    /// let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    /// let mut copy = graph.try_clone()?;
    /// copy.set(copy.find_in_clone(fill)?, node::memset(&mut bytes, 2))?;
    /// copy.instantiate()?.launch(&stream)?;
    /// assert_eq!(bytes.to_vec()?, [2; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphNodeFindInClone")]
    #[track_caller]
    pub fn find_in_clone(&self, node: Node) -> Result<Node> {
        let found = self.original.and_then(|(graph, count)| {
            let at = node.of(graph).filter(|at| *at < count)?;
            self.steps.get(at).map(|_| Node::new(self.number, at))
        });
        let what = "a node that this graph has no copy of";
        found.or_refused("Graph::find_in_clone", || Detail::unsupported(what))
    }

    /// Returns the handle of a node's child graph. The node retains ownership of it. The crate does not see
    /// changes that raw calls make through the handle: memory that they add is neither tracked nor
    /// retained.
    ///
    /// Stands for [`cudaGraphChildGraphNodeGetGraph`](sys::cudaGraphChildGraphNodeGetGraph).
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured or destroyed, or belongs to another graph.
    /// - The runtime's error for a node of another kind.
    /// - Refused inside a host function.
    #[doc(alias = "cudaGraphChildGraphNodeGetGraph")]
    #[track_caller]
    pub fn graph_within(&self, node: Node) -> Result<sys::cudaGraph_t> {
        let (api, mut graph) = ("Graph::graph_within", ptr::null_mut());
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call
        // fills.
        unsafe { check!(cudaGraphChildGraphNodeGetGraph(raw, &raw mut graph)) }?;
        Ok(graph)
    }
}

/// Returns the node of `copy` that was made from `node`.
#[track_caller]
fn twin(node: sys::cudaGraphNode_t, copy: sys::cudaGraph_t) -> Result<sys::cudaGraphNode_t> {
    let mut twin = ptr::null_mut();
    // SAFETY: the node belongs to a live graph, and `copy` is a live copy of that graph. The pointer is to
    // a live variable, which the call fills.
    unsafe { check!(cudaGraphNodeFindInClone(&raw mut twin, node, copy)) }?;
    Ok(twin)
}
