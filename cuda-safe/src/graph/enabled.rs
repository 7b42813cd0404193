//! Disables nodes of executable graphs.
#![expect(unsafe_code, reason = "disables nodes of raw executable graphs")]

use super::executable::GraphExec;
use super::graph::Graph;
use super::identity::Node;
use super::topology::{NodeKind, kind_of};
use crate::error::{Detail, Error, Result};
use crate::{check, stream};

impl GraphExec {
    /// Enables or disables a kernel or copy node. Launches skip a disabled node, but are still ordered by its
    /// accesses.
    ///
    /// Stands for [`cudaGraphNodeSetEnabled`](crate::sys::cudaGraphNodeSetEnabled).
    ///
    /// # Errors
    /// - `Unsupported` for a fill. On driver 580, the launch of a graph with a disabled fill may crash, fail,
    ///   or run other nodes too early.
    /// - `Unsupported` if a node is to be disabled that was changed after the last launch. Driver 580 loses
    ///   the change if a launch skips the node. Disable the node first, and then change it.
    /// - Those of [`set`](Self::set); the runtime's error for nodes of other kinds.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let (mut to, from) = (DeviceBuffer::from_slice(&[0; 4])?, DeviceBuffer::from_slice(&[1; 4])?);
    /// let mut graph = Graph::new()?;
    /// let node = graph.add(&[], node::memcpy(&mut to, &from))?;
    /// let mut exec = graph.instantiate()?;
    /// exec.set_enabled(&graph, node, false)?;
    /// assert!(!exec.is_enabled(&graph, node)?);
    /// exec.launch(&stream)?;
    /// assert_eq!(to.to_vec()?, [0; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphNodeSetEnabled")]
    #[track_caller]
    pub fn set_enabled(&mut self, graph: &Graph, node: Node, enabled: bool) -> Result<()> {
        let api = "GraphExec::set_enabled";
        stream::ensure_idle(api)?;
        let (at, raw) = self.find(api, graph, node)?;
        if kind_of(raw)? == NodeKind::MEMSET {
            let what =
                "enabling or disabling a fill, which driver 580 cannot skip (a kernel or a copy can be),";
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        if !enabled && self.origin.as_ref().is_some_and(|origin| origin.unlaunched.contains(&at)) {
            let what =
                "disabling a node that was changed after the last launch (disable it first, then change it)";
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        let exec = self.as_raw();
        // SAFETY: the executable graph and the node are live, as the borrows show.
        unsafe { check!(cudaGraphNodeSetEnabled(exec, raw, u32::from(enabled))) }?;
        if let Some(origin) = &mut self.origin {
            if enabled {
                origin.disabled.remove(&at);
            } else {
                origin.disabled.insert(at);
            }
            let mut steps = origin.steps.list.iter().enumerate();
            let acts = steps.any(|(at, step)| step.acts && !origin.disabled.contains(&at));
            self.acts = acts && !self.skips;
        }
        Ok(())
    }

    /// Returns whether a kernel, copy or fill node is enabled. A fill always is.
    ///
    /// Stands for [`cudaGraphNodeGetEnabled`](crate::sys::cudaGraphNodeGetEnabled).
    ///
    /// # Errors
    /// Those of [`set_enabled`](Self::set_enabled).
    #[doc(alias = "cudaGraphNodeGetEnabled")]
    #[track_caller]
    pub fn is_enabled(&self, graph: &Graph, node: Node) -> Result<bool> {
        let api = "GraphExec::is_enabled";
        stream::ensure_idle(api)?;
        let (_, raw) = self.find(api, graph, node)?;
        let mut enabled = 0;
        // SAFETY: the executable graph and the node are live, as the borrows show. The pointer is to a live
        // variable, which the call fills.
        unsafe { check!(cudaGraphNodeGetEnabled(self.as_raw(), raw, &raw mut enabled)) }?;
        Ok(enabled != 0)
    }
}
