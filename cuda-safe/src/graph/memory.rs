//! Memory that a graph owns: allocated and freed by its nodes, and valid only between them.
//!
//! The address exists from the time the node is added. Memory is behind the address only while a launch is
//! between the two nodes. Therefore only nodes of the same graph may use it (`slice`): as source,
//! destination or kernel argument. `lives` explains why those nodes run between the two.
#![expect(unsafe_code, reason = "retains an access history")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use super::graph::Graph;
use super::identity::Node;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::AccessHistory;
use crate::memory::size;
use crate::memory::{retainable, retained};

/// Elements in memory that a graph owns. See [`node::alloc`](crate::graph::node::alloc).
///
/// Only nodes of the same graph use it: they copy from it and to it, fill it, and take it as a kernel
/// argument. The value only names the memory: dropping it frees nothing.
#[doc(alias = "cudaMemAllocNodeParams")]
pub struct GraphBuffer<T> {
    owner: Arc<OwnMemory>,
    address: usize,
    len: usize,
    pub(super) device: Device,
    graph: u64,
    node: Node,
    elements: PhantomData<fn() -> T>,
}

/// The access history of memory that the runtime owns with the graph.
#[derive(Debug)]
pub(super) struct OwnMemory(pub(super) AccessHistory);

retainable!(OwnMemory, 0);

impl OwnMemory {
    /// Makes the access history of memory that a node will allocate.
    pub(super) fn reserve(bytes: usize) -> Arc<Self> {
        retained(Self(AccessHistory::new(bytes)))
    }
}

size::length!([T] GraphBuffer<T>, it => it.len);

impl<T> GraphBuffer<T> {
    /// Returns the node that allocates the memory.
    #[must_use]
    pub fn node(&self) -> Node {
        self.node
    }

    /// Returns the address of the elements, for structures that a kernel receives. It is the same in every
    /// launch, and null if the length is 0. The graph does not see accesses through it.
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address)
    }

    /// Makes the owner of memory that a node allocated, which has this access history.
    pub(super) fn allocated(
        owner: Arc<OwnMemory>,
        address: usize,
        len: usize,
        (device, graph, node): (Device, u64, Node),
    ) -> Self {
        Self { owner, address, len, device, graph, node, elements: PhantomData }
    }

    pub(super) fn history(&self) -> &AccessHistory {
        &self.owner.0
    }

    /// Returns the number of the graph that owns the memory.
    pub(super) fn graph(&self) -> u64 {
        self.graph
    }
}

impl<T> fmt::Debug for GraphBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuffer")
            .field("element", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl Graph {
    /// Refuses operations that a graph with memory of its own does not support.
    #[track_caller]
    pub(super) fn ensure_no_memory(&self, api: &'static str) -> Result<()> {
        if self.steps.lives.is_empty() {
            return Ok(());
        }
        let what = "this of a graph with memory of its own (node::alloc)";
        Err(Error::refused(api, Detail::unsupported(what)))
    }
}
