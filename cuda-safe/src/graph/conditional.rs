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
#![expect(unsafe_code, reason = "makes conditions of raw graphs, and passes them to kernels")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::graph::Graph;
use super::identity::making;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory};
use crate::launch::{ConditionalHandle, KernelArg};
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
    pub(super) raw: sys::cudaGraphConditionalHandle,
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
    pub(super) fn written(&self) -> Access<'_> {
        Access::write(&self.owner.history, 0..size_of::<u32>())
    }

    /// Whether a conditional node has the condition.
    pub(super) fn has_node(&self) -> &AtomicBool {
        &self.owner.has_node
    }

    #[track_caller]
    pub(super) fn ensure_of(&self, root: u64, api: &'static str) -> Result<()> {
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

    pub(super) fn parts(self) -> (sys::cudaGraphConditionalNodeType, u32) {
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

    /// Refuses a graph in which adding a node has failed half-way.
    #[track_caller]
    pub(super) fn ensure_complete(&self, api: &'static str) -> Result<()> {
        let what = "a graph in which adding a node failed half-way";
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
