//! Copies of graphs, and graphs within graphs.
#![expect(unsafe_code, reason = "copies raw graphs, and asks the runtime about them")]

use std::ptr;

use super::graph::Graph;
use super::nodes::Node;
use super::steps::Step;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

impl Graph {
    /// Copies the graph, with its memory and host functions in common.
    ///
    /// The copy has nodes of its own, in the same order: [`find_in_clone`](Self::find_in_clone) tells which. What is done to either
    /// graph later, is not done to the other. Stands for [`cudaGraphClone`](sys::cudaGraphClone).
    ///
    /// # Errors
    /// `Unsupported` for a graph with memory of its own. What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaGraphClone")]
    #[track_caller]
    pub fn try_clone(&self) -> Result<Self> {
        stream::ensure_idle("Graph::try_clone")?;
        self.ensure_no_memory("Graph::try_clone")?;
        let mut raw = ptr::null_mut();
        // SAFETY: the graph is live, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphClone(&raw mut raw, self.as_raw())) }?;
        let mut graph = Self::of(raw, self.device());
        graph.steps = self.steps.clone();
        for step in &mut graph.steps.list {
            let twins = step.raws.iter().map(|node| twin(*node, raw)).collect::<Result<Vec<_>>>()?;
            *step = Step { raws: twins.into(), ..step.clone() };
        }
        graph.uses = self.uses.clone();
        graph.acts = self.acts;
        graph.original = Some((self.number, self.steps.list.len()));
        Ok(graph)
    }

    /// The node of this copy that was made from a node of the original, which had it by then.
    ///
    /// Stands for [`cudaGraphNodeFindInClone`](sys::cudaGraphNodeFindInClone).
    ///
    /// # Errors
    /// `Unsupported` for a node of another graph than the one that this is a copy of, for one that was added to it later, and for one that
    /// was destroyed here or there.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    /// let mut graph = Graph::new()?;
    /// let fill = graph.add_memset(&[], &mut bytes, 1)?;
    /// let mut copy = graph.try_clone()?;
    /// copy.set_memset(copy.find_in_clone(fill)?, &mut bytes, 2)?;
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
        found.ok_or_else(|| Error::refused("Graph::find_in_clone", Detail::Unsupported { what }))
    }

    /// The handle of the graph that a node runs, which stays the node's. What is done to it behind the crate's back, this graph does not
    /// know of.
    ///
    /// Stands for [`cudaGraphChildGraphNodeGetGraph`](sys::cudaGraphChildGraphNodeGetGraph).
    ///
    /// # Errors
    /// `Unsupported` for a node that was captured or destroyed, or is of another graph; what the runtime fails with for a node of another
    /// kind; a refusal inside a host function.
    #[doc(alias = "cudaGraphChildGraphNodeGetGraph")]
    #[track_caller]
    pub fn graph_within(&self, node: Node) -> Result<sys::cudaGraph_t> {
        let (api, mut graph) = ("Graph::graph_within", ptr::null_mut());
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        // SAFETY: the node is one of a live graph, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphChildGraphNodeGetGraph(raw, &raw mut graph)) }?;
        Ok(graph)
    }
}

/// The node of a copy that was made from this one.
#[track_caller]
fn twin(node: sys::cudaGraphNode_t, copy: sys::cudaGraph_t) -> Result<sys::cudaGraphNode_t> {
    let mut twin = ptr::null_mut();
    // SAFETY: the node is one of a live graph, of which the other is a live copy, and the pointer is to a live variable, which the call
    // fills.
    unsafe { check!(cudaGraphNodeFindInClone(&raw mut twin, node, copy)) }?;
    Ok(twin)
}
