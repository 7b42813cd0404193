//! What nodes of a graph do from now on: other kernels, copies, fills and functions. Executable forms that it has do what they did.
//!
//! The counterparts of [`GraphExec::set_kernel`](super::GraphExec::set_kernel) and its like, with the same rules.
#![expect(unsafe_code, reason = "changes nodes of raw graphs")]

use super::graph::Graph;
use super::host::HostFunction;
use super::nodes::{Node, fill_parameters, kept, kernel_node};
use super::set::nothing;
use crate::copy::{Destination, FillNode, InGraph, LinearNode, Operand, Source};
use crate::error::Result;
use crate::hazard::Uses;
use crate::launch::{Arguments, Kernel, LaunchConfig};
use crate::{check, stream, sys};

impl Graph {
    /// Has a node run a kernel like this. The values of the arguments are copied now.
    ///
    /// Stands for [`cudaGraphKernelNodeSetParams`](sys::cudaGraphKernelNodeSetParams).
    ///
    /// # Errors
    /// `Unsupported` for a node that was captured or destroyed, or is of another graph; `NodesUnordered` for memory that conflicts with
    /// a node which nothing orders this one with: [`add_dependencies`](Self::add_dependencies) does; those of
    /// [`add_kernel`](Self::add_kernel). The runtime refuses nodes of another kind. The node is then as it was.
    ///
    /// # Safety
    /// The duties of [`add_kernel`](Self::add_kernel).
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
                // SAFETY: the node is one of a live graph, which nobody else changes meanwhile. There is a live value of the right
                // type for each parameter (`Arguments`), copied by the call, and the memory among them is kept; what the kernel does
                // is the caller's duty.
                unsafe { check!(cudaGraphKernelNodeSetParams(node, parameters)) }
            })
        })
    }

    /// Has a node copy all elements of `source` to `destination`.
    ///
    /// Stands for [`cudaGraphMemcpyNodeSetParams1D`](sys::cudaGraphMemcpyNodeSetParams1D).
    ///
    /// # Errors
    /// `Zero` for no elements; those of [`add_memcpy`](Self::add_memcpy) and of [`set_kernel`](Self::set_kernel).
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

    /// [`set_memcpy`](Self::set_memcpy) without types.
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
            // SAFETY: the node is one of a live graph, as in `set_kernel`. Both sides are memory of so many bytes, which is kept.
            unsafe { check!(cudaGraphMemcpyNodeSetParams1D(node, to, from, bytes, kind)) }
        })
    }

    /// Has a node fill every *byte* of the destination with `value`.
    ///
    /// Stands for [`cudaGraphMemsetNodeSetParams`](sys::cudaGraphMemsetNodeSetParams).
    ///
    /// # Errors
    /// `Zero` for no elements; those of [`add_memset`](Self::add_memset) and of [`set_kernel`](Self::set_kernel).
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
            // SAFETY: the node is one of a live graph, as in `set_kernel`. The destination is memory of so many bytes, which is kept.
            unsafe { check!(cudaGraphMemsetNodeSetParams(node, &raw const parameters)) }
        })
    }

    /// Has a node call another function on the host. The one that it called is dropped when no executable form and no launch has it.
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
        // Owned before the node has it, and whatever comes of that.
        let object = function.give_to(self.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        self.set(api, node, Uses::default(), |node| {
            // SAFETY: the node is one of a live graph, as in `set_kernel`. The graph owns the function.
            unsafe { check!(cudaGraphHostNodeSetParams(node, &raw const parameters)) }
        })?;
        let before = self.steps.list.get_mut(at).and_then(|step| step.function.replace(object));
        before.map_or(Ok(()), |before| self.let_go(before))
    }

    /// Lets a function go that no node of the graph calls any more.
    #[track_caller]
    pub(super) fn let_go(&self, object: sys::cudaUserObject_t) -> Result<()> {
        // SAFETY: the graph is live and has one reference to the object, by the node that called the function.
        unsafe { check!(cudaGraphReleaseUserObject(self.as_raw(), object, 1)) }
    }

    /// Has a node do something else, which uses this.
    #[track_caller]
    pub(super) fn set(
        &mut self,
        api: &'static str,
        node: Node,
        uses: Uses,
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
