//! The lives of memory that a graph owns: which node allocates it, and which one frees it.
//!
//! # Why a graph's own memory is used only while it is allocated
//! The node that allocates the memory and the one that frees it write all of it. By the rules of `steps`,
//! every node that uses the memory is therefore ordered with both. Whenever a node gets an operation, this
//! module checks that it comes after the one and before the other. Edges never reverse an order: a cycle is
//! refused. A graph is made executable only if a node frees each of its allocations, so at its end a launch
//! has freed all that it allocated.

use std::collections::BTreeMap;

use super::order::Order;
use crate::error::{Detail, Error, Result};
use crate::hazard::RetainedAccesses;

/// The lives of a graph's memory, by the address of the access history, which the allocating node retains.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives(BTreeMap<usize, Life>);

/// The nodes that allocate and free memory.
#[derive(Clone, Copy, Debug)]
struct Life {
    from: usize,
    to: Option<usize>,
}

impl Lives {
    /// Records that node number `at` allocates the memory with the access history at `history`.
    pub(super) fn begin(&mut self, history: usize, at: usize) {
        self.0.insert(history, Life { from: at, to: None });
    }

    /// Records that node number `at` frees the memory.
    pub(super) fn end(&mut self, history: usize, at: usize) {
        if let Some(life) = self.0.get_mut(&history) {
            life.to = Some(at);
        }
    }

    /// Returns whether the graph has no memory of its own.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a node frees each allocation.
    pub(super) fn all_end(&self) -> bool {
        self.0.values().all(|life| life.to.is_some())
    }

    /// Refuses a new node if it uses memory that a node frees: it would come after that node.
    #[inline]
    #[track_caller]
    pub(super) fn ensure_not_ended(&self, api: &'static str, uses: &RetainedAccesses) -> Result<()> {
        if self.used(uses).any(|life| life.to.is_some()) { Err(ended(api)) } else { Ok(()) }
    }

    /// Refuses an operation for node number `at` if it uses memory outside of the memory's life.
    #[track_caller]
    pub(super) fn ensure_contain(
        &self,
        api: &'static str,
        at: usize,
        uses: &RetainedAccesses,
        order: &Order,
    ) -> Result<()> {
        let contains = |life: &Life| {
            order.comes_before(life.from, at) && life.to.is_none_or(|to| order.comes_before(at, to))
        };
        if self.used(uses).all(contains) { Ok(()) } else { Err(ended(api)) }
    }

    /// Refuses an operation if it uses memory that only the current state of the original graph owns, whose
    /// lives are `current`.
    #[track_caller]
    pub(super) fn ensure_have_those_of(
        &self,
        api: &'static str,
        current: &Self,
        uses: &RetainedAccesses,
    ) -> Result<()> {
        let fits = |history| !current.0.contains_key(&history) || self.0.contains_key(&history);
        if uses.accesses().all(|access| fits(access.address())) { Ok(()) } else { Err(ended(api)) }
    }

    /// Returns the lives of the graph's memory that is used.
    #[inline]
    fn used(&self, uses: &RetainedAccesses) -> impl Iterator<Item = &Life> {
        let lives = (!self.0.is_empty()).then_some(&self.0);
        lives.into_iter().flat_map(|lives| uses.accesses().filter_map(|it| lives.get(&it.address())))
    }
}

#[track_caller]
fn ended(api: &'static str) -> Error {
    let what = "memory of a graph's in a node that does not come between those that allocate and free it";
    Error::refused(api, Detail::unsupported(what))
}
