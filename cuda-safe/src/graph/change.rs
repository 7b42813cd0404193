//! Changes the operations of a graph's nodes: kernels, copies, fills and host functions. Executable graphs
//! that were made before do not change.
//!
//! The methods correspond to [`GraphExec::set_kernel`](super::GraphExec::set_kernel) and the others of an
//! executable graph, with the same rules.
#![expect(unsafe_code, reason = "changes nodes of raw graphs")]

use super::graph::Graph;
use super::host::HostFunction;
use super::nodes::{fill_parameters, kept, kernel_node};
use super::set::nothing;
use super::steps::Node;
use crate::copy::{Destination, FillNode, InGraph, LinearNode, Operand, Source};
use crate::error::Result;
use crate::hazard::RetainedAccesses;
use crate::launch::{Arguments, Kernel, LaunchConfig};
use crate::{check, stream, sys};

impl Graph {
    /// Sets the kernel launch of a node. The values of the arguments are copied now.
    ///
    /// Stands for [`cudaGraphKernelNodeSetParams`](sys::cudaGraphKernelNodeSetParams).
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured or destroyed, or belongs to another graph.
    /// - `NodesUnordered` if the new memory conflicts with a node that is not ordered with this one;
    ///   [`add_dependencies`](Self::add_dependencies) adds an order.
    /// - Those of [`add_kernel`](Self::add_kernel).
    /// - The runtime's error for a node of another kind.
    ///
    /// After an error the node is unchanged.
    ///
    /// # Safety
    /// The duties are those of [`add_kernel`](Self::add_kernel).
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::launch::Kernel;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn run(scale: Kernel<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 256])?;
    /// let mut graph = Graph::new()?;
    /// // SAFETY: the count is the buffer's, here and below.
    /// let node = unsafe { graph.add_kernel(&[], &scale, (1, 256), (&mut data, 2.0, 256)) }?;
    /// graph.instantiate()?.launch(&stream)?;
    /// unsafe { graph.set_kernel(node, &scale, (2, 128), (&mut data, 3.0, 256)) }?;
    /// graph.instantiate()?.launch(&stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphKernelNodeSetParams")]
    #[doc(alias = "cudaGraphNodeSetParams")]
    #[track_caller]
    pub unsafe fn set_kernel<P, A: Arguments<P>>(
        &mut self,
        node: Node,
        kernel: &Kernel<P>,
        config: impl Into<LaunchConfig>,
        arguments: A,
    ) -> Result<()> {
        let (api, of) = ("Graph::set_kernel", (self.device(), self.number));
        kernel_node(api, of, kernel, config.into(), arguments, |uses, parameters| {
            self.set(api, node, uses, |node| {
                // SAFETY: the node belongs to a live graph, which is borrowed mutably. Each parameter has a
                // live value of the right type (`Arguments`), which the call copies. The graph retains the
                // memory among the values. The caller is responsible for the kernel's actions.
                unsafe { check!(cudaGraphKernelNodeSetParams(node, parameters)) }
            })
        })
    }

    /// Sets the copy of a node: all elements of `source` to `destination`.
    ///
    /// Stands for [`cudaGraphMemcpyNodeSetParams1D`](sys::cudaGraphMemcpyNodeSetParams1D).
    ///
    /// # Errors
    /// `Zero` if there are no elements; those of [`add_memcpy`](Self::add_memcpy) and of
    /// [`set_kernel`](Self::set_kernel).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let (first, second) = (DeviceBuffer::from_slice(&[1, 2])?, DeviceBuffer::from_slice(&[3, 4])?);
    /// let mut to = DeviceBuffer::from_slice(&[0, 0])?;
    /// let mut graph = Graph::new()?;
    /// let node = graph.add_memcpy(&[], &mut to, &first)?;
    /// graph.set_memcpy(node, &mut to, &second)?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(to.to_vec()?, [3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphMemcpyNodeSetParams1D")]
    #[doc(alias = "cudaGraphMemcpyNodeSetParams")]
    #[doc(alias = "cudaGraphNodeSetParams")]
    #[track_caller]
    pub fn set_memcpy<D, S>(&mut self, node: Node, destination: &mut D, source: &S) -> Result<()>
    where
        D: Destination<InGraph> + ?Sized,
        S: Source<InGraph, Element = D::Element> + ?Sized,
    {
        let graph = self.number;
        let (to, from) = (destination.operand_mut()?.in_graph(graph)?, source.operand()?.in_graph(graph)?);
        self.set_copy("Graph::set_memcpy", node, &to, &from)
    }

    /// [`set_memcpy`](Self::set_memcpy) for operands without types.
    #[track_caller]
    pub(super) fn set_copy(
        &mut self,
        api: &'static str,
        node: Node,
        to: &Operand<'_>,
        from: &Operand<'_>,
    ) -> Result<()> {
        let Some(copy) = LinearNode::new(api, to, from)? else { return Err(nothing(api)) };
        let uses = kept(api, &copy.accesses)?;
        let (to, from, bytes, kind) = (copy.to.cast(), copy.from.cast(), copy.bytes, copy.kind);
        self.set(api, node, uses, |node| {
            // SAFETY: the node belongs to a live graph, as in `set_kernel`. Both sides are memory of
            // `bytes` bytes, which the graph retains.
            unsafe { check!(cudaGraphMemcpyNodeSetParams1D(node, to, from, bytes, kind)) }
        })
    }

    /// Sets the fill of a node: every *byte* of the destination becomes `value`.
    ///
    /// Stands for [`cudaGraphMemsetNodeSetParams`](sys::cudaGraphMemsetNodeSetParams).
    ///
    /// # Errors
    /// `Zero` if there are no elements; those of [`add_memset`](Self::add_memset) and of
    /// [`set_kernel`](Self::set_kernel).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    /// let mut graph = Graph::new()?;
    /// let node = graph.add_memset(&[], &mut bytes, 1)?;
    /// graph.set_memset(node, &mut bytes.slice_mut(..2)?, 5)?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(bytes.to_vec()?, [5, 5, 0, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphMemsetNodeSetParams")]
    #[doc(alias = "cudaGraphNodeSetParams")]
    #[track_caller]
    pub fn set_memset<D>(&mut self, node: Node, destination: &mut D, value: u8) -> Result<()>
    where
        D: Destination<InGraph> + ?Sized,
    {
        let (api, to) = ("Graph::set_memset", destination.operand_mut()?.in_graph(self.number)?);
        let Some(fill) = FillNode::new(&to) else { return Err(nothing(api)) };
        let uses = kept(api, &[fill.access])?;
        let parameters = fill_parameters(&fill, value);
        self.set(api, node, uses, |node| {
            // SAFETY: the node belongs to a live graph, as in `set_kernel`. The destination is memory of
            // the fill's size, which the graph retains.
            unsafe { check!(cudaGraphMemsetNodeSetParams(node, &raw const parameters)) }
        })
    }

    /// Sets the host function of a node. The previous function is dropped when no executable graph and no
    /// launch uses it.
    ///
    /// Stands for [`cudaGraphHostNodeSetParams`](sys::cudaGraphHostNodeSetParams).
    ///
    /// # Errors
    /// Those of [`set_kernel`](Self::set_kernel).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut graph = Graph::new()?;
    /// let node = graph.add_host_fn(&[], || println!("never called"))?;
    /// graph.set_host_fn(node, || println!("called"))?;
    /// graph.instantiate()?.launch(&stream)?;
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphHostNodeSetParams")]
    #[doc(alias = "cudaGraphNodeSetParams")]
    #[doc(alias = "cudaGraphReleaseUserObject")]
    #[track_caller]
    pub fn set_host_fn(&mut self, node: Node, f: impl Fn() + Send + Sync + 'static) -> Result<()> {
        let api = "Graph::set_host_fn";
        stream::ensure_idle(api)?;
        let (at, _) = self.steps.added(api, self.number, node)?;
        let function = HostFunction::new(self.device(), f)?;
        let (fn_, data) = function.parts();
        // Owned before the node uses it, even if the call fails.
        let object = function.give_to(self.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        self.set(api, node, RetainedAccesses::default(), |node| {
            // SAFETY: the node belongs to a live graph, as in `set_kernel`. The graph owns the function.
            unsafe { check!(cudaGraphHostNodeSetParams(node, &raw const parameters)) }
        })?;
        let before = self.steps.list.get_mut(at).and_then(|step| step.function.replace(object));
        before.map_or(Ok(()), |before| self.let_go(before))
    }

    /// Releases a function that no node of the graph calls any more.
    #[track_caller]
    pub(super) fn let_go(&self, object: sys::cudaUserObject_t) -> Result<()> {
        // SAFETY: the graph is live and has one reference to the object, for the node that called the
        // function.
        unsafe { check!(cudaGraphReleaseUserObject(self.as_raw(), object, 1)) }
    }

    /// Changes the operation of a node to one with the accesses `uses`.
    #[track_caller]
    pub(super) fn set(
        &mut self,
        api: &'static str,
        node: Node,
        uses: RetainedAccesses,
        call: impl FnOnce(sys::cudaGraphNode_t) -> Result<()>,
    ) -> Result<()> {
        stream::ensure_idle(api)?;
        let (at, raw) = self.steps.added(api, self.number, node)?;
        let _current = self.device().switch()?;
        self.steps.ensure_fits(api, at, &uses)?;
        let set = call(raw);
        self.steps.given(at, uses, set.is_ok());
        self.uses = self.steps.uses();
        set
    }
}
