//! Queries and changes the edges of a graph, and destroys nodes.
//!
//! The order that the tracker relies on is preserved. An edge that is the only order between two
//! conflicting nodes cannot be removed. If a node is destroyed, new edges between its neighbours replace
//! the order that it provided.
#![expect(unsafe_code, reason = "asks the runtime about graphs, and changes their edges")]

use std::collections::BTreeSet;
use std::ptr;

use super::graph::Graph;
use super::identity::Node;
use super::order::Edge;
use super::topology::{NodeKind, kind_of};
use crate::error::{AtCaller as _, Detail, Error, Result};
use crate::{check, stream, sys};

/// Writes a node's neighbours to an array of `count` entries, or counts them if the array is null.
type Ask = fn(sys::cudaGraphNode_t, *mut sys::cudaGraphNode_t, &mut usize) -> Result<()>;

impl Graph {
    /// Returns the direct predecessors of a node.
    ///
    /// Stands for [`cudaGraphNodeGetDependencies`](sys::cudaGraphNodeGetDependencies).
    ///
    /// # Errors
    /// `Unsupported` if the node belongs to another graph or was destroyed. Otherwise returns the runtime's
    /// error. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::Graph;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut graph = Graph::new()?;
    /// let first = graph.add(&[], node::empty())?;
    /// let second = graph.add(&[first], node::empty())?;
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

    /// Returns the direct successors of a node.
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
        let (numbers, mut found) = (self.steps.numbers(), BTreeSet::new());
        for raw in step.raws.iter() {
            found.extend(asked(*raw, ask)?.iter().filter_map(|raw| numbers.get(raw).copied()));
        }
        found.remove(&at);
        Ok(found.into_iter().map(|at| Node::new(self.number, at)).collect())
    }

    /// Adds edges, given as pairs of a node and its successor. Adds all of them or none.
    ///
    /// Stands for [`cudaGraphAddDependencies`](sys::cudaGraphAddDependencies).
    ///
    /// # Errors
    /// - `Unsupported` if a node belongs to another graph or was destroyed, or if the edges form a cycle.
    /// - `cudaErrorInvalidValue` if an edge already exists.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::Graph;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut graph = Graph::new()?;
    /// let (first, second) = (graph.add(&[], node::empty())?, graph.add(&[], node::empty())?);
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
        let Some(new) = self.steps_mut().join(&edges) else {
            let what = "dependencies in a circle, by which a node would come before itself";
            return Err(Error::refused(api, Detail::unsupported(what)));
        };
        self.steps_mut().changed();
        let (from, to) = self.raw_edges(&edges);
        let done = self.join_raw(&from, &to);
        if done.is_err() {
            self.steps_mut().order.part(&new);
        }
        done
    }

    /// Removes edges, given as pairs of a node and its direct successor.
    ///
    /// Stands for [`cudaGraphRemoveDependencies`](sys::cudaGraphRemoveDependencies).
    ///
    /// # Errors
    /// - `Hazard` if two conflicting nodes would have no order afterwards.
    /// - `Unsupported` if an edge does not exist, if a node belongs to another graph or was destroyed, or
    ///   if the graph has memory of its own.
    /// - Refused inside a host function.
    ///
    /// After an error from these checks, all edges are unchanged.
    #[doc(alias = "cudaGraphRemoveDependencies")]
    #[track_caller]
    pub fn remove_dependencies(&mut self, edges: &[(Node, Node)]) -> Result<()> {
        let api = "Graph::remove_dependencies";
        stream::ensure_idle(api)?;
        self.ensure_no_memory(api)?;
        let edges = self.found(api, edges)?;
        if !edges.iter().all(|edge| self.steps.order.has_edge(*edge)) {
            return Err(Error::refused(api, Detail::unsupported("a dependency that there is not")));
        }
        let then = match self.steps.parted(&edges) {
            Ok(then) => then,
            Err(other) => return Err(Error::refused(api, Detail::nodes_unordered(other))),
        };
        let (from, to) = self.present_raw_edges(&edges)?;
        let done = if from.is_empty() { Ok(()) } else { part(self.as_raw(), &from, &to) };
        // If the call fails half-way, edges may be missing, but conflicting nodes remain ordered.
        self.steps_mut().set_order(then);
        done
    }

    /// Destroys a node. Conflicting nodes that are ordered only through it stay ordered. Executable graphs
    /// that were made before do not change.
    ///
    /// Stands for [`cudaGraphDestroyNode`](sys::cudaGraphDestroyNode).
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured or destroyed, is conditional, or belongs to another graph,
    ///   and if the graph has memory of its own.
    /// - The runtime's error.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut bytes = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut graph = Graph::new()?;
    /// let mut fill = |value| graph.add(&[], node::memset(&mut bytes, value));
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
        if kind_of(raw)? == NodeKind::CONDITIONAL {
            let what = "destroying a conditional node, which its condition cannot be without,";
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        let (then, needed) = self.steps.without(at);
        self.steps_mut().changed();
        let (from, to) = self.raw_edges(&needed);
        self.join_raw(&from, &to)?;
        // From here on the node provides no order, whether its destruction succeeds or not.
        self.steps_mut().set_order(then);
        // SAFETY: the node belongs to a live graph, which is borrowed mutably. No other step refers to the
        // same raw node.
        unsafe { check!(cudaGraphDestroyNode(raw)) }?;
        let gone = self.steps_mut().take_out(at);
        self.acts = self.steps.list.iter().any(|step| step.acts);
        let Some(gone) = gone else { return Ok(()) };
        gone.more.and_then(|more| more.function).map_or(Ok(()), |function| self.let_go(function))
    }

    /// Returns the numbers of the nodes.
    #[track_caller]
    fn found(&self, api: &'static str, edges: &[(Node, Node)]) -> Result<Vec<Edge>> {
        let mut found = Vec::with_capacity(edges.len());
        for (from, to) in edges {
            let from = self.steps.find(api, self.number, *from)?.0;
            found.push((from, self.steps.find(api, self.number, *to)?.0));
        }
        Ok(found)
    }

    /// Returns the handles of both ends of all raw edges that these edges represent.
    fn raw_edges(&self, edges: &[Edge]) -> (Vec<sys::cudaGraphNode_t>, Vec<sys::cudaGraphNode_t>) {
        let steps = edges.iter().filter_map(|(from, to)| self.steps.get(*from).zip(self.steps.get(*to)));
        let pairs = steps.flat_map(|(from, to)| {
            from.last().iter().flat_map(move |from| to.first().iter().map(move |to| (*from, *to)))
        });
        pairs.unzip()
    }

    /// Returns both ends of all raw edges that there are between nodes of these pairs. A capture may have
    /// made more than those that represent an edge: a node after a join of branches comes directly after
    /// everything that one of the branches began after.
    #[track_caller]
    fn present_raw_edges(
        &self,
        edges: &[Edge],
    ) -> Result<(Vec<sys::cudaGraphNode_t>, Vec<sys::cudaGraphNode_t>)> {
        let mut pairs = Vec::new();
        for (from, to) in edges.iter().filter_map(|(from, to)| self.steps.get(*from).zip(self.steps.get(*to)))
        {
            for raw in to.raws.iter() {
                let before = asked(*raw, before)?;
                pairs.extend(
                    before.into_iter().filter(|raw| from.raws.contains(raw)).map(|from| (from, *raw)),
                );
            }
        }
        Ok(pairs.into_iter().unzip())
    }

    /// Adds raw edges from live nodes of the graph to as many others.
    #[track_caller]
    pub(super) fn join_raw(
        &mut self,
        from: &[sys::cudaGraphNode_t],
        to: &[sys::cudaGraphNode_t],
    ) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let (graph, count) = (self.as_raw(), from.len().min(to.len()));
        #[cfg(cudart_13_0)]
        // SAFETY: the graph and the nodes are live, and both lists have at least `count` nodes.
        let done = unsafe {
            check!(cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), ptr::null(), count))
        };
        #[cfg(not(cudart_13_0))]
        // SAFETY: the graph and the nodes are live, and both lists have at least `count` nodes.
        let done = unsafe { check!(cudaGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), count)) };
        done
    }
}

/// Removes the edges from nodes of a live graph to as many others.
#[track_caller]
fn part(graph: sys::cudaGraph_t, from: &[sys::cudaGraphNode_t], to: &[sys::cudaGraphNode_t]) -> Result<()> {
    let count = from.len().min(to.len());
    #[cfg(cudart_13_0)]
    // SAFETY: the graph and the nodes are live, and both lists have at least `count` nodes.
    let done =
        unsafe { check!(cudaGraphRemoveDependencies(graph, from.as_ptr(), to.as_ptr(), ptr::null(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: the graph and the nodes are live, and both lists have at least `count` nodes.
    let done = unsafe { check!(cudaGraphRemoveDependencies(graph, from.as_ptr(), to.as_ptr(), count)) };
    done
}

/// Returns the neighbours of a live node.
#[track_caller]
fn asked(node: sys::cudaGraphNode_t, ask: Ask) -> Result<Vec<sys::cudaGraphNode_t>> {
    let mut count = 0;
    ask(node, ptr::null_mut(), &mut count).at_caller()?;
    let mut raws = vec![ptr::null_mut(); count];
    if count > 0 {
        ask(node, raws.as_mut_ptr(), &mut count).at_caller()?;
    }
    Ok(raws)
}

#[track_caller]
fn before(node: sys::cudaGraphNode_t, room: *mut sys::cudaGraphNode_t, count: &mut usize) -> Result<()> {
    let count = ptr::from_mut(count);
    #[cfg(cudart_13_0)]
    // SAFETY: the node is live. The callers pass an array of `count` nodes, or null.
    let got = unsafe { check!(cudaGraphNodeGetDependencies(node, room, ptr::null_mut(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: the node is live. The callers pass an array of `count` nodes, or null.
    let got = unsafe { check!(cudaGraphNodeGetDependencies(node, room, count)) };
    got
}

#[track_caller]
fn behind(node: sys::cudaGraphNode_t, room: *mut sys::cudaGraphNode_t, count: &mut usize) -> Result<()> {
    let count = ptr::from_mut(count);
    #[cfg(cudart_13_0)]
    // SAFETY: the node is live. The callers pass an array of `count` nodes, or null.
    let got = unsafe { check!(cudaGraphNodeGetDependentNodes(node, room, ptr::null_mut(), count)) };
    #[cfg(not(cudart_13_0))]
    // SAFETY: the node is live. The callers pass an array of `count` nodes, or null.
    let got = unsafe { check!(cudaGraphNodeGetDependentNodes(node, room, count)) };
    got
}
