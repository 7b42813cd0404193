//! The nodes of a graph: the accesses of each and their order. Calls no C function.
//!
//! # Why nodes that conflict are ordered
//! - An added node comes after all earlier nodes that it conflicts with. If the program's edges do not
//!   order them, edges are added. The graph's access histories name the nodes that conflict.
//! - A change of a node's operation is refused if the new operation conflicts with a node that comes
//!   neither before nor after it.
//! - The removal of an edge is refused if it would leave two conflicting nodes unordered. If a node is
//!   destroyed, new edges preserve the order of conflicting nodes.

use std::collections::HashMap;
use std::sync::OnceLock;

use cuda_hazard::{Few, Segments};

use super::histories::{Histories, conflicts};
use super::identity::Node;
use super::lives::Lives;
use super::order::{Edge, Order};
use super::step::Step;
use crate::error::{Detail, Error, OrRefused as _, Result, unsupported};
use crate::hazard::RetainedAccesses;
use crate::sys;

/// The nodes of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) list: Segments<Step>,
    pub(super) order: Order,
    histories: Histories,
    pub(super) lives: Lives,
    /// The accesses that failed calls may have left in the graph.
    spare: RetainedAccesses,
    /// The number of changes to nodes or edges, including possible changes by failed calls.
    changes: u64,
    /// The number of each raw node, made when it is first wanted after a change.
    numbers: OnceLock<HashMap<sys::cudaGraphNode_t, usize>>,
}

impl Steps {
    /// Adds a node or a capture after its direct predecessors, which [`order`](Self::order) returned.
    pub(super) fn push(&mut self, step: Step, direct: Few<usize>) {
        self.changed();
        self.order.push(direct);
        self.list.push(step);
    }

    /// Records that nodes or edges are about to change, even if the change fails.
    pub(super) fn changed(&mut self) {
        self.changes += 1;
        self.histories.nodes_changed();
        self.numbers.take();
    }

    /// Returns the number of each raw node.
    pub(super) fn numbers(&self) -> &HashMap<sys::cudaGraphNode_t, usize> {
        self.numbers.get_or_init(|| {
            let all = self.list.iter().enumerate();
            all.flat_map(|(at, step)| step.raws.iter().map(move |raw| (*raw, at))).collect()
        })
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
        let more = there.filter_map(|step| step.more.as_ref());
        more.flat_map(|more| more.function.iter().chain(&more.functions)).copied().collect()
    }

    /// Returns a node of graph number `graph`, with its number.
    #[track_caller]
    pub(super) fn find(&self, api: &'static str, graph: u64, node: Node) -> Result<(usize, &Step)> {
        let Some(at) = node.of(graph) else { return Err(unsupported(api, "a node of another graph")) };
        let gone = "a node that was destroyed, or was added after the graph was made executable";
        self.get(at).map(|step| (at, step)).or_refused(api, || Detail::unsupported(gone))
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
        match (step.ends(), step.raws.first()) {
            (None, Some(raw)) => Ok((at, *raw)),
            _ => {
                let what = "a node that was captured: capture again, and apply that with GraphExec::update";
                Err(unsupported(api, what))
            }
        }
    }

    /// Returns the direct predecessors of a new node with these accesses, sorted: it comes after the nodes in
    /// `after` and after all nodes that it conflicts with.
    #[track_caller]
    pub(super) fn order(
        &mut self,
        api: &'static str,
        graph: u64,
        after: &[Node],
        uses: &RetainedAccesses,
    ) -> Result<Few<usize>> {
        let mut direct = Few::default();
        for node in after {
            direct.push(self.find(api, graph, *node)?.0);
        }
        if direct.len() > 1 {
            direct.sort_unstable();
            direct.dedup();
        }
        self.lives.ensure_not_ended(api, uses)?;
        if !self.order.comes_after_all(&direct) {
            self.histories.enter_all(&self.list, &self.order);
            self.order.extend(&mut direct, self.histories.before(uses));
        }
        Ok(direct)
    }

    /// Refuses an operation for a node if it conflicts with a node without an order, or uses the graph's
    /// memory outside of the memory's lifetime.
    #[track_caller]
    pub(super) fn ensure_fits(&self, api: &'static str, at: usize, uses: &RetainedAccesses) -> Result<()> {
        let Some(own) = self.get(at) else { return Ok(()) };
        // As a rule only values change, and there is no conflict that the node does not have already.
        let users = (!own.uses.covers(uses)).then(|| self.histories.users(&self.list));
        let others = uses.accesses().filter_map(|access| users?.get(&access.address())).flatten();
        let is_unordered = |other: &usize| {
            *other != at && self.list[*other].uses.conflicts(uses) && !self.order.are_ordered(*other, at)
        };
        if let Some(other) = others.copied().filter(is_unordered).min() {
            return Err(Error::refused(api, Detail::nodes_unordered(other)));
        }
        self.lives.ensure_contain(api, at, uses, &self.order)
    }

    /// Returns whether these accesses differ from those that a node has.
    pub(super) fn differs(&self, at: usize, uses: &RetainedAccesses) -> bool {
        self.list.get(at).is_none_or(|step| !(step.uses.covers(uses) && uses.covers(&step.uses)))
    }

    /// Records the result of a call that gave a node an operation with other accesses. Returns the accesses
    /// before.
    pub(super) fn given(&mut self, at: usize, uses: RetainedAccesses, done: bool) -> RetainedAccesses {
        let Some(step) = self.list.get_mut(at) else { return uses };
        let mut all = uses;
        if !done {
            // If the call failed half-way, launches may use the memory of both operations.
            all.add_all(&step.uses);
        }
        let before = std::mem::replace(&mut step.uses, all);
        self.histories.accesses_changed(at, &before, &step.uses);
        before
    }

    /// Brings the union of all accesses and of `besides` up to date after the accesses of a node have
    /// changed.
    pub(super) fn update(
        &self,
        union: &mut RetainedAccesses,
        at: usize,
        before: &RetainedAccesses,
        besides: &RetainedAccesses,
    ) {
        let now = self.list.get(at).into_iter().flat_map(|step| step.uses.accesses());
        for address in before.accesses().chain(now).map(|access| access.address()) {
            let users = self.histories.users(&self.list).get(&address).into_iter().flatten();
            let uses = users.map(|at| &self.list[*at].uses).chain([&self.spare, besides]);
            union.replace(address, uses);
        }
    }

    /// Adds edges and returns those that are new. Returns `None`, and adds none, if they close a cycle.
    pub(super) fn join(&mut self, edges: &[Edge]) -> Option<Vec<Edge>> {
        // The new edges may change the order of the nodes.
        self.histories.enter_all(&self.list, &self.order);
        let new: Vec<Edge> = edges.iter().copied().filter(|edge| !self.order.has_edge(*edge)).collect();
        if edges.iter().all(|edge| self.order.join(*edge)) {
            return Some(new);
        }
        self.order.part(&new);
        None
    }

    /// Replaces the order by one with other edges.
    pub(super) fn set_order(&mut self, order: Order) {
        self.changed();
        self.order = order;
        self.histories.forget();
    }

    /// Returns the order without these edges. Returns the first node of two conflicting nodes that would
    /// have no order as an error.
    pub(super) fn parted(&self, edges: &[Edge]) -> std::result::Result<Order, usize> {
        let mut then = self.order.clone();
        then.part(edges);
        match self.lost(&then) {
            Some(other) => Err(other),
            None => Ok(then),
        }
    }

    /// Returns the order without the edges of a node, and with those that keep the other nodes ordered if
    /// they conflict. Also returns the latter.
    pub(super) fn without(&self, at: usize) -> (Order, Vec<Edge>) {
        let (mut order, mut needed) = (self.order.clone(), Vec::new());
        order.part(&self.order.edges_of(at));
        for (to, before) in conflicts(&self.list, &self.order, Some(at)) {
            for from in order.not_before(order.direct(to), before).iter().copied() {
                if order.join((from, to)) {
                    needed.push((from, to));
                }
            }
        }
        (order, needed)
    }

    /// Returns the first node of a conflicting pair that is ordered here but not in `then`: of the pair whose
    /// nodes have the lowest numbers, by the second.
    fn lost(&self, then: &Order) -> Option<usize> {
        let is_lost =
            |(to, before): (usize, Few<usize>)| !then.not_before(then.direct(to), before).is_empty();
        let first = conflicts(&self.list, &self.order, None).position(is_lost)?;
        // No pair is lost whose second node is sorted before.
        let mut rest: Vec<usize> = self.order.sorted().skip(first).collect();
        rest.sort_unstable();
        let is_lost = |from: usize, to: usize| {
            self.list[from].uses.conflicts(&self.list[to].uses)
                && self.order.comes_before(from, to)
                && !then.comes_before(from, to)
        };
        rest.into_iter().find_map(|to| (0..self.list.len()).find(|from| is_lost(*from, to)))
    }

    /// Removes a node without edges, which is destroyed, and returns it.
    pub(super) fn take_out(&mut self, at: usize) -> Option<Step> {
        self.changed();
        self.histories.forget();
        let gone = Step::new(Few::default(), RetainedAccesses::default(), false);
        self.list.get_mut(at).map(|step| std::mem::replace(step, gone))
    }

    /// Records accesses that a failed call may have left in the graph.
    pub(super) fn failed(&mut self, uses: &RetainedAccesses) {
        self.changed();
        self.spare.add_all(uses);
    }

    /// Returns the union of all accesses.
    pub(super) fn uses(&self) -> RetainedAccesses {
        self.list.iter().map(|step| &step.uses).chain([&self.spare]).collect()
    }
}
