//! Which node of which graph: the names that calls use, and the graph that a kernel launch is resolved for.

use std::cell::Cell;

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

/// The graph that an operation is resolved for. Numbers begin at 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owner {
    pub(super) graph: u64,
    /// The number of the graph that it is a body in, or its own.
    pub(super) root: u64,
    /// The number of the newest condition that the node may set.
    pub(super) newest_condition: u64,
}

thread_local! {
    /// The graph for which the thread currently resolves a kernel launch.
    static MAKING: Cell<Owner> = const { Cell::new(Owner { graph: 0, root: 0, newest_condition: 0 }) };
}

/// A guard: while it lives, the thread resolves a kernel launch for a graph.
pub(super) struct Making(Owner);

impl Making {
    pub(super) fn begin(owner: Owner) -> Self {
        Self(MAKING.replace(owner))
    }
}

/// Returns the graph for which the thread currently resolves a kernel launch, or zeros.
pub(super) fn making() -> Owner {
    MAKING.get()
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(self.0);
    }
}
