//! Which nodes conflict: the access histories of a graph, and the users of each allocation.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::OnceLock;

use cuda_hazard::{Few, Segments};

use super::order::Order;
use super::step::Step;
use crate::hazard::{GraphHistories, RetainedAccesses};

/// The accesses of a graph's nodes by allocation. Both parts are made when they are first wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Histories {
    entered: EnteredNodes,
    /// The nodes that use each allocation, sorted, by the address of its access history. Made when the memory
    /// of a node is first changed.
    users: OnceLock<HashMap<usize, Vec<usize>>>,
}

/// The access histories of the first nodes in the order. The others are entered when a node is added that
/// may be unordered with one of them: a graph that is one chain needs no histories.
#[derive(Clone, Debug, Default)]
struct EnteredNodes {
    histories: GraphHistories,
    nodes: usize,
}

impl Histories {
    /// Enters the nodes that are not in the access histories yet.
    pub(super) fn enter_all(&mut self, steps: &Segments<Step>, order: &Order) {
        let EnteredNodes { histories, nodes } = &mut self.entered;
        for at in order.sorted().skip(*nodes) {
            histories.enter(at, &steps[at].uses, |other| order.is_seen_before(other, at));
        }
        *nodes = steps.len();
    }

    /// Returns the nodes that a new node with these accesses must come after, after all are entered.
    pub(super) fn before(&self, uses: &RetainedAccesses) -> Few<usize> {
        self.entered.histories.before(uses)
    }

    /// Forgets the access histories: accesses of nodes that are entered, or the order, have changed.
    pub(super) fn forget(&mut self) {
        self.entered = EnteredNodes::default();
    }

    /// Records that there are other nodes.
    #[inline]
    pub(super) fn nodes_changed(&mut self) {
        self.users.take();
    }

    /// Records that node number `at` has other accesses than `before`.
    pub(super) fn accesses_changed(&mut self, at: usize, before: &RetainedAccesses, now: &RetainedAccesses) {
        self.forget();
        let Some(users) = self.users.get_mut() else { return };
        for access in before.accesses() {
            if let Entry::Occupied(mut nodes) = users.entry(access.address()) {
                nodes.get_mut().retain(|node| *node != at);
                if nodes.get().is_empty() {
                    nodes.remove();
                }
            }
        }
        for access in now.accesses() {
            let nodes = users.entry(access.address()).or_default();
            if let Err(index) = nodes.binary_search(&at) {
                nodes.insert(index, at);
            }
        }
    }

    /// Returns the nodes that use each allocation.
    pub(super) fn users(&self, steps: &Segments<Step>) -> &HashMap<usize, Vec<usize>> {
        self.users.get_or_init(|| {
            let mut users: HashMap<usize, Vec<usize>> = HashMap::new();
            for (at, step) in steps.iter().enumerate() {
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
}

/// Returns each node but `without`, each after its predecessors, with earlier nodes that it conflicts with.
/// If all of these pairs are ordered, so are all nodes that conflict: through nodes between them.
pub(super) fn conflicts<'s>(
    steps: &'s Segments<Step>,
    order: &'s Order,
    without: Option<usize>,
) -> impl Iterator<Item = (usize, Few<usize>)> + 's {
    let mut histories = GraphHistories::default();
    let nodes = order.sorted().filter(move |at| Some(*at) != without);
    nodes.map(move |at| {
        let uses = &steps[at].uses;
        let before = histories.before(uses);
        // A read replaces none: the order of two reads may be what is lost.
        histories.enter(at, uses, |_| false);
        (at, before)
    })
}
