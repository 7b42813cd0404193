//! Graphs: work that is described once and launched again and again.
//!
//! [`Stream::capture`](crate::Stream::capture) makes a [`Graph`] of what a closure puts on a stream; [`Graph::new`] and the
//! `add_` methods build one by hand. [`Graph::instantiate`] makes it executable, and [`GraphExec::launch`] puts all of it on a
//! stream, as one operation. Only that is stream-ordered; nothing here blocks, but dropping the last owner of memory does.
//!
//! # Why safe code has no data race through a graph
//! - What a graph uses is not on the books while it is only described. A launch enters the union of it, as one operation
//!   ([`StreamRef::enqueue`](crate::stream::StreamRef::enqueue)): it is ordered after every conflicting operation, and later ones
//!   after it. Launches of one executable graph are ordered among themselves by CUDA as well.
//! - Within a graph, nodes that conflict are ordered: captured ones by the one stream that they are captured from, added ones by
//!   dependencies that are added where the program named none. An added node comes after all captured ones that it conflicts with.
//! - The graph holds a reference to every allocation that it uses, so that the addresses in its nodes stay right: a buffer that
//!   is dropped lives on until its graphs and their executable forms are gone. Memory that nobody counts references to, that of a
//!   [`MappedFlag`](crate::MappedFlag) for one, is refused with
//!   [`Detail::NotKept`](crate::error::Detail).
//! - A launch reaches memory without a borrow of its owner. So it is refused (`HostBorrowed`) while a guard lends memory that it
//!   conflicts with to the host, and a guard that is asked for later waits for the launch.
//! - Arguments of kernels are copied when the node is made. Host functions are `Fn + Send + Sync + 'static` and belong to the
//!   graph; the runtime drops them when the last launch of the last executable form is over. An executable form that takes over another
//!   graph's, or is given one, keeps them like memory.
//! - A node can be given other work, in a graph (`Graph::set_kernel` and its like) and in an executable one, for later launches: what these
//!   use is listed anew. Work that conflicts with a node which nothing orders it with is refused, and so is taking away the edge that
//!   orders two such nodes. What launches under way use
//!   is in the books, and is freed only after them. After [`GraphExec::update`] the names of nodes are good only where the graph has all
//!   nodes and edges that it had: the runtime pairs nodes by their order, and a name that means another node would have the wrong memory let go.
//!
//! # What is captured
//! A stream is never captured itself: the closure is given another one, of the same device and priority, that no one else has,
//! so that neither the tracker nor another thread can ever meet a captured stream. The capture is bound to its thread, which may
//! allocate and free meanwhile; nothing of that becomes part of the graph. Refused before anything runs are, on the captured
//! stream: `synchronize`, `is_done`, `wait`, `scope`, events, host functions that run only once, and allocation in stream order.
//! To wait for a whole device is what CUDA forbids during any capture on it; that fails, and so does the capture.
//!
//! # Threads
//! A graph may be sent to another thread but not shared: CUDA does not lock it.
//!
//! C functions: `cudaStreamBeginCapture`, `cudaStreamEndCapture`, `cudaGraphCreate`, `cudaGraphDestroy`, `cudaGraphClone`,
//! `cudaGraphAdd*Node`, `cudaGraphGetNodes`, `cudaGraphInstantiate`, `cudaGraphLaunch`, `cudaGraphUpload`, `cudaGraphExecUpdate`,
//! `cudaGraphExecDestroy`, `cudaGraph*NodeSetParams`, `cudaGraphExec*NodeSetParams`, `cudaGraphNodeSetEnabled`, `cudaGraphNodeGetEnabled`,
//! `cudaGraphGetEdges`, `cudaGraphGetRootNodes`, `cudaGraphNodeGetType`, `cudaGraphNodeGetDependencies`, `cudaGraphNodeGetDependentNodes`,
//! `cudaGraphAddDependencies`, `cudaGraphRemoveDependencies`, `cudaGraphDestroyNode`, `cudaGraphNodeFindInClone`,
//! `cudaGraphChildGraphNodeGetGraph`, `cudaGraph*NodeGetEvent`, `cudaGraph*NodeSetEvent`, `cudaGraphKernelNode*Attribute*`,
//! `cudaGraphExecGetFlags`, `cudaGraph*Get*Id`, `cudaGraphDebugDotPrint`, `cudaUserObjectCreate`, `cudaGraphReleaseUserObject`.

mod attributes;
mod capture;
mod change;
mod clone;
mod edges;
mod events;
mod executable;
#[expect(clippy::module_inception, reason = "the room is named after its first noun")]
mod graph;
mod handle;
mod host;
mod memory;
mod nodes;
mod set;
mod slice;
mod steps;
mod symbols;
mod topology;

pub use attributes::InstantiateFlags;
pub use capture::Capture;
pub use executable::GraphExec;
pub use graph::Graph;
pub use memory::GraphBuffer;
pub use nodes::Node;
pub use slice::{GraphSlice, GraphSliceMut};
pub use topology::NodeKind;
