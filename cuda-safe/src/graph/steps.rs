//! What a graph knows of its nodes: what each uses, and what it comes after. No calls.
//!
//! # Why nodes that conflict are ordered
//! - A node that is added comes after all earlier ones that it conflicts with, by edges of its own where the program's do not say so.
//! - A node that is given other work is refused it where that conflicts with a node which comes neither before nor after it.
//! - An edge that is taken away, or a node, leaves all that conflicts in order, or is refused.
//!
//! # Why memory of a graph's own is used only while it is there
//! The node that allocates it and the one that frees it write all of it. So every node that uses it is ordered with both, by the above; that
//! it comes after the one and before the other is looked at here whenever a node is given work. Edges never turn an order round:
//! a circle is refused. A graph is made executable only when all its memory has a node that frees it, and then a launch has given back at its
//! end what it has taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::nodes::Node;
use crate::error::{Detail, Error, Result};
use crate::hazard::Uses;
use crate::sys;

/// One node, or all that were captured.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// None once the node is destroyed.
    pub(super) raws: Arc<[sys::cudaGraphNode_t]>,
    pub(super) uses: Arc<Uses>,
    /// What it comes directly after, which for all of a capture means that all of it does.
    pub(super) direct: Arc<BTreeSet<usize>>,
    /// All that comes before it.
    pub(super) before: Arc<BTreeSet<usize>>,
    /// Whether it gives the device something to do.
    pub(super) acts: bool,
    /// Whether it was captured, with all that it uses named at once.
    pub(super) captured: bool,
    /// What the graph owns the host function by that the node calls.
    pub(super) function: Option<sys::cudaUserObject_t>,
    /// What the graph owns the other host functions by that it has: those of a capture, or of a graph within the graph.
    pub(super) functions: Arc<[sys::cudaUserObject_t]>,
}

impl Step {
    /// All nodes of a capture.
    pub(super) fn captured(raws: Vec<sys::cudaGraphNode_t>, uses: Uses, acts: bool) -> Self {
        Self { captured: true, ..Self::new(raws.into(), uses, Order::default(), acts) }
    }

    /// A node that was added by hand.
    pub(super) fn added(raw: sys::cudaGraphNode_t, uses: Uses, order: Order, acts: bool) -> Self {
        Self::new([raw].into(), uses, order, acts)
    }

    fn new(raws: Arc<[sys::cudaGraphNode_t]>, uses: Uses, order: Order, acts: bool) -> Self {
        let (direct, before) = (Arc::new(order.direct), Arc::new(order.before));
        let uses = Arc::new(uses);
        Self { raws, uses, direct, before, acts, captured: false, function: None, functions: [].into() }
    }
}

/// A node, and one that comes directly behind it.
pub(super) type Edge = (usize, usize);

/// From which node to which one memory of the graph's own is there.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// Where its ledger is, which the node that allocates keeps.
    ledger: usize,
    from: usize,
    to: Option<usize>,
}

/// Where a new node comes: what directly before it, and what before it at all.
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
    /// What calls that failed may have left a use of.
    spare: Uses,
    /// How often there were other nodes or edges, or may have been by a call that failed.
    changes: u64,
}

impl Steps {
    /// Adds a node, or all of a capture.
    pub(super) fn push(&mut self, step: Step) {
        self.changed();
        self.list.push(step);
    }

    /// Notes that nodes or edges are about to be others, whatever comes of that.
    pub(super) fn changed(&mut self) {
        self.changes += 1;
    }

    /// Whether these are the nodes and edges of the same graph at another time, unchanged since.
    pub(super) fn have_shape_of(&self, then: &Self) -> bool {
        self.changes == then.changes
    }

    /// The node with this number, if it is not destroyed.
    pub(super) fn get(&self, at: usize) -> Option<&Step> {
        self.list.get(at).filter(|step| !step.raws.is_empty())
    }

    /// What the graph owns its host functions by, those of graphs within it included.
    pub(super) fn functions(&self) -> Vec<sys::cudaUserObject_t> {
        let there = self.list.iter().filter(|step| !step.raws.is_empty());
        there.flat_map(|step| step.function.iter().chain(step.functions.iter())).copied().collect()
    }

    /// The number of a node of the graph with this number.
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

    /// [`find`](Self::find) of a node that was added by hand, with its handle.
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

    /// Where a node comes that uses this, behind others that are named and all that it conflicts with.
    #[track_caller]
    pub(super) fn order(&self, api: &'static str, graph: u64, after: &[Node], uses: &Uses) -> Result<Order> {
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
        // The last first: it covers most of those before it.
        let all = self.list.iter().enumerate().rev();
        for (at, step) in all.filter(|(_, step)| step.uses.conflicts(uses)) {
            put(at, step);
        }
        if self.lives.iter().any(|life| life.to.is_some() && uses.touches(life.ledger)) {
            return Err(ended(api));
        }
        Ok(Order { direct, before })
    }

    /// Refuses a node work that uses this, where that is not ordered with what it conflicts with, or memory of the graph's is not there.
    #[track_caller]
    pub(super) fn ensure_fits(&self, api: &'static str, at: usize, uses: &Uses) -> Result<()> {
        let Some(own) = self.get(at) else { return Ok(()) };
        let all = self.list.iter().enumerate();
        let mut others = all.filter(|(other, step)| {
            *other != at && !own.before.contains(other) && !step.before.contains(&at)
        });
        if let Some((other, _)) = others.find(|(_, step)| step.uses.conflicts(uses)) {
            return Err(Error::refused(api, Detail::NodesUnordered { other }));
        }
        for life in self.lives.iter().filter(|life| uses.touches(life.ledger)) {
            let ends_later = |to: usize| self.get(to).is_some_and(|end| end.before.contains(&at));
            if !own.before.contains(&life.from) || !life.to.is_none_or(ends_later) {
                return Err(ended(api));
            }
        }
        Ok(())
    }

    /// Refuses a node here work that uses memory which only the graph that these nodes are a copy of has, as it is now.
    #[track_caller]
    pub(super) fn ensure_have_memory_of(&self, api: &'static str, graph: &Self, uses: &Uses) -> Result<()> {
        let mut used = graph.lives.iter().filter(|life| uses.touches(life.ledger));
        if used.all(|life| self.lives.iter().any(|it| it.ledger == life.ledger)) {
            return Ok(());
        }
        Err(ended(api))
    }

    /// Notes what became of a call that gave a node other work.
    pub(super) fn given(&mut self, at: usize, uses: Uses, done: bool) {
        let Some(step) = self.list.get_mut(at) else { return };
        let mut all = uses;
        if !done {
            // Half-way, what the node used and what it was to use may both be used.
            all.add_all(&step.uses);
        }
        step.uses = Arc::new(all);
    }

    /// Whether the first comes before the second, by whatever comes between.
    pub(super) fn comes_before(&self, first: usize, second: usize) -> bool {
        self.list.get(second).is_some_and(|step| step.before.contains(&first))
    }

    /// Whether the one comes directly behind the other.
    pub(super) fn has_edge(&self, (from, to): Edge) -> bool {
        self.list.get(to).is_some_and(|step| step.direct.contains(&from))
    }

    /// The edges from a node and to it.
    pub(super) fn edges_of(&self, at: usize) -> Vec<Edge> {
        let all = self.list.iter().enumerate();
        let edges = all.flat_map(|(to, step)| step.direct.iter().map(move |from| (*from, to)));
        edges.filter(|(from, to)| *from == at || *to == at).collect()
    }

    /// Adds edges, which make no circle.
    pub(super) fn join(&mut self, edges: &[Edge]) {
        self.change(edges, |direct, from| _ = direct.insert(from));
    }

    /// Takes edges away.
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

    /// All that comes before a node, by its edges.
    fn reached(&self, at: usize) -> BTreeSet<usize> {
        let (mut before, mut open) = (BTreeSet::new(), vec![at]);
        while let Some(step) = open.pop().and_then(|at| self.list.get(at)) {
            open.extend(step.direct.iter().copied().filter(|from| before.insert(*from)));
        }
        before
    }

    /// The nodes that conflict and are in order here, and are not in the same nodes with other edges.
    pub(super) fn lost(&self, then: &Self) -> Vec<Edge> {
        let all = self.list.iter().enumerate();
        let pairs = all.flat_map(|(to, step)| step.before.iter().map(move |from| (*from, to)));
        let conflict = |from: usize, to: usize| {
            let (from, to) = (self.list.get(from), self.list.get(to));
            from.zip(to).is_some_and(|(from, to)| from.uses.conflicts(&to.uses))
        };
        pairs.filter(|(from, to)| !then.comes_before(*from, *to) && conflict(*from, *to)).collect()
    }

    /// Notes that a node without edges is destroyed; what it was.
    pub(super) fn take_out(&mut self, at: usize) -> Option<Step> {
        self.changed();
        let gone = Step::new(Arc::default(), Uses::default(), Order::default(), false);
        self.list.get_mut(at).map(|step| std::mem::replace(step, gone))
    }

    /// Notes what a call that failed may have left a use of.
    pub(super) fn failed(&mut self, uses: &Uses) {
        self.changed();
        self.spare.add_all(uses);
    }

    /// Notes that a node allocates the memory whose ledger is there.
    pub(super) fn begin(&mut self, ledger: usize, node: Node) {
        self.lives.push(Life { ledger, from: node.at(), to: None });
    }

    /// Notes that a node frees it.
    pub(super) fn end(&mut self, ledger: usize, node: Node) {
        if let Some(life) = self.lives.iter_mut().find(|life| life.ledger == ledger) {
            life.to = Some(node.at());
        }
    }

    /// Whether the graph has memory of its own.
    pub(super) fn have_memory(&self) -> bool {
        !self.lives.is_empty()
    }

    /// Whether a node allocates what no node frees.
    pub(super) fn leave_memory(&self) -> bool {
        self.lives.iter().any(|life| life.to.is_none())
    }

    /// All that is used.
    pub(super) fn uses(&self) -> Uses {
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
