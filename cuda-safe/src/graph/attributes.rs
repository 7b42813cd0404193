//! Attributes of kernel nodes, and the ids of graphs and nodes in tools.
#![expect(unsafe_code, reason = "asks the runtime about graphs, and changes attributes of kernels")]

use super::graph::Graph;
use super::identity::Node;
use crate::error::Result;
use crate::{check, stream, sys};

impl Graph {
    /// Returns an attribute of a kernel node as C's union. `attribute` determines which member is set.
    ///
    /// Stands for [`cudaGraphKernelNodeGetAttribute`](sys::cudaGraphKernelNodeGetAttribute).
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured or destroyed, or belongs to another graph.
    /// - The runtime's error for a node of another kind, and for attributes that no node has.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::graph::{InstantiateFlags, node};
    /// use cuda_safe::launch::{Kernel, LaunchConfig};
    /// use cuda_safe::{DeviceBuffer, Graph, sys};
    ///
    /// # fn run(scale: Kernel<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    /// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 256])?;
    /// let mut graph = Graph::new()?;
    /// let soon = LaunchConfig::new(1, 256).priority(-1);
    /// // SAFETY: the count is the buffer's, and the kernel is correct with any priority.
    /// let first = unsafe { graph.add(&[], node::kernel(&scale, soon, (&mut data, 2.0, 256))) }?;
    /// let second = unsafe { graph.add(&[], node::kernel(&scale, (1, 256), (&mut data, 3.0, 256))) }?;
    /// unsafe { graph.copy_kernel_attributes(second, first) }?;
    /// let value = graph.kernel_attribute(second, sys::cudaLaunchAttributePriority)?;
    /// assert_eq!(unsafe { value.priority }, -1);
    /// let exec = graph.instantiate_with_flags(InstantiateFlags::USE_NODE_PRIORITY)?;
    /// assert_eq!(exec.flags()?, InstantiateFlags::USE_NODE_PRIORITY);
    /// # Ok(())
    /// # }
    /// ```
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
        // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call
        // fills.
        unsafe { check!(cudaGraphKernelNodeGetAttribute(raw, attribute, &raw mut value)) }?;
        Ok(value)
    }

    /// Copies all attributes of one kernel node to another.
    ///
    /// Stands for [`cudaGraphKernelNodeCopyAttributes`](sys::cudaGraphKernelNodeCopyAttributes).
    ///
    /// # Errors
    /// Those of [`kernel_attribute`](Self::kernel_attribute).
    ///
    /// # Safety
    /// The duties of [`node::kernel`](super::node::kernel) hold with the attributes: for the node's kernel,
    /// and for each kernel that the node gets later.
    #[doc(alias = "cudaGraphKernelNodeCopyAttributes")]
    #[track_caller]
    pub unsafe fn copy_kernel_attributes(&mut self, to: Node, from: Node) -> Result<()> {
        let api = "Graph::copy_kernel_attributes";
        stream::ensure_idle(api)?;
        let (_, to) = self.steps.added(api, self.number, to)?;
        let (_, from) = self.steps.added(api, self.number, from)?;
        // SAFETY: both nodes belong to a live graph, which is borrowed mutably. The caller guarantees that
        // the kernel is sound with the attributes.
        unsafe { check!(cudaGraphKernelNodeCopyAttributes(to, from)) }
    }

    /// Returns the id of the graph in profilers.
    ///
    /// Stands for [`cudaGraphGetId`](sys::cudaGraphGetId), since CUDA 13.1.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u32> {
        stream::ensure_idle("Graph::id")?;
        let mut id = 0;
        // SAFETY: the graph is live. The pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphGetId(self.as_raw(), &raw mut id)) }?;
        Ok(id)
    }

    /// Returns the number of a node inside its graph. Copies and executable forms of the graph use the same
    /// number.
    ///
    /// Stands for [`cudaGraphNodeGetLocalId`](sys::cudaGraphNodeGetLocalId), since CUDA 13.1.
    ///
    /// # Errors
    /// `Unsupported` if the node was captured or destroyed, or belongs to another graph. Otherwise returns
    /// the runtime's error. Refused inside a host function.
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphNodeGetLocalId")]
    #[track_caller]
    pub fn node_local_id(&self, node: Node) -> Result<u32> {
        let (api, mut id) = ("Graph::node_local_id", 0);
        stream::ensure_idle(api)?;
        let (_, raw) = self.steps.added(api, self.number, node)?;
        // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call
        // fills.
        unsafe { check!(cudaGraphNodeGetLocalId(raw, &raw mut id)) }?;
        Ok(id)
    }

    /// Returns the id of a node in profilers.
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
        // SAFETY: the node belongs to a live graph. The pointer is to a live variable, which the call
        // fills.
        unsafe { check!(cudaGraphNodeGetToolsId(raw, &raw mut id)) }?;
        Ok(id)
    }
}
