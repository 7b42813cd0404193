//! Graphs: work that is described once and launched many times.
//!
//! [`Stream::capture`](crate::Stream::capture) makes a [`Graph`] from the operations that a closure puts on
//! a stream, and [`Stream::capture_to_graph`](crate::Stream::capture_to_graph) adds them to one.
//! [`Graph::new`] and [`Graph::add`] build one node by node, from the operations in [`node`].
//! [`Graph::instantiate`] makes it executable, and [`GraphExec::launch`] submits all of it to a stream as one
//! operation. Only the launch is stream-ordered. Nothing here blocks, except that dropping the last owner of
//! memory does.
//!
//! # Why safe code has no data race through a graph
//! - The tracker does not record a graph that is only described. A launch records the union of the graph's
//!   accesses as one operation ([`StreamRef::enqueue`](crate::stream::StreamRef::enqueue)). It is ordered
//!   after every conflicting earlier operation, and conflicting later operations are ordered after it. CUDA
//!   also orders the launches of one executable graph among themselves.
//! - Inside a graph, conflicting nodes are ordered. Captured nodes have the order of the stream that they
//!   are captured from. An operation of one branch of a capture waits for the operations of other
//!   branches that it conflicts with, or is refused under `Policy::Error`. For added nodes, edges are
//!   added where the program names none. An added node comes after all captured nodes that it conflicts
//!   with, and a capture that is added comes after all earlier nodes that one of its operations conflicts
//!   with. If such a capture fails, the graph is dropped, with the nodes that nothing orders. Access
//!   histories of the graph find the conflicts, and chains of nodes tell the order, so a node costs the
//!   same in a graph of any size.
//! - The graph retains every allocation that it uses, so the addresses in its nodes stay valid: a dropped
//!   buffer is freed only after its graphs and their executable forms are dropped. Memory without a
//!   reference count, for example that of a [`MappedFlag`](crate::MappedFlag), is refused with
//!   [`Detail::NOT_RETAINED`](crate::error::Detail).
//! - A launch accesses memory without a borrow of its owner. Therefore it is refused (`InUse`) while
//!   a guard lends conflicting memory to the host, and a guard that is requested later waits for the
//!   launch.
//! - Kernel arguments are copied when the node is made. Host functions are `Fn + Send + Sync + 'static` and
//!   belong to the graph. The runtime drops them after the last launch of the last executable form is
//!   complete. Memory that they read and write is declared with them ([`node::host_fn_with`]), like that
//!   of any node. An executable form that takes over another graph's functions, or receives one, retains
//!   them like memory.
//! - The operation of a node can be changed, in a graph ([`Graph::set`]) and in an executable graph for
//!   later launches ([`GraphExec::set`]). The accesses are then computed again. Two changes are
//!   refused: an operation that conflicts with a node that is not ordered with this one, and the removal of
//!   the edge that orders two conflicting nodes. The tracker has recorded what running launches use, and
//!   that memory is freed only after them. After [`GraphExec::update`], node names remain valid only if the
//!   graph has all nodes and edges that it had before. The runtime pairs nodes by their order, and a name
//!   that meant another node would release the wrong memory.
//! - A conditional node has the accesses of all its bodies, and the condition that kernels set is memory for
//!   the tracker, which every launch writes. `conditional` has the rules for conditions, bodies and copies.
//!
//! # Captures
//! A program's stream is never captured itself. The closure receives another stream with the same device
//! and priority, which has no other user, and so does each branch. If a stream of the program waits for
//! an event of the capture, it stands for a branch from then on, on this thread and until the capture
//! ends; the stream itself is not touched. Therefore neither the tracker nor another thread ever uses a
//! captured stream.
//!
//! The capture is bound to its thread. The thread may allocate and free during the capture, and none of that
//! becomes part of the graph. All of these are refused before anything runs:
//! - on the streams of the capture: `synchronize`, `is_done`, `scope`, host functions that run only once, and
//!   stream-ordered allocation;
//! - any work on other streams, and blocking verbs, `synchronize` of streams, events and the device included.
//!   They would run at once, and the graph would lack them.
//!
//! CUDA forbids waiting for a whole device during any capture on it. If another thread does, the wait fails,
//! and the capture fails with it.
//!
//! # Threads
//! A graph may be sent to another thread, but not shared: CUDA does not lock it.

mod attributes;
mod capture;
mod captured;
mod clone;
mod conditional;
mod edges;
mod enabled;
mod executable;
#[expect(clippy::module_inception, reason = "the room is named after its first noun")]
mod graph;
mod handle;
mod histories;
mod host;
mod identity;
mod lives;
mod memory;
pub mod node;
mod order;
mod slice;
mod step;
mod steps;
#[cfg(test)]
mod tests;
mod topology;

pub use capture::Capture;
pub use conditional::{Condition, Conditional};
pub use executable::{GraphExec, InstantiateFlags};
pub use graph::Graph;
pub use identity::Node;
pub use memory::GraphBuffer;
pub use node::Body;
pub use slice::{GraphSlice, GraphSliceMut};

pub use topology::NodeKind;
