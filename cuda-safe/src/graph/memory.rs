//! Memory that a graph owns: allocated and freed by its nodes, and valid only between them.
//!
//! The address exists from the time the node is added. Memory is behind the address only while a launch is
//! between the two nodes. Therefore only nodes of the same graph may use it (`slice`): as source,
//! destination or kernel argument. `steps` explains why those nodes run between the two.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use bytemuck::AnyBitPattern;

use super::graph::Graph;
use super::nodes::kept;
use super::steps::Node;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory};
use crate::memory::{MemoryLocation, retainable, retained, size};
use crate::{check, sys};

/// Elements in memory that a graph owns. See [`Graph::add_alloc`].
///
/// Only nodes of the same graph use it: they copy from it and to it, fill it, and take it as a kernel
/// argument. The value only names the memory: dropping it frees nothing.
#[doc(alias = "cudaMemAllocNodeParams")]
pub struct GraphBuffer<T> {
    owner: Arc<Own>,
    address: usize,
    len: usize,
    device: Device,
    graph: u64,
    node: Node,
    elements: PhantomData<fn() -> T>,
}

/// The access history of memory that the runtime owns with the graph.
#[derive(Debug)]
struct Own(AccessHistory);

retainable!(Own, 0);

impl<T> GraphBuffer<T> {
    /// Returns the node that allocates the memory.
    #[must_use]
    pub fn node(&self) -> Node {
        self.node
    }

    /// Returns the length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the device of the memory.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the address of the elements, for structures that a kernel receives. It is the same in every
    /// launch, and null if the length is 0. The graph does not see accesses through it.
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address)
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
    /// Adds a node that allocates `len` elements, for nodes of this graph between this one and the one that
    /// frees the memory. As in C, the contents are unspecified at the beginning of each launch. If `len` is
    /// 0, adds an empty node.
    ///
    /// Stands for [`cudaGraphAddMemAllocNode`](sys::cudaGraphAddMemAllocNode). The address is the same in
    /// every launch. A graph with memory of its own cannot be cloned or become part of another graph. Its
    /// nodes and edges cannot be removed, and it has at most one executable form at a time.
    ///
    /// # Errors
    /// - `cudaErrorMemoryAllocation` if there is not enough memory.
    /// - A refusal if the number of bytes overflows, or if `T` is zero-sized.
    /// - Those of [`add_empty`](Self::add_empty).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut host = PinnedBuffer::<u8>::alloc(4)?;
    /// let mut graph = Graph::new()?;
    /// let mut scratch = graph.add_alloc::<u8>(&[], 4)?;
    /// graph.add_memset(&[], &mut scratch, 7)?; // after the allocation
    /// graph.add_memcpy(&[], &mut host, &scratch)?; // after the fill
    /// graph.add_free(&[], &mut scratch)?; // after all of them
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(*host.host()?, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddMemAllocNode")]
    #[track_caller]
    pub fn add_alloc<T: AnyBitPattern>(&mut self, after: &[Node], len: usize) -> Result<GraphBuffer<T>> {
        let (api, device) = ("Graph::add_alloc", self.device());
        let bytes = size::bytes_of::<T>(api, len)?;
        let owner = retained(Own(AccessHistory::new(bytes)));
        let mut parameters = sys::cudaMemAllocNodeParams {
            poolProps: sys::cudaMemPoolProps {
                allocType: sys::cudaMemAllocationTypePinned,
                location: MemoryLocation::Device(device).to_raw(),
                win32SecurityAttributes: ptr::null_mut(),
                ..Default::default()
            },
            accessDescs: ptr::null(),
            accessDescCount: 0,
            bytesize: bytes,
            dptr: ptr::null_mut(),
        };
        let node = if bytes == 0 {
            self.add_empty(after)?
        } else {
            let uses = kept(api, &[Access::write(&owner.0, 0..bytes)])?;
            let node = self.add(api, after, uses, false, |node, graph, before, count| {
                // SAFETY: the graph and its `count` nodes are live, and the pointers are to live variables.
                unsafe { check!(cudaGraphAddMemAllocNode(node, graph, before, count, &raw mut parameters)) }
            })?;
            self.steps_mut().begin(ptr::from_ref(&owner.0).addr(), node);
            node
        };
        let address = parameters.dptr.expose_provenance();
        Ok(GraphBuffer { owner, address, len, device, graph: self.number, node, elements: PhantomData })
    }

    /// Adds a node that frees memory that this graph owns, after all nodes that use it. A graph can be made
    /// executable only if it has this node for all its memory. Later nodes cannot use the memory.
    ///
    /// Stands for [`cudaGraphAddMemFreeNode`](sys::cudaGraphAddMemFreeNode).
    ///
    /// # Errors
    /// `Unsupported` if another graph owns the memory, or if a node frees it already; those of
    /// [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddMemFreeNode")]
    #[track_caller]
    pub fn add_free<T>(&mut self, after: &[Node], memory: &mut GraphBuffer<T>) -> Result<Node> {
        let api = "Graph::add_free";
        memory.ensure_of(self.number, api)?;
        if memory.is_empty() {
            return self.add_empty(after);
        }
        let all = Access::write(memory.history(), 0..memory.len() * size_of::<T>());
        let uses = kept(api, &[all])?;
        let address: *mut c_void = memory.as_ptr().cast();
        let node = self.add(api, after, uses, false, |node, graph, before, count| {
            // SAFETY: the graph and its `count` nodes are live, and `node` points to a live variable. An
            // earlier node of this graph allocates the memory at the address. No other node frees it: `add`
            // refuses that.
            unsafe { check!(cudaGraphAddMemFreeNode(node, graph, before, count, address)) }
        })?;
        self.steps_mut().end(ptr::from_ref(memory.history()).addr(), node);
        Ok(node)
    }

    /// Refuses operations that a graph with memory of its own does not support.
    #[track_caller]
    pub(super) fn ensure_no_memory(&self, api: &'static str) -> Result<()> {
        if !self.steps.have_memory() {
            return Ok(());
        }
        let what = "this of a graph with memory of its own (Graph::add_alloc)";
        Err(Error::refused(api, Detail::unsupported(what)))
    }
}
