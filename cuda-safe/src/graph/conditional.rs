//! Conditional nodes, whose bodies run or not by values that kernels set, and the bodies.
//!
//! # Why conditional nodes are sound
//! - **The condition** is memory for the tracker: four bytes with an access history. A kernel that receives
//!   it writes it, and so does its conditional node. Therefore two nodes that set it are ordered, as CUDA
//!   requires, and so are a node that sets it and the conditional node. Every launch writes it too: a new
//!   executable form of the graph starts after the launches of the one before. Each launch begins with the
//!   condition's first value.
//! - **Who sets it**: the argument is refused except in a kernel node of the condition's graph or of a body
//!   inside that graph, so neither a launch on a stream nor another graph can set it. It belongs to one
//!   conditional node, in the same graph or in such a body. CUDA makes no graph executable in which a
//!   condition has no node, so an executable form has the nodes of all conditions that are older. Newer ones
//!   are refused, also if they come with the operations of its graph.
//! - **A body** is filled while its node is added, through a [`Body`], which has only the nodes that CUDA
//!   allows there. A `Body` cannot leave its closure, so a body never changes later.
//! - **Accesses**: the conditional node has the accesses of all its bodies and of the nodes nested in them,
//!   whether they run or not. The edges that these accesses need are added once the bodies are known. If
//!   anything fails before that, the graph is incomplete for good: it cannot be made executable, update an
//!   executable form, or get another conditional node. Inside a body, nodes are ordered as in any graph; CUDA
//!   orders the runs of a loop's body.
//! - **Copies** would share the condition, and CUDA allows none: the graph is not cloned, not added to
//!   another graph, does not update an executable form of another graph, and has one executable form at a
//!   time. Its conditional nodes are not destroyed. All graphs refuse the names of nodes in bodies, so
//!   nothing sets their operations.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use std::marker::PhantomData;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cuda_hazard::Few;

use super::graph::Graph;
use super::nodes::{kept, making};
use super::steps::{Node, Step};
use super::topology::{NodeKind, kind_of};
use crate::copy::{Destination, InGraph, Source};
use crate::error::{Detail, Error, Result, ensure};
use crate::hazard::{Access, AccessHistory};
use crate::launch::{Arguments, ConditionalHandle, Kernel, KernelArg, LaunchConfig};
use crate::memory::{retainable, retained};
use crate::{check, stream, sys};

/// A number on the device that kernels of a graph set, and that decides what a conditional node runs. See
/// [`Graph::condition`].
///
/// A kernel takes `&condition` for a parameter of type `cudaGraphConditionalHandle`, in nodes of the graph
/// and of bodies inside it. The value only names the number: dropping it changes nothing.
#[derive(Debug)]
#[doc(alias = "cudaGraphConditionalHandle")]
pub struct Condition {
    owner: Arc<Own>,
    raw: sys::cudaGraphConditionalHandle,
    /// The number of the graph that is in no other graph.
    root: u64,
    /// Newer conditions have higher numbers. They begin at 1.
    number: u64,
}

#[derive(Debug)]
struct Own {
    history: AccessHistory,
    /// Whether a conditional node has the condition.
    has_node: AtomicBool,
}

retainable!(Own, history);

impl Condition {
    fn written(&self) -> Access<'_> {
        Access::write(&self.owner.history, 0..size_of::<u32>())
    }

    #[track_caller]
    fn ensure_of(&self, root: u64, api: &'static str) -> Result<()> {
        let what = "a condition anywhere but in nodes of its graph, and of bodies inside it,";
        if self.root == root { Ok(()) } else { Err(Error::refused(api, Detail::unsupported(what))) }
    }
}

// SAFETY: the kernel receives the handle, and the access covers the number that it stands for. The argument
// is refused except in a node of the condition's graph, or of a body inside it.
unsafe impl KernelArg<ConditionalHandle> for &Condition {
    #[track_caller]
    fn value(&self) -> Result<ConditionalHandle> {
        let makes = making();
        self.ensure_of(makes.root, "launch")?;
        ensure_older(self.number, makes.newest_condition, "launch")?;
        Ok(ConditionalHandle::from_raw(self.raw))
    }

    fn access(&self) -> Option<Access<'_>> {
        Some(self.written())
    }
}

/// Which bodies a conditional node has, and which of them runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "cudaGraphConditionalNodeType")]
#[doc(alias = "cudaConditionalNodeParams")]
pub enum Conditional {
    /// One body, which runs once unless the condition is 0.
    #[doc(alias = "cudaGraphCondTypeIf")]
    If,
    /// Two bodies: the first one runs once unless the condition is 0, the second one if it is.
    #[cfg(cudart_12_8)]
    #[doc(alias = "cudaGraphCondTypeIf")]
    IfElse,
    /// One body, which runs again and again until the condition is 0.
    #[doc(alias = "cudaGraphCondTypeWhile")]
    While,
    /// As many bodies, at most [`MOST_BODIES`](Self::MOST_BODIES): the one with the condition's number runs
    /// once, if there is one.
    #[cfg(cudart_12_8)]
    #[doc(alias = "cudaGraphCondTypeSwitch")]
    Switch(u32),
}

impl Conditional {
    /// The largest number of bodies of a node. CUDA names no limit of its own; each body is a graph.
    pub const MOST_BODIES: u32 = 1 << 16;

    fn parts(self) -> (sys::cudaGraphConditionalNodeType, u32) {
        match self {
            Self::If => (sys::cudaGraphCondTypeIf, 1),
            #[cfg(cudart_12_8)]
            Self::IfElse => (sys::cudaGraphCondTypeIf, 2),
            Self::While => (sys::cudaGraphCondTypeWhile, 1),
            #[cfg(cudart_12_8)]
            Self::Switch(count) => (sys::cudaGraphCondTypeSwitch, count),
        }
    }
}

impl Graph {
    /// Makes a condition for one conditional node of this graph. Each launch begins with the value `first`.
    ///
    /// Stands for [`cudaGraphConditionalHandleCreate`](sys::cudaGraphConditionalHandleCreate) with
    /// `cudaGraphCondAssignDefault`. As in C, a graph with a condition but without its node may not become
    /// executable.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphConditionalHandleCreate")]
    #[track_caller]
    pub fn condition(&mut self, first: u32) -> Result<Condition> {
        stream::ensure_idle("Graph::condition")?;
        let (mut raw, flags) = (0, sys::cudaGraphCondAssignDefault.0);
        let _current = self.device().switch()?;
        // SAFETY: the graph is live. The pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphConditionalHandleCreate(&raw mut raw, self.as_raw(), first, flags)) }?;
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.newest_condition = number;
        let history = AccessHistory::new(size_of::<u32>());
        let owner = retained(Own { history, has_node: AtomicBool::new(false) });
        Ok(Condition { owner, raw, root: self.root, number })
    }

    /// Adds a node whose bodies run by a condition: `if`, `while` and `switch` on the device. Calls `fill`
    /// once for each body, with its number.
    ///
    /// The node comes after the nodes in `after`, and after every earlier node that conflicts with any of its
    /// bodies or sets the condition. Launches are ordered by the accesses of all bodies. Stands for
    /// [`cudaGraphAddNode`](sys::cudaGraphAddNode) with `cudaGraphNodeTypeConditional`.
    ///
    /// A graph with a condition cannot be cloned or become part of another graph, and has at most one
    /// executable form at a time. The nodes in bodies keep their operations. A loop whose condition never
    /// becomes 0 never ends.
    ///
    /// # Errors
    /// - `Unsupported` if the condition belongs to another graph, or has a node.
    /// - `Limit` for more than [`MOST_BODIES`](Conditional::MOST_BODIES) bodies, before `fill` is called.
    /// - The error of `fill`.
    /// - Those of [`add_empty`](Self::add_empty).
    ///
    /// After an error or a panic of `fill`, the graph cannot be made executable.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::graph::Conditional;
    /// use cuda_safe::launch::{ConditionalHandle, Kernel};
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// // __global__ void step(cudaGraphConditionalHandle again, float* x) {
    /// //     *x /= 2;
    /// //     cudaGraphSetConditional(again, *x > 1);
    /// // }
    /// # fn run(step: Kernel<(ConditionalHandle, *mut f32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut x = DeviceBuffer::from_slice(&[100.0_f32])?;
    /// let mut graph = Graph::new()?;
    /// let again = graph.condition(1)?;
    /// graph.add_conditional(&[], &again, Conditional::While, |_, body| {
    ///     // SAFETY: one thread, and `x` has one element.
    ///     unsafe { body.add_kernel(&[], &step, (1, 1), (&again, &mut x)) }?;
    ///     Ok(())
    /// })?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(x.to_vec()?, [0.78125]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphAddNode")]
    #[doc(alias = "cudaGraphNodeTypeConditional")]
    #[track_caller]
    pub fn add_conditional(
        &mut self,
        after: &[Node],
        condition: &Condition,
        kind: Conditional,
        mut fill: impl FnMut(usize, &mut Body<'_>) -> Result<()>,
    ) -> Result<Node> {
        let (api, number) = ("Graph::add_conditional", self.number);
        stream::ensure_idle(api)?;
        self.ensure_complete(api)?;
        condition.ensure_of(self.root, api)?;
        if condition.owner.has_node.load(Ordering::Relaxed) {
            return Err(Error::refused(api, Detail::unsupported("a condition that has a node")));
        }
        let (what, asked, limit) = ("the number of bodies", kind.parts().1, Conditional::MOST_BODIES);
        ensure(asked <= limit, api, || Detail::limit(what, asked.into(), limit.into()))?;
        let mut uses = kept(api, &[condition.written()])?;
        let before = self.last_of(api, after)?;
        let (raw, bodies) = match self.add_raw(&before, condition.raw, kind) {
            Ok(added) => added,
            Err(error) => {
                self.steps_mut().failed(&uses);
                return Err(error);
            }
        };
        condition.owner.has_node.store(true, Ordering::Relaxed);
        // Until all edges exist, and for good if something fails or panics before.
        self.is_complete = false;
        for (at, raw) in bodies.into_iter().enumerate() {
            let mut body = Body { graph: Graph::body(raw, self.device(), self.root), node: PhantomData };
            let filled = fill(at, &mut body);
            uses.add_all(&body.graph.steps.uses());
            self.newest_condition = self.newest_condition.max(body.graph.newest_condition);
            filled?;
            body.graph.ensure_complete(api)?;
        }
        let direct = self.steps_mut().order(api, number, after, &uses)?;
        let missing = direct.iter().filter(|at| after.iter().all(|node| node.at() != **at));
        let steps = missing.filter_map(|at| self.steps.get(*at));
        let from: Vec<_> = steps.flat_map(|step| step.last().iter().copied()).collect();
        self.join_raw(&from, &vec![raw; from.len()])?;
        // A launch that runs no body may give the device no work.
        self.steps_mut().push(Step::new(Few::from([raw]), uses, false), direct);
        self.is_complete = true;
        Ok(Node::new(number, self.steps.list.len() - 1))
    }

    /// Adds a conditional node after nodes of the graph. Returns it with its bodies.
    #[track_caller]
    fn add_raw(
        &mut self,
        before: &[sys::cudaGraphNode_t],
        handle: sys::cudaGraphConditionalHandle,
        kind: Conditional,
    ) -> Result<(sys::cudaGraphNode_t, Vec<sys::cudaGraph_t>)> {
        let (type_, size) = kind.parts();
        let mut conditional = sys::cudaConditionalNodeParams::default();
        (conditional.handle, conditional.type_, conditional.size) = (handle, type_, size);
        let mut wanted =
            sys::cudaGraphNodeParams { type_: NodeKind::CONDITIONAL.as_raw(), ..Default::default() };
        wanted.__bindgen_anon_1.conditional = conditional;
        let _current = self.device().switch()?;
        let (graph, from, count) = (self.as_raw(), before.as_ptr(), before.len());
        let (mut node, node_params) = (ptr::null_mut(), &raw mut wanted);
        #[cfg(cudart_13_0)]
        // SAFETY: the graph and its `count` nodes are live, and the pointers are to live variables.
        unsafe { check!(cudaGraphAddNode(&raw mut node, graph, from, ptr::null(), count, node_params)) }?;
        #[cfg(not(cudart_13_0))]
        // SAFETY: as above.
        unsafe { check!(cudaGraphAddNode(&raw mut node, graph, from, count, node_params)) }?;
        // SAFETY: this is the member that was set above, and the call completed it.
        let bodies = unsafe { wanted.__bindgen_anon_1.conditional }.phGraph_out;
        // SAFETY: the call returned an array of `size` graphs, which lives as long as the node.
        let bodies = unsafe { slice::from_raw_parts(bodies, size.try_into().unwrap_or(0)) };
        Ok((node, bodies.to_vec()))
    }

    /// Refuses a graph in which adding a conditional node has failed.
    #[track_caller]
    pub(super) fn ensure_complete(&self, api: &'static str) -> Result<()> {
        let what = "a graph in which adding a conditional node failed";
        if self.is_complete { Ok(()) } else { Err(Error::refused(api, Detail::unsupported(what))) }
    }

    /// Refuses operations that CUDA does not support for graphs with memory or conditions of their own.
    #[track_caller]
    pub(super) fn ensure_can_be_copied(&self, api: &'static str) -> Result<()> {
        self.ensure_no_memory(api)?;
        let what = "this of a graph with a condition (Graph::condition)";
        if self.newest_condition > 0 { Err(Error::refused(api, Detail::unsupported(what))) } else { Ok(()) }
    }
}

/// Refuses a condition that an executable form of its graph does not know.
#[track_caller]
pub(super) fn ensure_older(condition: u64, newest: u64, api: &'static str) -> Result<()> {
    let what = "a condition that is newer than the executable graph";
    if condition <= newest { Ok(()) } else { Err(Error::refused(api, Detail::unsupported(what))) }
}

/// A body of a conditional node while its nodes are added. See [`Graph::add_conditional`].
///
/// It has the nodes that CUDA allows in bodies. All are for the graph's device. Memory of the graph's own
/// ([`GraphBuffer`](super::GraphBuffer)) is refused.
#[derive(Debug)]
pub struct Body<'g> {
    /// The node owns the raw graph.
    graph: Graph,
    node: PhantomData<&'g mut Graph>,
}

impl Body<'_> {
    /// [`Graph::add_empty`] in the body.
    ///
    /// # Errors
    /// Those of `Graph::add_empty`.
    #[doc(alias = "cudaGraphAddEmptyNode")]
    #[track_caller]
    pub fn add_empty(&mut self, after: &[Node]) -> Result<Node> {
        self.graph.add_empty(after)
    }

    /// [`Graph::add_memcpy`] in the body.
    ///
    /// # Errors
    /// Those of `Graph::add_memcpy`.
    #[doc(alias = "cudaGraphAddMemcpyNode1D")]
    #[track_caller]
    pub fn add_memcpy<D, S>(&mut self, after: &[Node], destination: &mut D, source: &S) -> Result<Node>
    where
        D: Destination<InGraph> + ?Sized,
        S: Source<InGraph, Element = D::Element> + ?Sized,
    {
        self.graph.add_memcpy(after, destination, source)
    }

    /// [`Graph::add_memset`] in the body.
    ///
    /// # Errors
    /// Those of `Graph::add_memset`.
    #[doc(alias = "cudaGraphAddMemsetNode")]
    #[track_caller]
    pub fn add_memset<D>(&mut self, after: &[Node], destination: &mut D, value: u8) -> Result<Node>
    where
        D: Destination<InGraph> + ?Sized,
    {
        self.graph.add_memset(after, destination, value)
    }

    /// [`Graph::add_kernel`] in the body. As in C, the kernel launches no kernels.
    ///
    /// # Errors
    /// Those of `Graph::add_kernel`.
    ///
    /// # Safety
    /// The duties are those of `Graph::add_kernel`.
    #[doc(alias = "cudaGraphAddKernelNode")]
    #[track_caller]
    pub unsafe fn add_kernel<P, A: Arguments<P>>(
        &mut self,
        after: &[Node],
        kernel: &Kernel<P>,
        config: impl Into<LaunchConfig>,
        arguments: A,
    ) -> Result<Node> {
        // SAFETY: the caller has the same duties.
        unsafe { self.graph.add_kernel(after, kernel, config, arguments) }
    }

    /// [`Graph::add_graph`] in the body, for example of a graph that was captured.
    ///
    /// # Errors
    /// `Unsupported` if the graph has nodes other than kernels, copies, fills and empty ones; those of
    /// `Graph::add_graph`.
    #[doc(alias = "cudaGraphAddChildGraphNode")]
    #[track_caller]
    pub fn add_graph(&mut self, after: &[Node], graph: &Graph) -> Result<Node> {
        let api = "Body::add_graph";
        stream::ensure_idle(api)?;
        for raw in graph.raw_nodes()? {
            let kind = kind_of(raw)?;
            if ![NodeKind::KERNEL, NodeKind::MEMCPY, NodeKind::MEMSET, NodeKind::EMPTY].contains(&kind) {
                let what = "a node in a body that is no kernel, copy, fill or empty node";
                return Err(Error::refused(api, Detail::unsupported(what)));
            }
        }
        self.graph.add_graph(after, graph)
    }

    /// [`Graph::condition`] for a conditional node in the body. The condition gets its first value at the
    /// beginning of each launch, not of each run of the body.
    ///
    /// # Errors
    /// Those of `Graph::condition`.
    #[doc(alias = "cudaGraphConditionalHandleCreate")]
    #[track_caller]
    pub fn condition(&mut self, first: u32) -> Result<Condition> {
        self.graph.condition(first)
    }

    /// [`Graph::add_conditional`] in the body.
    ///
    /// # Errors
    /// Those of `Graph::add_conditional`.
    #[doc(alias = "cudaGraphNodeTypeConditional")]
    #[track_caller]
    pub fn add_conditional(
        &mut self,
        after: &[Node],
        condition: &Condition,
        kind: Conditional,
        fill: impl FnMut(usize, &mut Body<'_>) -> Result<()>,
    ) -> Result<Node> {
        self.graph.add_conditional(after, condition, kind, fill)
    }
}
