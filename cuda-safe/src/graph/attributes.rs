//! Attributes of kernels in graphs, flags of executable graphs, and the numbers that tools know graphs and nodes by.
#![expect(unsafe_code, reason = "asks the runtime about graphs, and changes attributes of kernels")]

use bitflags::bitflags;

use super::executable::GraphExec;
use super::graph::Graph;
use super::nodes::Node;
use crate::error::{Detail, Error, Result};
use crate::launch::LaunchAttributes;
use crate::{check, stream, sys};

bitflags! {
    /// How a graph is made executable.
    ///
    /// Left out are the flags for memory that no node frees, which [`Graph::instantiate`] refuses, for launches by kernels, and for
    /// uploading at once, which [`GraphExec::upload`] does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[doc(alias = "cudaGraphInstantiateFlags")]
    pub struct InstantiateFlags: u32 {
        /// Kernels have the priorities of their nodes, and not that of the stream.
        #[doc(alias = "cudaGraphInstantiateFlagUseNodePriority")]
        const USE_NODE_PRIORITY = sys::cudaGraphInstantiateFlagUseNodePriority.0;
    }
}

impl Graph {
    /// Has a node launch its kernel with these attributes; others of it stay as they are. Executable forms of the graph do what they did.
    ///
    /// Stands for [`cudaGraphKernelNodeSetAttribute`](sys::cudaGraphKernelNodeSetAttribute).
    ///
    /// # Errors
    /// `Unsupported` for a node that was captured or destroyed, or is of another graph, and for
    /// [`programmatic_stream_serialization`](LaunchAttributes::programmatic_stream_serialization); what the runtime fails with for a node of
    /// another kind, and for attributes that no node has: those that come before it are set.
    ///
    /// # Safety
    /// The duties of [`Kernel::launch_ex`](crate::launch::Kernel::launch_ex), for every launch of the graph.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::graph::InstantiateFlags;
    /// use cuda_safe::launch::{Kernel, LaunchAttributes};
    /// use cuda_safe::{DeviceBuffer, Graph, sys};
    ///
    /// # fn run(scale: Kernel<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    /// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 256])?;
    /// let mut graph = Graph::new()?;
    /// // SAFETY: the count is the buffer's, and the kernel is the same with any priority.
    /// let first = unsafe { graph.add_kernel(&[], &scale, (1, 256), (&mut data, 2.0, 256)) }?;
    /// let second = unsafe { graph.add_kernel(&[], &scale, (1, 256), (&mut data, 3.0, 256)) }?;
    /// unsafe { graph.set_kernel_attributes(first, &LaunchAttributes::new().priority(-1)) }?;
    /// unsafe { graph.copy_kernel_attributes(second, first) }?;
    /// let value = graph.kernel_attribute(second, sys::cudaLaunchAttributePriority)?;
    /// assert_eq!(unsafe { value.priority }, -1);
    /// let exec = graph.instantiate_with_flags(InstantiateFlags::USE_NODE_PRIORITY)?;
    /// assert_eq!(exec.flags()?, InstantiateFlags::USE_NODE_PRIORITY);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphKernelNodeSetAttribute")]
    #[track_caller]
    pub unsafe fn set_kernel_attributes(
        &mut self,
        node: Node,
        attributes: &LaunchAttributes<'_>,
    ) -> Result<()> {
        let api = "Graph::set_kernel_attributes";
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        if attributes.is_programmatic() {
            let what = "programmatic stream serialization in a graph, which orders its nodes by its edges";
            return Err(Error::refused(api, Detail::Unsupported { what }));
        }
        for attribute in attributes.as_raw() {
            let (id, value) = (attribute.id, &raw const attribute.val);
            // SAFETY: the node is one of a live graph, which nobody else changes meanwhile, and the value is of the attribute's type. What
            // the kernel does then is the caller's duty.
            unsafe { check!(cudaGraphKernelNodeSetAttribute(raw, id, value)) }?;
        }
        Ok(())
    }

    /// An attribute of the kernel of a node, as C has it: which member of the union is set, `attribute` says.
    ///
    /// Stands for [`cudaGraphKernelNodeGetAttribute`](sys::cudaGraphKernelNodeGetAttribute).
    ///
    /// # Errors
    /// Those of [`set_kernel_attributes`](Self::set_kernel_attributes).
    #[doc(alias = "cudaGraphKernelNodeGetAttribute")]
    #[track_caller]
    pub fn kernel_attribute(
        &self,
        node: Node,
        attribute: sys::cudaLaunchAttributeID,
    ) -> Result<sys::cudaLaunchAttributeValue> {
        let api = "Graph::kernel_attribute";
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        // SAFETY: the node is one of a live graph, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphKernelNodeGetAttribute(raw, attribute, &raw mut value)) }?;
        Ok(value)
    }

    /// Has a node launch its kernel with all attributes that another node's has.
    ///
    /// Stands for [`cudaGraphKernelNodeCopyAttributes`](sys::cudaGraphKernelNodeCopyAttributes).
    ///
    /// # Errors
    /// Those of [`set_kernel_attributes`](Self::set_kernel_attributes).
    ///
    /// # Safety
    /// The duties of [`set_kernel_attributes`](Self::set_kernel_attributes).
    #[doc(alias = "cudaGraphKernelNodeCopyAttributes")]
    #[track_caller]
    pub unsafe fn copy_kernel_attributes(&mut self, to: Node, from: Node) -> Result<()> {
        let api = "Graph::copy_kernel_attributes";
        stream::ensure_idle(api)?;
        let (_, to) = self.steps.added(api, self.number, to)?;
        let (_, from) = self.steps.added(api, self.number, from)?;
        // SAFETY: both nodes are of a live graph, which nobody else changes meanwhile. What the kernel does then is the caller's duty.
        unsafe { check!(cudaGraphKernelNodeCopyAttributes(to, from)) }
    }

    /// The number that profilers know the graph by.
    ///
    /// Stands for [`cudaGraphGetId`](sys::cudaGraphGetId), since CUDA 13.1.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u32> {
        stream::ensure_idle("Graph::id")?;
        let mut id = 0;
        // SAFETY: the graph is live, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphGetId(self.as_raw(), &raw mut id)) }?;
        Ok(id)
    }

    /// The number of a node among those of its graph: the same in copies and executable forms.
    ///
    /// Stands for [`cudaGraphNodeGetLocalId`](sys::cudaGraphNodeGetLocalId), since CUDA 13.1.
    ///
    /// # Errors
    /// `Unsupported` for a node that was captured or destroyed, or is of another graph; what the runtime fails with; a refusal inside
    /// a host function.
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphNodeGetLocalId")]
    #[track_caller]
    pub fn node_local_id(&self, node: Node) -> Result<u32> {
        let (api, mut id) = ("Graph::node_local_id", 0);
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        // SAFETY: the node is one of a live graph, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphNodeGetLocalId(raw, &raw mut id)) }?;
        Ok(id)
    }

    /// The number that profilers know a node by.
    ///
    /// Stands for [`cudaGraphNodeGetToolsId`](sys::cudaGraphNodeGetToolsId), since CUDA 13.1.
    ///
    /// # Errors
    /// Those of [`node_local_id`](Self::node_local_id).
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphNodeGetToolsId")]
    #[track_caller]
    pub fn node_tools_id(&self, node: Node) -> Result<u64> {
        let (api, mut id) = ("Graph::node_tools_id", 0);
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        // SAFETY: the node is one of a live graph, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphNodeGetToolsId(raw, &raw mut id)) }?;
        Ok(id)
    }
}

impl GraphExec {
    /// What the graph was made executable with, as the driver tells it: that of an H200 (580) leaves
    /// [`USE_NODE_PRIORITY`](InstantiateFlags::USE_NODE_PRIORITY) out.
    ///
    /// Stands for [`cudaGraphExecGetFlags`](sys::cudaGraphExecGetFlags).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaGraphExecGetFlags")]
    #[track_caller]
    pub fn flags(&self) -> Result<InstantiateFlags> {
        stream::ensure_idle("GraphExec::flags")?;
        let mut flags = 0;
        // SAFETY: the executable graph is live, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphExecGetFlags(self.as_raw(), &raw mut flags)) }?;
        Ok(InstantiateFlags::from_bits_retain(u32::try_from(flags).unwrap_or(u32::MAX)))
    }

    /// The number that profilers know the executable graph by.
    ///
    /// Stands for [`cudaGraphExecGetId`](sys::cudaGraphExecGetId), since CUDA 13.1.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphExecGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u32> {
        stream::ensure_idle("GraphExec::id")?;
        let mut id = 0;
        // SAFETY: the executable graph is live, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphExecGetId(self.as_raw(), &raw mut id)) }?;
        Ok(id)
    }
}
