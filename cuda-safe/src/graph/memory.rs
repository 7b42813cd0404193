//! Memory of a graph's own: allocated and freed by nodes of it, and there only between those.
//!
//! It has an address from when the graph has the node, and memory behind the address only while a launch is between the two nodes. So only
//! nodes of the same graph are given it (`slice`): as sources, destinations and arguments of kernels. `steps` has the argument that those
//! come between the two.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use bytemuck::AnyBitPattern;

use super::graph::Graph;
use super::nodes::{Node, kept};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::books::Keeper;
use crate::hazard::{Access, Ledger};
use crate::memory::{MemoryLocation, Retained, retained, size};
use crate::{check, sys};

/// Elements in memory of a graph's own. See [`Graph::add_alloc`].
///
/// Nodes of the same graph copy from it and to it, fill it, and take it as an argument of a kernel; nothing else does. The value is no
/// more than the name of the memory: dropping it frees nothing.
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

/// The books about memory that the runtime owns with the graph.
#[derive(Debug)]
struct Own(Ledger);

impl Keeper for Own {
    fn ledger(&self) -> &Ledger {
        &self.0
    }
}

impl Retained for Own {
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.0
    }
}

impl<T> GraphBuffer<T> {
    /// The node that allocates it.
    #[must_use]
    pub fn node(&self) -> Node {
        self.node
    }

    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device that it is on.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Where the elements are, for structures that a kernel is given: the same in every launch, and null where there are none. What nodes do
    /// there by it, the graph does not know of.
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address)
    }

    pub(super) fn ledger(&self) -> &Ledger {
        self.owner.ledger()
    }

    /// The number of the graph that it is of.
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
    /// Adds the allocation of `len` elements, for nodes of this graph that come between this one and the one that frees them. As in C,
    /// what they contain is unspecified at the beginning of each launch. No elements, an empty node.
    ///
    /// Stands for [`cudaGraphAddMemAllocNode`](sys::cudaGraphAddMemAllocNode). The address is the same in every launch. A graph with
    /// memory of its own cannot be cloned nor be part of another one, loses neither nodes nor edges, and has one executable form at a time.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation`; a refusal where the number of bytes overflows or `T` has no bytes; those of
    /// [`add_empty`](Self::add_empty).
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
        let owner = retained(Own(Ledger::new(bytes)));
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
            let uses = kept(api, &[Access::write(owner.ledger(), 0..bytes)])?;
            let node = self.add(api, after, uses, false, |node, place| {
                // SAFETY: graph and nodes are live, there are as many as is said, and the pointers are to live variables.
                unsafe {
                    check!(cudaGraphAddMemAllocNode(
                        node,
                        place.graph,
                        place.before,
                        place.count,
                        &raw mut parameters
                    ))
                }
            })?;
            self.steps.begin(ptr::from_ref(owner.ledger()).addr(), node);
            node
        };
        let address = parameters.dptr.expose_provenance();
        Ok(GraphBuffer { owner, address, len, device, graph: self.number, node, elements: PhantomData })
    }

    /// Adds the end of memory of this graph's own, after all nodes that use it. Until there is one, the graph cannot be made executable; later
    /// nodes cannot use the memory.
    ///
    /// Stands for [`cudaGraphAddMemFreeNode`](sys::cudaGraphAddMemFreeNode).
    ///
    /// # Errors
    /// `Unsupported` for memory of another graph's, and for what a node frees already; those of [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddMemFreeNode")]
    #[track_caller]
    pub fn add_free<T>(&mut self, after: &[Node], memory: &mut GraphBuffer<T>) -> Result<Node> {
        let api = "Graph::add_free";
        memory.ensure_of(self.number, api)?;
        if memory.is_empty() {
            return self.add_empty(after);
        }
        let all = Access::write(memory.ledger(), 0..memory.len() * size_of::<T>());
        let uses = kept(api, &[all])?;
        let address: *mut c_void = memory.as_ptr().cast();
        let node = self.add(api, after, uses, false, |node, place| {
            // SAFETY: graph and nodes are live, there are as many as is said, and the pointer is to a live variable. The address is that
            // of memory which a node of this graph allocates, before this one, and no other frees: `add` has refused that.
            unsafe { check!(cudaGraphAddMemFreeNode(node, place.graph, place.before, place.count, address)) }
        })?;
        self.steps.end(ptr::from_ref(memory.ledger()).addr(), node);
        Ok(node)
    }

    /// Refuses what no graph with memory of its own can be.
    #[track_caller]
    pub(super) fn ensure_no_memory(&self, api: &'static str) -> Result<()> {
        if !self.steps.have_memory() {
            return Ok(());
        }
        let what = "this of a graph with memory of its own (Graph::add_alloc)";
        Err(Error::refused(api, Detail::Unsupported { what }))
    }
}
