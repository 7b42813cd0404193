//! Nodes that signal semaphores of other interfaces, and nodes that wait for them. The graph retains the
//! semaphores.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use super::executable::GraphExec;
use super::graph::Graph;
use super::nodes::kept;
use super::steps::Node;
use crate::error::Result;
use crate::hazard::{Access, RetainedAccesses};
use crate::memory::ExternalSemaphore;
use crate::memory::external::{Valued, handles, signals, waits};
use crate::{check, sys};

/// The lists of a node, which the runtime copies.
struct Lists<P> {
    semaphores: Vec<sys::cudaExternalSemaphore_t>,
    parameters: Vec<P>,
    uses: RetainedAccesses,
}

impl<P> Lists<P> {
    #[track_caller]
    fn new(api: &'static str, graph: &Graph, semaphores: &Valued<'_>, parameters: Vec<P>) -> Result<Self> {
        let accesses: Vec<Access<'_>> = semaphores.iter().map(|(semaphore, _)| semaphore.alive()).collect();
        let (list, uses) = (handles(api, graph.device(), semaphores)?, kept(api, &accesses)?);
        Ok(Self { semaphores: list, parameters, uses })
    }

    fn count(&self) -> u32 {
        u32::try_from(self.semaphores.len()).unwrap_or(u32::MAX)
    }
}

impl Lists<sys::cudaExternalSemaphoreSignalParams> {
    fn raw(&mut self) -> sys::cudaExternalSemaphoreSignalNodeParams {
        sys::cudaExternalSemaphoreSignalNodeParams {
            extSemArray: self.semaphores.as_mut_ptr(),
            paramsArray: self.parameters.as_ptr(),
            numExtSems: self.count(),
        }
    }
}

impl Lists<sys::cudaExternalSemaphoreWaitParams> {
    fn raw(&mut self) -> sys::cudaExternalSemaphoreWaitNodeParams {
        sys::cudaExternalSemaphoreWaitNodeParams {
            extSemArray: self.semaphores.as_mut_ptr(),
            paramsArray: self.parameters.as_ptr(),
            numExtSems: self.count(),
        }
    }
}

impl Graph {
    /// Adds a node that signals semaphores of the graph's device, each with its value. The graph retains
    /// them.
    ///
    /// Stands for
    /// [`cudaGraphAddExternalSemaphoresSignalNode`](sys::cudaGraphAddExternalSemaphoresSignalNode).
    ///
    /// # Errors
    /// `DeviceMismatch` for a semaphore of another device; those of [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddExternalSemaphoresSignalNode")]
    #[track_caller]
    pub fn add_semaphore_signal(
        &mut self,
        after: &[Node],
        semaphores: &[(&ExternalSemaphore, u64)],
    ) -> Result<Node> {
        let api = "Graph::add_semaphore_signal";
        let mut lists = Lists::new(api, self, semaphores, signals(semaphores))?;
        let raw = lists.raw();
        self.add(api, after, lists.uses, false, |node, graph, before, count| {
            // SAFETY: the graph and its `count` nodes are live, and the other pointers are to live variables.
            // The graph retains the semaphores.
            unsafe {
                check!(cudaGraphAddExternalSemaphoresSignalNode(node, graph, before, count, &raw const raw))
            }
        })
    }

    /// Adds a node that waits for semaphores of the graph's device, each with its value. The graph retains
    /// them.
    ///
    /// Stands for [`cudaGraphAddExternalSemaphoresWaitNode`](sys::cudaGraphAddExternalSemaphoresWaitNode). If
    /// nobody signals a semaphore, a launch waits for ever.
    ///
    /// # Errors
    /// Those of [`add_semaphore_signal`](Self::add_semaphore_signal).
    #[doc(alias = "cudaGraphAddExternalSemaphoresWaitNode")]
    #[track_caller]
    pub fn add_semaphore_wait(
        &mut self,
        after: &[Node],
        semaphores: &[(&ExternalSemaphore, u64)],
    ) -> Result<Node> {
        let api = "Graph::add_semaphore_wait";
        let mut lists = Lists::new(api, self, semaphores, waits(semaphores))?;
        let raw = lists.raw();
        self.add(api, after, lists.uses, false, |node, graph, before, count| {
            // SAFETY: as in `add_semaphore_signal`.
            unsafe {
                check!(cudaGraphAddExternalSemaphoresWaitNode(node, graph, before, count, &raw const raw))
            }
        })
    }

    /// Sets the semaphores that a node signals. Executable graphs that were made before do not change.
    ///
    /// Stands for [`cudaGraphExternalSemaphoresSignalNodeSetParams`](
    /// sys::cudaGraphExternalSemaphoresSignalNodeSetParams).
    ///
    /// # Errors
    /// Those of [`add_semaphore_signal`](Self::add_semaphore_signal) and of [`set_kernel`](Self::set_kernel).
    #[doc(alias = "cudaGraphExternalSemaphoresSignalNodeSetParams")]
    #[track_caller]
    pub fn set_semaphore_signal(
        &mut self,
        node: Node,
        semaphores: &[(&ExternalSemaphore, u64)],
    ) -> Result<()> {
        let api = "Graph::set_semaphore_signal";
        let mut lists = Lists::new(api, self, semaphores, signals(semaphores))?;
        let raw = lists.raw();
        self.set(api, node, lists.uses, |node| {
            // SAFETY: the node belongs to a live graph, which retains the semaphores.
            unsafe { check!(cudaGraphExternalSemaphoresSignalNodeSetParams(node, &raw const raw)) }
        })
    }

    /// Sets the semaphores that a node waits for. Executable graphs that were made before do not change.
    ///
    /// Stands for [`cudaGraphExternalSemaphoresWaitNodeSetParams`](
    /// sys::cudaGraphExternalSemaphoresWaitNodeSetParams).
    ///
    /// # Errors
    /// Those of [`set_semaphore_signal`](Self::set_semaphore_signal).
    #[doc(alias = "cudaGraphExternalSemaphoresWaitNodeSetParams")]
    #[track_caller]
    pub fn set_semaphore_wait(&mut self, node: Node, semaphores: &[(&ExternalSemaphore, u64)]) -> Result<()> {
        let api = "Graph::set_semaphore_wait";
        let mut lists = Lists::new(api, self, semaphores, waits(semaphores))?;
        let raw = lists.raw();
        self.set(api, node, lists.uses, |node| {
            // SAFETY: as in `set_semaphore_signal`.
            unsafe { check!(cudaGraphExternalSemaphoresWaitNodeSetParams(node, &raw const raw)) }
        })
    }
}

impl GraphExec {
    /// Sets the semaphores that a node signals, from the next launch on.
    ///
    /// Stands for [`cudaGraphExecExternalSemaphoresSignalNodeSetParams`](
    /// sys::cudaGraphExecExternalSemaphoresSignalNodeSetParams).
    ///
    /// # Errors
    /// Those of [`Graph::add_semaphore_signal`] and of [`set_kernel`](Self::set_kernel).
    #[doc(alias = "cudaGraphExecExternalSemaphoresSignalNodeSetParams")]
    #[track_caller]
    pub fn set_semaphore_signal(
        &mut self,
        graph: &Graph,
        node: Node,
        semaphores: &[(&ExternalSemaphore, u64)],
    ) -> Result<()> {
        let api = "GraphExec::set_semaphore_signal";
        let mut lists = Lists::new(api, graph, semaphores, signals(semaphores))?;
        let raw = lists.raw();
        self.set(api, graph, node, lists.uses, |exec, node| {
            // SAFETY: the executable graph, and the node of the graph that it was made from, are live. The
            // mutable borrow excludes launches. The semaphores are retained.
            unsafe { check!(cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, node, &raw const raw)) }
        })
    }

    /// Sets the semaphores that a node waits for, from the next launch on.
    ///
    /// Stands for [`cudaGraphExecExternalSemaphoresWaitNodeSetParams`](
    /// sys::cudaGraphExecExternalSemaphoresWaitNodeSetParams).
    ///
    /// # Errors
    /// Those of [`set_semaphore_signal`](Self::set_semaphore_signal).
    #[doc(alias = "cudaGraphExecExternalSemaphoresWaitNodeSetParams")]
    #[track_caller]
    pub fn set_semaphore_wait(
        &mut self,
        graph: &Graph,
        node: Node,
        semaphores: &[(&ExternalSemaphore, u64)],
    ) -> Result<()> {
        let api = "GraphExec::set_semaphore_wait";
        let mut lists = Lists::new(api, graph, semaphores, waits(semaphores))?;
        let raw = lists.raw();
        self.set(api, graph, node, lists.uses, |exec, node| {
            // SAFETY: as in `set_semaphore_signal`.
            unsafe { check!(cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec, node, &raw const raw)) }
        })
    }
}
