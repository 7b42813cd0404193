//! What the nodes of graphs do: operations as values.
//!
//! A function of this module describes an operation. Nothing happens until the operation is given to a node,
//! which consumes it:
//!
//! | operation | [`Graph::add`] | [`Body::add`](Body::add) | [`Graph::set`] | [`GraphExec::set`] |
//! |---|---|---|---|---|
//! | [`checked_kernel`], [`kernel`], [`memcpy`], [`memset`] | yes | yes | yes | yes |
//! | [`memcpy_to_symbol`], [`memcpy_from_symbol`] | yes | yes | yes | yes |
//! | [`host_fn`], [`host_fn_with`] | yes | | yes | yes |
//! | [`event_record`], [`event_wait`], [`semaphore_signal`], [`semaphore_wait`] | yes | | yes | yes |
//! | [`child_graph`] | yes | yes | | yes |
//! | [`empty`], [`conditional`] | yes | yes | | |
//! | [`alloc`], [`free`] | yes | | | |
//!
//! The compiler checks this table: [`NodeOp`], [`BodyOp`], [`SetOp`] and [`ExecOp`] are its columns.
//!
//! # Why safe code may hold an operation
//! - *It lives.* An operation borrows its memory, kernel, event or graph until it is given to a node. The
//!   graph retains all of it before the call. A dropped operation has changed nothing.
//! - *It is given once.* An operation is neither `Copy` nor `Clone`.
//! - *It fits.* What depends on the graph is checked when the operation is given to a node, for the graph
//!   that owns the node: the device, memory and conditions of the graph's own, the order of nodes that
//!   conflict, and whether the memory can be retained.
//! - *Unsafe operations fit any graph.* Safe code decides where an operation goes. Therefore the duty of
//!   [`kernel`] covers every graph, executable graph and body, at any place.
#![expect(unsafe_code, reason = "adds an empty node to a raw graph")]

mod child;
mod conditional;
mod copy;
mod event;
mod host;
mod kernel;
mod memory;
mod semaphore;

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

use cuda_hazard::Few;

use super::executable::GraphExec;
use super::graph::Graph;
use super::identity::{Node, Owner};
use super::step::Step;
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, Error, Result, unsupported};
use crate::hazard::{Access, RetainedAccesses};
use crate::memory::retain;
use crate::{check, stream, sys};

pub use child::{ChildGraph, Empty, child_graph, empty};
pub use conditional::{Body, ConditionalOp, conditional};
pub use copy::{Memcpy, MemcpyFromSymbol, MemcpyToSymbol, Memset};
pub use copy::{memcpy, memcpy_from_symbol, memcpy_to_symbol, memset};
pub use event::{EventRecord, EventWait, event_record, event_wait};
pub use host::{HostFn, host_fn, host_fn_with};
pub use kernel::{CheckedKernelOp, KernelOp, checked_kernel, kernel};
pub use memory::{Alloc, Free, alloc, free};
pub use semaphore::{SemaphoreSignal, SemaphoreWait, semaphore_signal, semaphore_wait};

/// The operation of a node, for [`Graph::add`]. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operation of a node",
    note = "the functions of `cuda_safe::graph::node` make operations: \
            `graph.add(&[], node::memset(&mut d, 0))`"
)]
pub trait NodeOp: sealed::Sealed + Sized {
    /// What [`Graph::add`] returns: the [`Node`], or for [`alloc`] the memory.
    type Added;

    /// Adds a node with the operation.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Self::Added>;
}

/// An operation that CUDA allows in the body of a conditional node, for [`Body::add`](Body::add). The
/// trait is sealed.
#[diagnostic::on_unimplemented(
    message = "CUDA does not allow `{Self}` in the body of a conditional node",
    note = "the nodes of a body are kernels, copies, fills, child graphs, conditional and empty nodes"
)]
pub trait BodyOp: NodeOp {
    /// Refuses what a type does not tell.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn ensure_allowed(&self) -> Result<()> {
        Ok(())
    }
}

/// An operation that replaces another one of its kind in a graph, for [`Graph::set`]. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "CUDA cannot give `{Self}` to a node that a graph has",
    note = "kernels, copies, fills, host functions, events and semaphores of nodes can be set"
)]
pub trait SetOp: NodeOp {
    /// Gives the operation to a node.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn set_in(self, graph: &mut Graph, node: Node) -> Result<()>;
}

/// An operation that replaces another one of its kind in an executable graph, for [`GraphExec::set`]. The
/// trait is sealed.
#[diagnostic::on_unimplemented(
    message = "CUDA cannot give `{Self}` to a node of an executable graph",
    note = "kernels, copies, fills, host functions, child graphs, events and semaphores of nodes can be set"
)]
pub trait ExecOp: NodeOp {
    /// Gives the operation to a node, which `graph` names.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn set_in_exec(self, exec: &mut GraphExec, graph: &Graph, node: Node) -> Result<()>;
}

mod sealed {
    /// Seals [`NodeOp`](super::NodeOp).
    pub trait Sealed {}
}

/// The place of a node that does not exist yet.
///
/// # Invariants
/// `graph` is live, and `before` points to `count` of its live nodes. `node` points to a live variable.
pub(super) struct NewNode<'a> {
    pub(super) node: *mut sys::cudaGraphNode_t,
    pub(super) graph: sys::cudaGraph_t,
    pub(super) before: *const sys::cudaGraphNode_t,
    pub(super) count: usize,
    /// Set by a call that fails and leaves the node in the graph.
    pub(super) is_left: &'a Cell<bool>,
}

/// The node that a call gives its operation.
///
/// # Invariants
/// The executable graph and the node's graph are live, and borrowed mutably: nothing launches or changes
/// them meanwhile. What the operation uses is retained for as long as they are.
pub(super) enum NodeTarget<'a> {
    /// A new node.
    New(NewNode<'a>),
    /// A node of a graph.
    Node(sys::cudaGraphNode_t),
    /// A node of an executable graph, which the graph's node names.
    Exec(sys::cudaGraphExec_t, sys::cudaGraphNode_t),
}

/// Where an operation goes.
pub(super) trait Recipient: Sized {
    type Out;

    fn device(&self) -> Device;

    fn owner(&self) -> Owner;

    /// Takes an operation without elements.
    #[track_caller]
    fn take_none(self) -> Result<Self::Out>;

    /// Takes an operation with these accesses, whose memory is retained. `acts` tells whether it gives the
    /// device work.
    #[track_caller]
    fn take(
        self,
        uses: RetainedAccesses,
        acts: bool,
        call: impl FnOnce(NodeTarget<'_>) -> Result<()>,
    ) -> Result<Self::Out>;
}

/// An operation that every recipient takes.
pub(super) trait Resolve: sealed::Sealed + Sized {
    /// Checks the operation for the recipient's graph, and gives it to the recipient.
    #[track_caller]
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out>;
}

impl<O: Resolve> NodeOp for O {
    type Added = Node;

    #[inline]
    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Node> {
        self.resolve(Adding { graph, after })
    }
}

impl<O: Resolve> SetOp for O {
    fn set_in(self, graph: &mut Graph, node: Node) -> Result<()> {
        self.resolve(Setting { graph, node })
    }
}

impl<O: Resolve> ExecOp for O {
    fn set_in_exec(self, exec: &mut GraphExec, graph: &Graph, node: Node) -> Result<()> {
        self.resolve(SettingExec { exec, graph, node })
    }
}

/// A graph that gets a node.
struct Adding<'g> {
    graph: &'g mut Graph,
    after: &'g [Node],
}

impl Recipient for Adding<'_> {
    type Out = Node;

    fn device(&self) -> Device {
        self.graph.device()
    }

    fn owner(&self) -> Owner {
        self.graph.owner()
    }

    fn take_none(self) -> Result<Node> {
        self.graph.add_empty(self.after)
    }

    #[inline]
    fn take(
        self,
        uses: RetainedAccesses,
        acts: bool,
        call: impl FnOnce(NodeTarget<'_>) -> Result<()>,
    ) -> Result<Node> {
        self.graph.add_node(self.after, uses, acts, |new| call(NodeTarget::New(new)))
    }
}

/// A graph of which a node gets another operation.
struct Setting<'g> {
    graph: &'g mut Graph,
    node: Node,
}

impl Recipient for Setting<'_> {
    type Out = ();

    fn device(&self) -> Device {
        self.graph.device()
    }

    fn owner(&self) -> Owner {
        self.graph.owner()
    }

    fn take_none(self) -> Result<()> {
        Err(nothing("Graph::set"))
    }

    fn take(
        self,
        uses: RetainedAccesses,
        _: bool,
        call: impl FnOnce(NodeTarget<'_>) -> Result<()>,
    ) -> Result<()> {
        self.graph.set_node(self.node, uses, |node| call(NodeTarget::Node(node)))
    }
}

/// An executable graph of which a node gets another operation.
struct SettingExec<'g> {
    exec: &'g mut GraphExec,
    graph: &'g Graph,
    node: Node,
}

impl Recipient for SettingExec<'_> {
    type Out = ();

    fn device(&self) -> Device {
        self.exec.device()
    }

    fn owner(&self) -> Owner {
        // A newer condition has no node in the executable graph.
        let newest_condition = self.exec.origin.as_ref().map_or(0, |origin| origin.newest_condition);
        Owner { newest_condition, ..self.graph.owner() }
    }

    fn take_none(self) -> Result<()> {
        Err(nothing("GraphExec::set"))
    }

    fn take(
        self,
        uses: RetainedAccesses,
        _: bool,
        call: impl FnOnce(NodeTarget<'_>) -> Result<()>,
    ) -> Result<()> {
        self.exec.set_node(self.graph, self.node, uses, |exec, node| call(NodeTarget::Exec(exec, node)))
    }
}

/// Returns the refusal of an operation without elements, which cannot replace another one.
#[track_caller]
fn nothing(api: &'static str) -> Error {
    Error::refused(api, Detail::zero("the number of elements"))
}

/// Returns the accesses of a node, with their memory retained.
#[inline]
#[track_caller]
pub(super) fn retain_all<'a>(
    api: &'static str,
    accesses: impl IntoIterator<Item = Access<'a>>,
) -> Result<RetainedAccesses> {
    let mut uses = RetainedAccesses::default();
    // A match, because a closure would hide the caller.
    for access in accesses {
        if !uses.add(&access, || retain(&access)) {
            return Err(Error::refused(api, Detail::NOT_RETAINED));
        }
    }
    Ok(uses)
}

impl Graph {
    /// Adds a node. It comes after the nodes in `after`, and after every earlier node that it conflicts with.
    ///
    /// [`node`](crate::graph::node) has the operations.
    ///
    /// # Errors
    /// - `Unsupported` if `after` names a node of another graph.
    /// - `Argument` if the graph cannot retain the operation's memory.
    /// - Those of the operation.
    /// - The runtime's error.
    /// - Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut device = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut host = PinnedBuffer::<u8>::alloc(4)?;
    /// let mut graph = Graph::new()?;
    /// let fill = graph.add(&[], node::memset(&mut device, 7))?;
    /// graph.add(&[fill], node::memcpy(&mut host, &device))?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(*host.host()?, [7; 4]); // waits
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddNode")]
    #[inline]
    #[track_caller]
    pub fn add<O: NodeOp>(&mut self, after: &[Node], operation: O) -> Result<O::Added> {
        stream::ensure_idle("Graph::add")?;
        operation.add_to(self, after)
    }

    /// Gives a node another operation of the same kind. Executable graphs that were made before do not
    /// change.
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured or destroyed, or belongs to another graph.
    /// - `Hazard` if the new memory conflicts with a node that is not ordered with this one;
    ///   [`add_dependencies`](Self::add_dependencies) adds an order.
    /// - `Argument` if there are no elements.
    /// - Those of [`add`](Self::add).
    /// - The runtime's error for a node of another kind.
    ///
    /// After an error the node is unchanged, except that a kernel may have got [attributes](kernel).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let (first, second) = (DeviceBuffer::from_slice(&[1, 2])?, DeviceBuffer::from_slice(&[3, 4])?);
    /// let mut to = DeviceBuffer::from_slice(&[0, 0])?;
    /// let mut graph = Graph::new()?;
    /// let copy = graph.add(&[], node::memcpy(&mut to, &first))?;
    /// graph.set(copy, node::memcpy(&mut to, &second))?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(to.to_vec()?, [3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphNodeSetParams")]
    #[track_caller]
    pub fn set<O: SetOp>(&mut self, node: Node, operation: O) -> Result<()> {
        stream::ensure_idle("Graph::set")?;
        operation.set_in(self, node)
    }

    /// Returns the graph as the one that an operation is for.
    fn owner(&self) -> Owner {
        Owner { graph: self.number, root: self.root, newest_condition: u64::MAX }
    }

    /// Adds a node after the nodes in `after` and after all earlier nodes that it conflicts with. `acts`
    /// tells whether the node gives the device work.
    #[track_caller]
    fn add_node(
        &mut self,
        after: &[Node],
        uses: RetainedAccesses,
        acts: bool,
        call: impl FnOnce(NewNode<'_>) -> Result<()>,
    ) -> Result<Node> {
        let (graph, device) = (self.as_raw(), self.device());
        let steps = Arc::make_mut(&mut self.steps);
        let direct = steps.order("Graph::add", self.number, after, &uses)?;
        let mut before = Few::default();
        for step in direct.iter().filter_map(|at| steps.get(*at)) {
            step.last().iter().for_each(|raw| before.push(*raw));
        }
        let _current = device.switch()?;
        let mut raw = std::ptr::null_mut();
        let (before, count, is_left) = (before.as_ptr(), before.len(), &Cell::new(false));
        let new = NewNode { node: &raw mut raw, graph, before, count, is_left };
        // The memory is retained before the node exists, even if the call fails.
        if let Err(error) = call(new) {
            steps.failed(&uses);
            self.is_complete &= !is_left.get();
            return Err(error.at(Location::caller()));
        }
        self.acts |= acts;
        steps.push(Step::new(Few::from([raw]), uses, acts), direct);
        Ok(Node::new(self.number, steps.list.len() - 1))
    }

    /// Adds a node that does nothing.
    #[track_caller]
    pub(super) fn add_empty(&mut self, after: &[Node]) -> Result<Node> {
        self.add_node(after, RetainedAccesses::default(), false, |new| {
            // SAFETY: the invariants of `NewNode`.
            unsafe { check!(cudaGraphAddEmptyNode(new.node, new.graph, new.before, new.count)) }
        })
    }

    /// Changes the operation of a node to one with the accesses `uses`.
    #[track_caller]
    fn set_node(
        &mut self,
        node: Node,
        uses: RetainedAccesses,
        call: impl FnOnce(sys::cudaGraphNode_t) -> Result<()>,
    ) -> Result<()> {
        let api = "Graph::set";
        let (at, raw) = self.steps.added(api, self.number, node)?;
        let _current = self.device().switch()?;
        self.steps.ensure_fits(api, at, &uses)?;
        let set = call(raw).at_caller();
        if self.steps.differs(at, &uses) {
            self.steps_mut().given(at, uses, set.is_ok());
        }
        set
    }
}

impl GraphExec {
    /// Gives a node another operation of the same kind, from the next launch on. `graph` is the graph that
    /// this was made from. It names the node, and does not change. Running launches do not change.
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured, was added after the executable graph was made, or belongs
    ///   to another graph.
    /// - `Hazard` if the new memory conflicts with a node that is not ordered with this one.
    /// - `Argument` if there are no elements.
    /// - Those of [`Graph::add`].
    /// - The runtime's error for a node of another kind, and for memory of another kind or device than
    ///   before.
    ///
    /// After an error the executable graph can still be launched.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    /// let mut graph = Graph::new()?;
    /// let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    /// let mut exec = graph.instantiate()?;
    /// exec.set(&graph, fill, node::memset(&mut bytes.slice_mut(..2)?, 5))?;
    /// exec.launch(&stream)?;
    /// assert_eq!(bytes.to_vec()?, [5, 5, 0, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecNodeSetParams")]
    #[track_caller]
    pub fn set<O: ExecOp>(&mut self, graph: &Graph, node: Node, operation: O) -> Result<()> {
        stream::ensure_idle("GraphExec::set")?;
        operation.set_in_exec(self, graph, node)
    }

    /// Changes the operation of a node to one with the accesses `uses`.
    #[track_caller]
    fn set_node(
        &mut self,
        graph: &Graph,
        node: Node,
        uses: RetainedAccesses,
        call: impl FnOnce(sys::cudaGraphExec_t, sys::cudaGraphNode_t) -> Result<()>,
    ) -> Result<()> {
        let api = "GraphExec::set";
        let (at, raw) = self.find(api, graph, node)?;
        let _current = self.device().switch()?;
        if let Some(origin) = &self.origin {
            origin.steps.lives.ensure_have_those_of(api, &graph.steps.lives, &uses)?;
            origin.steps.ensure_fits(api, at, &uses)?;
        }
        let set = call(self.as_raw(), raw).at_caller();
        if let Some(origin) = &mut self.origin {
            origin.unlaunched.insert(at);
        }
        if self.origin.as_ref().is_some_and(|origin| origin.steps.differs(at, &uses)) {
            self.given(at, uses, set.is_ok());
        }
        set
    }

    /// Returns the number and the handle of a node that was added to the graph, not captured, before this
    /// was made from it.
    #[track_caller]
    pub(super) fn find(
        &self,
        api: &'static str,
        graph: &Graph,
        node: Node,
    ) -> Result<(usize, sys::cudaGraphNode_t)> {
        let Some(origin) = &self.origin else {
            let what = "changing a node after GraphExec::update took another graph over, or one with other \
                        nodes or edges than it had, or failed: change that graph, and take it over";
            return Err(unsupported(api, what));
        };
        if origin.graph != graph.number {
            return Err(unsupported(api, "a graph that the executable one was not made of"));
        }
        // The graph may have destroyed the node since then.
        graph.steps.find(api, graph.number, node)?;
        origin.steps.added(api, graph.number, node)
    }
}
