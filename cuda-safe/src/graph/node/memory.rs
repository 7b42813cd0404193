//! Nodes that allocate memory of the graph's own, and nodes that free it.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use bytemuck::AnyBitPattern;

use super::{Graph, Node, NodeOp, retain_all, sealed};
use crate::error::Result;
use crate::graph::memory::{GraphBuffer, OwnMemory};
use crate::hazard::Access;
use crate::memory::{MemoryLocation, size};
use crate::{check, sys};

/// An allocation. See [`alloc`].
#[derive(Debug)]
pub struct Alloc<T> {
    len: usize,
    elements: PhantomData<fn() -> T>,
}

/// The end of an allocation. See [`free`].
#[derive(Debug)]
pub struct Free<'a, T>(&'a mut GraphBuffer<T>);

/// Describes the allocation of `len` elements, for nodes of the graph between this one and the one that
/// frees the memory. [`Graph::add`] returns the memory. As in C, its contents are unspecified at the
/// beginning of each launch. If `len` is 0, adds an empty node.
///
/// Stands for [`cudaGraphAddMemAllocNode`](sys::cudaGraphAddMemAllocNode). The address is the same in every
/// launch. A graph with memory of its own cannot be cloned or become part of another graph. Its nodes and
/// edges cannot be removed, and it has at most one executable form at a time.
///
/// # Errors
/// - `cudaErrorMemoryAllocation` if there is not enough memory.
/// - A refusal if the number of bytes overflows, or if `T` is zero-sized.
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::{Graph, PinnedBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut host = PinnedBuffer::<u8>::alloc(4)?;
/// let mut graph = Graph::new()?;
/// let mut scratch = graph.add(&[], node::alloc::<u8>(4))?;
/// graph.add(&[], node::memset(&mut scratch, 7))?; // after the allocation
/// graph.add(&[], node::memcpy(&mut host, &scratch))?; // after the fill
/// graph.add(&[], node::free(&mut scratch))?; // after all of them
/// graph.instantiate()?.launch(&stream)?;
/// assert_eq!(*host.host()?, [7; 4]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddMemAllocNode")]
#[must_use]
pub fn alloc<T: AnyBitPattern>(len: usize) -> Alloc<T> {
    Alloc { len, elements: PhantomData }
}

/// Describes the end of memory that the graph owns, after all nodes that use it. A graph can be made
/// executable only if it has this node for all its memory. Later nodes cannot use the memory.
///
/// Stands for [`cudaGraphAddMemFreeNode`](sys::cudaGraphAddMemFreeNode).
///
/// # Errors
/// `Unsupported` if another graph owns the memory, or if a node frees it already.
#[doc(alias = "cudaGraphAddMemFreeNode")]
#[must_use]
pub fn free<T>(memory: &mut GraphBuffer<T>) -> Free<'_, T> {
    Free(memory)
}

impl<T> sealed::Sealed for Alloc<T> {}

impl<T: AnyBitPattern> NodeOp for Alloc<T> {
    type Added = GraphBuffer<T>;

    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<GraphBuffer<T>> {
        let (api, device) = ("node::alloc", graph.device());
        let bytes = size::bytes_of::<T>(api, self.len)?;
        let owner = OwnMemory::reserve(bytes);
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
            graph.add_empty(after)?
        } else {
            let uses = retain_all(api, [Access::write(&owner.0, 0..bytes)])?;
            let node = graph.add_node(after, uses, false, |new| {
                let parameters = &raw mut parameters;
                // SAFETY: the invariants of `NewNode`, and the parameters are live.
                unsafe {
                    check!(cudaGraphAddMemAllocNode(new.node, new.graph, new.before, new.count, parameters))
                }
            })?;
            graph.steps_mut().lives.begin(ptr::from_ref(&owner.0).addr(), node.at());
            node
        };
        let address = parameters.dptr.expose_provenance();
        Ok(GraphBuffer::allocated(owner, address, self.len, (device, graph.number, node)))
    }
}

impl<T> sealed::Sealed for Free<'_, T> {}

impl<T> NodeOp for Free<'_, T> {
    type Added = Node;

    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Node> {
        let (api, Self(memory)) = ("node::free", self);
        memory.ensure_of(graph.number, api)?;
        if memory.is_empty() {
            return graph.add_empty(after);
        }
        let all = Access::write(memory.history(), 0..memory.len() * size_of::<T>());
        let uses = retain_all(api, [all])?;
        let address: *mut c_void = memory.as_ptr().cast();
        let node = graph.add_node(after, uses, false, |new| {
            // SAFETY: the invariants of `NewNode`. An earlier node of this graph allocates the memory at the
            // address. No other node frees it: `add_node` refuses that.
            unsafe { check!(cudaGraphAddMemFreeNode(new.node, new.graph, new.before, new.count, address)) }
        })?;
        graph.steps_mut().lives.end(ptr::from_ref(memory.history()).addr(), node.at());
        Ok(node)
    }
}
