//! The nodes of a graph: the accesses of each and their order. Calls no C function.
//!
//! # Why nodes that conflict are ordered
//! - An added node comes after all earlier nodes that it conflicts with. If the program's edges do not
//!   order them, edges are added.
//! - A change of a node's operation is refused if the new operation conflicts with a node that comes
//!   neither before nor after it.
//! - The removal of an edge is refused if it would leave two conflicting nodes unordered. If a node is
//!   destroyed, new edges preserve the order of conflicting nodes.
//!
//! # Why a graph's own memory is used only while it is allocated
//! The node that allocates the memory and the one that frees it write all of it. By the rules above, every
//! node that uses the memory is therefore ordered with both. Whenever a node gets an operation, this module
//! checks that it comes after the one and before the other. Edges never reverse an order: a cycle is
//! refused. A graph is made executable only if a node frees each of its allocations, so at its end a launch
//! has freed all that it allocated.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Detail, Error, Result};
use crate::hazard::RetainedAccesses;
use crate::sys;

/// A node of a graph. It names the node in calls, for example as a dependency of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaGraphNode_t")]
pub struct Node {
    graph: u64,
    at: usize,
}

impl Node {
    /// Names node number `at` of graph number `graph`.
    pub(super) fn new(graph: u64, at: usize) -> Self {
        Self { graph, at }
    }

    /// Returns the node's number.
    pub(super) fn at(self) -> usize {
        self.at
    }

    /// Returns the node's number if it belongs to this graph.
    pub(super) fn of(self, graph: u64) -> Option<usize> {
        (self.graph == graph).then_some(self.at)
    }
}

/// One node, or all nodes of a capture.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Empty after the node is destroyed.
    pub(super) raws: Arc<[sys::cudaGraphNode_t]>,
    pub(super) uses: Arc<RetainedAccesses>,
    /// The direct predecessors. For a capture, all its nodes come after each of them.
    pub(super) direct: Arc<BTreeSet<usize>>,
    /// All predecessors, direct and indirect.
    pub(super) before: Arc<BTreeSet<usize>>,
    /// Whether the node gives the device work.
    pub(super) acts: bool,
    /// Whether this is a capture, whose accesses are recorded as a whole.
    pub(super) captured: bool,
    /// The user object through which the graph owns the node's host function.
    pub(super) function: Option<sys::cudaUserObject_t>,
    /// The user objects through which the graph owns further host functions: those of a capture or of a
    /// child graph.
    pub(super) functions: Arc<[sys::cudaUserObject_t]>,
}

impl Step {
    /// Makes a step of all nodes of a capture.
    pub(super) fn captured(raws: Vec<sys::cudaGraphNode_t>, uses: RetainedAccesses, acts: bool) -> Self {
        Self { captured: true, ..Self::new(raws.into(), uses, Order::default(), acts) }
    }

    /// Makes a step of an added node.
    pub(super) fn added(raw: sys::cudaGraphNode_t, uses: RetainedAccesses, order: Order, acts: bool) -> Self {
        Self::new([raw].into(), uses, order, acts)
    }

    fn new(raws: Arc<[sys::cudaGraphNode_t]>, uses: RetainedAccesses, order: Order, acts: bool) -> Self {
        let (direct, before) = (Arc::new(order.direct), Arc::new(order.before));
        let uses = Arc::new(uses);
        Self { raws, uses, direct, before, acts, captured: false, function: None, functions: [].into() }
    }
}

/// A node and its direct successor.
pub(super) type Edge = (usize, usize);

/// The lifetime of one allocation that the graph owns.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// The address of its access history, which the allocating node retains.
    history: usize,
    from: usize,
    to: Option<usize>,
}

/// The position of a new node: its direct predecessors and all predecessors.
#[derive(Default)]
pub(super) struct Order {
    pub(super) direct: BTreeSet<usize>,
    pub(super) before: BTreeSet<usize>,
}

/// The nodes of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) list: Vec<Step>,
    lives: Vec<Life>,
    /// The accesses that failed calls may have left in the graph.
    spare: RetainedAccesses,
    /// The number of changes to nodes or edges, including possible changes by failed calls.
    changes: u64,
}

impl Steps {
    /// Adds a node or a capture.
    pub(super) fn push(&mut self, step: Step) {
        self.changed();
        self.list.push(step);
    }

    /// Records that nodes or edges are about to change, even if the change fails.
    pub(super) fn changed(&mut self) {
        self.changes += 1;
    }

    /// Returns whether nodes and edges are unchanged since the other state of the same graph.
    pub(super) fn have_shape_of(&self, then: &Self) -> bool {
        self.changes == then.changes
    }

    /// Returns the node with this number unless it is destroyed.
    pub(super) fn get(&self, at: usize) -> Option<&Step> {
        self.list.get(at).filter(|step| !step.raws.is_empty())
    }

    /// Returns the user objects of all host functions, including those of child graphs.
    pub(super) fn functions(&self) -> Vec<sys::cudaUserObject_t> {
        let there = self.list.iter().filter(|step| !step.raws.is_empty());
        there.flat_map(|step| step.function.iter().chain(step.functions.iter())).copied().collect()
    }

    /// Returns a node of graph number `graph`, with its number.
    #[track_caller]
    pub(super) fn find(&self, api: &'static str, graph: u64, node: Node) -> Result<(usize, &Step)> {
        let refused = |what| Error::refused(api, Detail::Unsupported { what });
        let Some(at) = node.of(graph) else { return Err(refused("a node of another graph")) };
        match self.get(at) {
            Some(step) => Ok((at, step)),
            None => {
                Err(refused("a node that was destroyed, or was added after the graph was made executable"))
            }
        }
    }

    /// Returns the number and the handle of an added node; refuses a captured one.
    #[track_caller]
    pub(super) fn added(
        &self,
        api: &'static str,
        graph: u64,
        node: Node,
    ) -> Result<(usize, sys::cudaGraphNode_t)> {
        let (at, step) = self.find(api, graph, node)?;
        match (step.captured, step.raws.first()) {
            (false, Some(raw)) => Ok((at, *raw)),
            _ => Err(Error::refused(
                api,
                Detail::Unsupported {
                    what: "a node that was captured: capture anew, and take that over with GraphExec::update",
                },
            )),
        }
    }

    /// Returns the position of a node with these accesses: after the nodes in `after` and after all nodes
    /// that it conflicts with.
    #[track_caller]
    pub(super) fn order(
        &self,
        api: &'static str,
        graph: u64,
        after: &[Node],
        uses: &RetainedAccesses,
    ) -> Result<Order> {
        let (mut direct, mut before) = (BTreeSet::new(), BTreeSet::new());
        let mut put = |at: usize, step: &Step| {
            if before.insert(at) {
                direct.insert(at);
                before.extend(step.before.iter().copied());
            }
        };
        for node in after {
            let (at, step) = self.find(api, graph, *node)?;
            put(at, step);
        }
        // In reverse order: later nodes have most earlier ones as predecessors.
        let all = self.list.iter().enumerate().rev();
        for (at, step) in all.filter(|(_, step)| step.uses.conflicts(uses)) {
            put(at, step);
        }
        if self.lives.iter().any(|life| life.to.is_some() && uses.touches(life.history)) {
            return Err(ended(api));
        }
        Ok(Order { direct, before })
    }

    /// Refuses an operation for a node if it conflicts with a node without an order, or uses the graph's
    /// memory outside of the memory's lifetime.
    #[track_caller]
    pub(super) fn ensure_fits(&self, api: &'static str, at: usize, uses: &RetainedAccesses) -> Result<()> {
        let Some(own) = self.get(at) else { return Ok(()) };
        let all = self.list.iter().enumerate();
        let mut others = all.filter(|(other, step)| {
            *other != at && !own.before.contains(other) && !step.before.contains(&at)
        });
        if let Some((other, _)) = others.find(|(_, step)| step.uses.conflicts(uses)) {
            return Err(Error::refused(api, Detail::NodesUnordered { other }));
        }
        for life in self.lives.iter().filter(|life| uses.touches(life.history)) {
            let ends_later = |to: usize| self.get(to).is_some_and(|end| end.before.contains(&at));
            if !own.before.contains(&life.from) || !life.to.is_none_or(ends_later) {
                return Err(ended(api));
            }
        }
        Ok(())
    }

    /// Refuses an operation for a node here if it uses memory that only the current state of the original
    /// graph owns.
    #[track_caller]
    pub(super) fn ensure_have_memory_of(
        &self,
        api: &'static str,
        graph: &Self,
        uses: &RetainedAccesses,
    ) -> Result<()> {
        let mut used = graph.lives.iter().filter(|life| uses.touches(life.history));
        if used.all(|life| self.lives.iter().any(|it| it.history == life.history)) {
            return Ok(());
        }
        Err(ended(api))
    }

    /// Records the result of a call that changed a node's operation.
    pub(super) fn given(&mut self, at: usize, uses: RetainedAccesses, done: bool) {
        let Some(step) = self.list.get_mut(at) else { return };
        let mut all = uses;
        if !done {
            // After a partial failure, the node may have the accesses of both operations.
            all.add_all(&step.uses);
        }
        step.uses = Arc::new(all);
    }

    /// Returns whether the first node is a direct or indirect predecessor of the second.
    pub(super) fn comes_before(&self, first: usize, second: usize) -> bool {
        self.list.get(second).is_some_and(|step| step.before.contains(&first))
    }

    /// Returns whether the edge exists.
    pub(super) fn has_edge(&self, (from, to): Edge) -> bool {
        self.list.get(to).is_some_and(|step| step.direct.contains(&from))
    }

    /// Returns the edges from a node and to it.
    pub(super) fn edges_of(&self, at: usize) -> Vec<Edge> {
        let all = self.list.iter().enumerate();
        let edges = all.flat_map(|(to, step)| step.direct.iter().map(move |from| (*from, to)));
        edges.filter(|(from, to)| *from == at || *to == at).collect()
    }

    /// Adds edges, which form no cycle.
    pub(super) fn join(&mut self, edges: &[Edge]) {
        self.change(edges, |direct, from| _ = direct.insert(from));
    }

    /// Removes edges.
    pub(super) fn part(&mut self, edges: &[Edge]) {
        self.change(edges, |direct, from| _ = direct.remove(&from));
    }

    fn change(&mut self, edges: &[Edge], change: impl Fn(&mut BTreeSet<usize>, usize)) {
        self.changed();
        for (from, to) in edges {
            if let Some(step) = self.list.get_mut(*to) {
                change(Arc::make_mut(&mut step.direct), *from);
            }
        }
        let befores: Vec<_> = (0..self.list.len()).map(|at| self.reached(at)).collect();
        for (step, before) in self.list.iter_mut().zip(befores) {
            step.before = Arc::new(before);
        }
    }

    /// Computes all predecessors of a node from the edges.
    fn reached(&self, at: usize) -> BTreeSet<usize> {
        let (mut before, mut open) = (BTreeSet::new(), vec![at]);
        while let Some(step) = open.pop().and_then(|at| self.list.get(at)) {
            open.extend(step.direct.iter().copied().filter(|from| before.insert(*from)));
        }
        before
    }

    /// Returns the conflicting pairs that are ordered here but not in `then`.
    pub(super) fn lost(&self, then: &Self) -> Vec<Edge> {
        let all = self.list.iter().enumerate();
        let pairs = all.flat_map(|(to, step)| step.before.iter().map(move |from| (*from, to)));
        let conflict = |from: usize, to: usize| {
            let (from, to) = (self.list.get(from), self.list.get(to));
            from.zip(to).is_some_and(|(from, to)| from.uses.conflicts(&to.uses))
        };
        pairs.filter(|(from, to)| !then.comes_before(*from, *to) && conflict(*from, *to)).collect()
    }

    /// Removes a node without edges, which is destroyed, and returns it.
    pub(super) fn take_out(&mut self, at: usize) -> Option<Step> {
        self.changed();
        let gone = Step::new(Arc::default(), RetainedAccesses::default(), Order::default(), false);
        self.list.get_mut(at).map(|step| std::mem::replace(step, gone))
    }

    /// Records accesses that a failed call may have left in the graph.
    pub(super) fn failed(&mut self, uses: &RetainedAccesses) {
        self.changed();
        self.spare.add_all(uses);
    }

    /// Records that a node allocates the memory with the access history at `history`.
    pub(super) fn begin(&mut self, history: usize, node: Node) {
        self.lives.push(Life { history, from: node.at(), to: None });
    }

    /// Records that a node frees the memory.
    pub(super) fn end(&mut self, history: usize, node: Node) {
        if let Some(life) = self.lives.iter_mut().find(|life| life.history == history) {
            life.to = Some(node.at());
        }
    }

    /// Returns whether the graph has memory of its own.
    pub(super) fn have_memory(&self) -> bool {
        !self.lives.is_empty()
    }

    /// Returns whether a node allocates memory that no node frees.
    pub(super) fn leave_memory(&self) -> bool {
        self.lives.iter().any(|life| life.to.is_none())
    }

    /// Returns the union of all accesses.
    pub(super) fn uses(&self) -> RetainedAccesses {
        let mut all = self.spare.clone();
        for step in &self.list {
            all.add_all(&step.uses);
        }
        all
    }
}

#[track_caller]
fn ended(api: &'static str) -> Error {
    let what = "memory of a graph's in a node that does not come between those that allocate and free it";
    Error::refused(api, Detail::Unsupported { what })
}
