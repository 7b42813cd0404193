//! What comes after what in a graph, asked and changed, and nodes that are taken out again.
//!
//! What the tracker needs stays: an edge that alone keeps two nodes in order which conflict is not taken away, and what a node that is
//! destroyed has kept in order, edges of its neighbours do.
#![expect(unsafe_code, reason = "asks the runtime about graphs, and changes their edges")]

use std::collections::BTreeSet;
use std::ptr;

use super::graph::Graph;
use super::nodes::Node;
use super::steps::Edge;
use crate::error::{Detail, Error, Result};
use crate::{check, stream, sys};

/// What gives the neighbours of a node where there is room for so many, or counts them.
type Ask = fn(sys::cudaGraphNode_t, *mut sys::cudaGraphNode_t, &mut usize) -> Result<()>;

impl Graph {
    /// The nodes that a node comes directly after.
    ///
    /// Stands for [`cudaGraphNodeGetDependencies`](sys::cudaGraphNodeGetDependencies).
    ///
    /// # Errors
    /// `Unsupported` for a node of another graph or one that was destroyed; what the runtime fails with; a refusal inside a host
    /// function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Graph;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut graph = Graph::new()?;
    /// let first = graph.add_empty(&[])?;
    /// let second = graph.add_empty(&[first])?;
    /// assert_eq!(graph.dependencies(second)?, [first]);
    /// assert_eq!(graph.dependent_nodes(first)?, [second]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphNodeGetDependencies")]
    #[track_caller]
    pub fn dependencies(&self, node: Node) -> Result<Vec<Node>> {
        self.neighbours("Graph::dependencies", node, before)
    }

    /// The nodes that come directly after a node.
    ///
    /// Stands for [`cudaGraphNodeGetDependentNodes`](sys::cudaGraphNodeGetDependentNodes).
    ///
    /// # Errors
    /// Those of [`dependencies`](Self::dependencies).
    #[doc(alias = "cudaGraphNodeGetDependentNodes")]
    #[track_caller]
    pub fn dependent_nodes(&self, node: Node) -> Result<Vec<Node>> {
        self.neighbours("Graph::dependent_nodes", node, behind)
    }

    #[track_caller]
    fn neighbours(&self, api: &'static str, node: Node, ask: Ask) -> Result<Vec<Node>> {
        stream::ensure_idle(api)?;
        let (at, step) = self.steps.find(api, self.number, node)?;
        let (numbers, mut found) = (self.numbers(), BTreeSet::new());
        for raw in step.raws.iter() {
            let mut count = 0;
            ask(*raw, ptr::null_mut(), &mut count)?;
            let mut raws = vec![ptr::null_mut(); count];
            if count > 0 {
                ask(*raw, raws.as_mut_ptr(), &mut count)?;
            }
            found.extend(raws.iter().filter_map(|raw| numbers.get(raw).copied()));
        }
        found.remove(&at);
        Ok(found.into_iter().map(|at| Node::new(self.number, at)).collect())
    }

    /// Has nodes come after others: pairs of a node and one that is to come behind it. All of them, or none.
    ///
    /// Stands for [`cudaGraphAddDependencies`](sys::cudaGraphAddDependencies).
    ///
    /// # Errors
    /// `Unsupported` for nodes of another graph and those that were destroyed, and where nodes would come before themselves;
    /// `cudaErrorInvalidValue` for what is so already; a refusal inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Graph;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut graph = Graph::new()?;
    /// let (first, second) = (graph.add_empty(&[])?, graph.add_empty(&[])?);
    /// graph.add_dependencies(&[(first, second)])?;
    /// assert_eq!(graph.edges()?, [(first, second)]);
    /// graph.remove_dependencies(&[(first, second)])?;
    /// assert!(graph.edges()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddDependencies")]
    #[track_caller]
    pub fn add_dependencies(&mut self, edges: &[(Node, Node)]) -> Result<()> {
        let api = "Graph::add_dependencies";
        stream::ensure_idle(api)?;
        let edges = self.found(api, edges)?;
        let mut then = self.steps.clone();
        for (from, to) in &edges {
            if from == to || then.comes_before(*to, *from) {
                let what = "dependencies in a circle, by which a node would come before itself";
                return Err(Error::refused(api, Detail::Unsupported { what }));
            }
            then.join(&[(*from, *to)]);
        }
        self.steps.changed();
        self.join_raw(&edges)?;
        self.steps = then;
        Ok(())
    }

    /// Has nodes no longer come directly after others: pairs of a node and one behind it.
    ///
    /// Stands for [`cudaGraphRemoveDependencies`](sys::cudaGraphRemoveDependencies).
    ///
    /// # Errors
    /// `NodesUnordered` where that leaves two nodes without an order that conflict; `Unsupported` for what is not so, for nodes of another
    /// graph and those that were destroyed, and for a graph with memory of its own; a refusal inside a host function. All edges are then
    /// as they were.
    #[doc(alias = "cudaGraphRemoveDependencies")]
    #[track_caller]
    pub fn remove_dependencies(&mut self, edges: &[(Node, Node)]) -> Result<()> {
        let api = "Graph::remove_dependencies";
        stream::ensure_idle(api)?;
        self.ensure_no_memory(api)?;
        let edges = self.found(api, edges)?;
        if !edges.iter().all(|edge| self.steps.has_edge(*edge)) {
            return Err(Error::refused(api, Detail::Unsupported { what: "a dependency that there is not" }));
        }
        let mut then = self.steps.clone();
        then.part(&edges);
        if let Some((other, _)) = self.steps.lost(&then).first() {
            return Err(Error::refused(api, Detail::NodesUnordered { other: *other }));
        }
        let (from, to) = self.raw_edges(&edges);
        let done = if from.is_empty() { Ok(()) } else { part(self.as_raw(), &from, &to) };
        // If it fails half-way, there may be less order than there was, and none that is needed.
        self.steps = then;
        done
    }

    /// Takes a node out of the graph. What conflicts and is in order by it, stays in order. Executable forms of the graph do what they did.
    ///
    /// Stands for [`cudaGraphDestroyNode`](sys::cudaGraphDestroyNode).
    ///
    /// # Errors
    /// `Unsupported` for a node that was captured or destroyed, or is of another graph, and for a graph with memory of its own; what the
    /// runtime fails with; a refusal inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut bytes = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut graph = Graph::new()?;
    /// let mut fill = |value| graph.add_memset(&[], &mut bytes, value);
    /// let (first, second, third) = (fill(1)?, fill(2)?, fill(3)?);
    /// graph.destroy_node(second)?;
    /// assert_eq!(graph.edges()?, [(first, third)]); // both fill the same bytes
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphDestroyNode")]
    #[track_caller]
    pub fn destroy_node(&mut self, node: Node) -> Result<()> {
        let api = "Graph::destroy_node";
        stream::ensure_idle(api)?;
        self.ensure_no_memory(api)?;
        let (at, raw) = self.steps.added(api, self.number, node)?;
        let mut then = self.steps.clone();
        then.part(&self.steps.edges_of(at));
        let mut needed = Vec::new();
        for (from, to) in self.steps.lost(&then) {
            if from != at && to != at && !then.comes_before(from, to) {
                then.join(&[(from, to)]);
                needed.push((from, to));
            }
        }
        self.steps.changed();
        self.join_raw(&needed)?;
        // From here on, whether it is destroyed or not: nothing is in order by it.
        self.steps = then;
        // SAFETY: the node is one of a live graph, which nobody else changes meanwhile, and no other one's number stands for it.
        unsafe { check!(cudaGraphDestroyNode(raw)) }?;
        let gone = self.steps.take_out(at);
        self.uses = self.steps.uses();
        self.acts = self.steps.list.iter().any(|step| step.acts);
        let Some(gone) = gone else { return Ok(()) };
        gone.function.map_or(Ok(()), |function| self.let_go(function))
    }

    /// The numbers of nodes.
    #[track_caller]
    fn found(&self, api: &'static str, edges: &[(Node, Node)]) -> Result<Vec<Edge>> {
        let mut found = Vec::with_capacity(edges.len());
        for (from, to) in edges {
            let from = self.steps.find(api, self.number, *from)?.0;
            found.push((from, self.steps.find(api, self.number, *to)?.0));
        }
        Ok(found)
    }

    /// The handles of both ends of all edges that these stand for.
    fn raw_edges(&self, edges: &[Edge]) -> (Vec<sys::cudaGraphNode_t>, Vec<sys::cudaGraphNode_t>) {
        let raws = |at| self.steps.get(at).map(|step| &*step.raws).unwrap_or_default();
        let pairs = |(from, to): &Edge| {
            let to = raws(*to);
            raws(*from).iter().flat_map(move |from| to.iter().map(move |to| (*from, *to))).collect::<Vec<_>>()
        };
        edges.iter().flat_map(pairs).unzip()
    }

    #[track_caller]
    fn join_raw(&mut self, edges: &[Edge]) -> Result<()> {
        let (from, to) = self.raw_edges(edges);
        if from.is_empty() {
            return Ok(());
        }
        let (graph, count) = (self.as_raw(), from.len());
        #[cfg(cudart_13_0)]
        // SAFETY: the graph and the nodes are live, and there are as many of each as is said.
        let done = unsafe {
            check!(cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), ptr::null(), count))
        };
        #[cfg(not(cudart_13_0))]
        // SAFETY: as above.
        let done = unsafe { check!(cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), count)) };
        done
    }
}

/// Ends the edges from nodes of a live graph to as many others.
#[track_caller]
fn part(graph: sys::cudaGraph_t, from: &[sys::cudaGraphNode_t], to: &[sys::cudaGraphNode_t]) -> Result<()> {
    let count = from.len().min(to.len());
    #[cfg(cudart_13_0)]
    // SAFETY: the graph and the nodes are live, and there are as many of each as is said.
    let done =
        unsafe { check!(cudaGraphRemoveDependencies(graph, from.as_ptr(), to.as_ptr(), ptr::null(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: as above.
    let done = unsafe { check!(cudaGraphRemoveDependencies(graph, from.as_ptr(), to.as_ptr(), count)) };
    done
}

#[track_caller]
fn before(node: sys::cudaGraphNode_t, room: *mut sys::cudaGraphNode_t, count: &mut usize) -> Result<()> {
    let count = ptr::from_mut(count);
    #[cfg(cudart_13_0)]
    // SAFETY: the node is live; the callers have room for as many nodes as they say, or none.
    let got = unsafe { check!(cudaGraphNodeGetDependencies(node, room, ptr::null_mut(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: as above.
    let got = unsafe { check!(cudaGraphNodeGetDependencies(node, room, count)) };
    got
}

#[track_caller]
fn behind(node: sys::cudaGraphNode_t, room: *mut sys::cudaGraphNode_t, count: &mut usize) -> Result<()> {
    let count = ptr::from_mut(count);
    #[cfg(cudart_13_0)]
    // SAFETY: the node is live; the callers have room for as many nodes as they say, or none.
    let got = unsafe { check!(cudaGraphNodeGetDependentNodes(node, room, ptr::null_mut(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: as above.
    let got = unsafe { check!(cudaGraphNodeGetDependentNodes(node, room, count)) };
    got
}
