//! The nodes of a graph: the accesses of each and their order. Calls no C function.
//!
//! # Why nodes that conflict are ordered
//! - An added node comes after all earlier nodes that it conflicts with. If the program's edges do not
//!   order them, edges are added. The graph's access histories name the nodes that conflict.
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

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use cuda_hazard::{Few, Segments};

use super::order::{Edge, Order};
use crate::error::{Detail, Error, Result};
use crate::hazard::{GraphHistories, RetainedAccesses};
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
    pub(super) raws: Few<sys::cudaGraphNode_t>,
    pub(super) uses: RetainedAccesses,
    /// Whether the node gives the device work.
    pub(super) acts: bool,
    /// Boxed, because few nodes have it, and the memory of a large graph costs more than its instructions.
    pub(super) more: Option<Box<More>>,
}

/// What only captures, host functions and child graphs have.
#[derive(Clone, Debug, Default)]
pub(super) struct More {
    /// The nodes of a capture without a predecessor in it, and those without a successor. All its nodes come
    /// after what the former come after, and before what comes after the latter.
    pub(super) ends: Option<[Vec<sys::cudaGraphNode_t>; 2]>,
    /// The user object through which the graph owns the node's host function.
    pub(super) function: Option<sys::cudaUserObject_t>,
    /// The user objects through which the graph owns further host functions: those of a capture or of a
    /// child graph.
    pub(super) functions: Vec<sys::cudaUserObject_t>,
}

impl Step {
    /// Makes a step of an added node, or of all nodes of a capture.
    pub(super) fn new(raws: Few<sys::cudaGraphNode_t>, uses: RetainedAccesses, acts: bool) -> Self {
        Self { raws, uses, acts, more: None }
    }

    /// Returns the first and the last nodes of a capture.
    fn ends(&self) -> Option<&[Vec<sys::cudaGraphNode_t>; 2]> {
        self.more.as_ref()?.ends.as_ref()
    }

    /// Returns the raw nodes that an edge to this node leads to.
    pub(super) fn first(&self) -> &[sys::cudaGraphNode_t] {
        self.ends().map_or(&self.raws, |[first, _]| first)
    }

    /// Returns the raw nodes that an edge from this node comes from.
    pub(super) fn last(&self) -> &[sys::cudaGraphNode_t] {
        self.ends().map_or(&self.raws, |[_, last]| last)
    }

    /// Returns what few nodes have, for a change.
    pub(super) fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }
}

/// The lifetime of one allocation that the graph owns.
#[derive(Clone, Copy, Debug)]
struct Life {
    from: usize,
    to: Option<usize>,
}

/// The access histories of the first nodes in the order. The others are entered when a node is added that
/// may be unordered with one of them: a graph that is one chain needs no histories.
#[derive(Clone, Debug, Default)]
struct Entered {
    histories: GraphHistories,
    nodes: usize,
}

/// The nodes of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub(super) list: Segments<Step>,
    order: Order,
    entered: Entered,
    /// By the address of the access history, which the allocating node retains.
    lives: BTreeMap<usize, Life>,
    /// The accesses that failed calls may have left in the graph.
    spare: RetainedAccesses,
    /// The number of changes to nodes or edges, including possible changes by failed calls.
    changes: u64,
    /// The nodes that use each allocation, sorted, by the address of its access history. Made when the memory
    /// of a node is first changed.
    users: OnceLock<HashMap<usize, Vec<usize>>>,
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

    /// Enters the nodes that are not in the access histories yet.
    fn enter_all(&mut self) {
        let Entered { histories, nodes } = &mut self.entered;
        for at in self.order.sorted().skip(*nodes) {
            histories.enter(at, &self.list[at].uses, |other| self.order.is_seen_before(other, at));
        }
        *nodes = self.list.len();
    }

    /// Records that nodes or edges are about to change, even if the change fails.
    pub(super) fn changed(&mut self) {
        self.changes += 1;
        self.users.take();
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
        let refused = |what| Error::refused(api, Detail::unsupported(what));
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
        match (step.ends(), step.raws.first()) {
            (None, Some(raw)) => Ok((at, *raw)),
            _ => Err(Error::refused(
                api,
                Detail::unsupported(
                    "a node that was captured: capture again, and apply that with GraphExec::update",
                ),
            )),
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
        if self.lives_of(uses).any(|life| life.to.is_some()) {
            return Err(ended(api));
        }
        if !self.order.comes_after_all(&direct) {
            self.enter_all();
            self.order.extend(&mut direct, self.entered.histories.before(uses));
        }
        Ok(direct)
    }

    /// Refuses an operation for a node if it conflicts with a node without an order, or uses the graph's
    /// memory outside of the memory's lifetime.
    #[track_caller]
    pub(super) fn ensure_fits(&self, api: &'static str, at: usize, uses: &RetainedAccesses) -> Result<()> {
        let Some(own) = self.get(at) else { return Ok(()) };
        // As a rule only values change, and there is no conflict that the node does not have already.
        let users = (!own.uses.covers(uses)).then(|| self.users());
        let others = uses.accesses().filter_map(|access| users?.get(&access.address())).flatten();
        let is_unordered = |other: &usize| {
            *other != at && self.list[*other].uses.conflicts(uses) && !self.order.are_ordered(*other, at)
        };
        if let Some(other) = others.copied().filter(is_unordered).min() {
            return Err(Error::refused(api, Detail::nodes_unordered(other)));
        }
        let comes_within = |life: &Life| {
            self.order.comes_before(life.from, at) && life.to.is_none_or(|to| self.order.comes_before(at, to))
        };
        if self.lives_of(uses).all(comes_within) { Ok(()) } else { Err(ended(api)) }
    }

    /// Returns the lifetimes of the graph's memory that is used.
    fn lives_of(&self, uses: &RetainedAccesses) -> impl Iterator<Item = &Life> {
        let lives = (!self.lives.is_empty()).then_some(&self.lives);
        lives.into_iter().flat_map(|lives| uses.accesses().filter_map(|it| lives.get(&it.address())))
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
        let fits = |history| !graph.lives.contains_key(&history) || self.lives.contains_key(&history);
        if uses.accesses().all(|access| fits(access.address())) { Ok(()) } else { Err(ended(api)) }
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
        self.entered = Entered::default();
        if let Some(users) = self.users.get_mut() {
            for access in before.accesses() {
                if let Entry::Occupied(mut nodes) = users.entry(access.address()) {
                    nodes.get_mut().retain(|node| *node != at);
                    if nodes.get().is_empty() {
                        nodes.remove();
                    }
                }
            }
            for access in step.uses.accesses() {
                let nodes = users.entry(access.address()).or_default();
                if let Err(index) = nodes.binary_search(&at) {
                    nodes.insert(index, at);
                }
            }
        }
        before
    }

    /// Returns the nodes that use each allocation.
    fn users(&self) -> &HashMap<usize, Vec<usize>> {
        self.users.get_or_init(|| {
            let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
            for (at, step) in self.list.iter().enumerate() {
                for access in step.uses.accesses() {
                    let nodes = users.entry(access.address()).or_default();
                    if nodes.last() != Some(&at) {
                        nodes.push(at);
                    }
                }
            }
            users
        })
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
            let users = self.users().get(&address).into_iter().flatten();
            let uses = users.map(|at| &self.list[*at].uses).chain([&self.spare, besides]);
            union.replace(address, uses);
        }
    }

    /// Returns the order of the nodes.
    pub(super) fn edges(&self) -> &Order {
        &self.order
    }

    /// Adds edges and returns those that are new. Returns `None`, and adds none, if they close a cycle.
    pub(super) fn join(&mut self, edges: &[Edge]) -> Option<Vec<Edge>> {
        // The new edges may change the order of the nodes.
        self.enter_all();
        let new: Vec<Edge> = edges.iter().copied().filter(|edge| !self.order.has_edge(*edge)).collect();
        if edges.iter().all(|edge| self.order.join(*edge)) {
            return Some(new);
        }
        self.order.part(&new);
        None
    }

    /// Removes edges that were added last.
    pub(super) fn part(&mut self, edges: &[Edge]) {
        self.order.part(edges);
    }

    /// Replaces the order by one with other edges.
    pub(super) fn set_order(&mut self, order: Order) {
        self.changed();
        (self.order, self.entered) = (order, Entered::default());
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
        for (to, before) in self.conflicts(Some(at)) {
            for from in order.not_before(order.direct(to), before).iter().copied() {
                if order.join((from, to)) {
                    needed.push((from, to));
                }
            }
        }
        (order, needed)
    }

    /// Returns each node but `without`, each after its predecessors, with earlier nodes that it conflicts
    /// with. If all of these pairs are ordered, so are all nodes that conflict: through nodes between them.
    fn conflicts(&self, without: Option<usize>) -> impl Iterator<Item = (usize, Few<usize>)> {
        let mut histories = GraphHistories::default();
        let nodes = self.order.sorted().filter(move |at| Some(*at) != without);
        nodes.map(move |at| {
            let uses = &self.list[at].uses;
            let before = histories.before(uses);
            // A read replaces none: the order of two reads may be what is lost.
            histories.enter(at, uses, |_| false);
            (at, before)
        })
    }

    /// Returns the first node of a conflicting pair that is ordered here but not in `then`: of the pair whose
    /// nodes have the lowest numbers, by the second.
    fn lost(&self, then: &Order) -> Option<usize> {
        let is_lost =
            |(to, before): (usize, Few<usize>)| !then.not_before(then.direct(to), before).is_empty();
        let first = self.conflicts(None).position(is_lost)?;
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
        self.entered = Entered::default();
        let gone = Step::new(Few::default(), RetainedAccesses::default(), false);
        self.list.get_mut(at).map(|step| std::mem::replace(step, gone))
    }

    /// Records accesses that a failed call may have left in the graph.
    pub(super) fn failed(&mut self, uses: &RetainedAccesses) {
        self.changed();
        self.spare.add_all(uses);
    }

    /// Records that a node allocates the memory with the access history at `history`.
    pub(super) fn begin(&mut self, history: usize, node: Node) {
        self.lives.insert(history, Life { from: node.at(), to: None });
    }

    /// Records that a node frees the memory.
    pub(super) fn end(&mut self, history: usize, node: Node) {
        if let Some(life) = self.lives.get_mut(&history) {
            life.to = Some(node.at());
        }
    }

    /// Returns whether the graph has memory of its own.
    pub(super) fn have_memory(&self) -> bool {
        !self.lives.is_empty()
    }

    /// Returns whether a node allocates memory that no node frees.
    pub(super) fn leave_memory(&self) -> bool {
        self.lives.values().any(|life| life.to.is_none())
    }

    /// Returns the union of all accesses.
    pub(super) fn uses(&self) -> RetainedAccesses {
        self.list.iter().map(|step| &step.uses).chain([&self.spare]).collect()
    }
}

#[track_caller]
fn ended(api: &'static str) -> Error {
    let what = "memory of a graph's in a node that does not come between those that allocate and free it";
    Error::refused(api, Detail::unsupported(what))
}
