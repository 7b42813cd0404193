//! Changes the operations of nodes, in graphs and in executable graphs: kernels, copies, fills and host
//! functions; and disables nodes of executable graphs.
//!
//! The methods of [`Graph`] and [`GraphExec`] correspond, with the same rules. Neither changes the other
//! form: executable graphs that were made before stay as they are, and so does the graph. Running launches
//! do not change. The graph that an executable graph was made from names the nodes and must be live.
#![expect(unsafe_code, reason = "changes nodes of raw graphs")]

use super::executable::GraphExec;
use super::graph::Graph;
use super::host::{self, HostFunction};
use super::nodes::{Makes, fill_parameters, kept, kernel_node};
use super::steps::Node;
use super::topology::{NodeKind, kind_of};
use crate::copy::{Destination, FillNode, InGraph, LinearNode, Operand, Source};
use crate::error::{AtCaller as _, Detail, Error, Result};
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
        let (api, of) = ("Graph::set_kernel", (self.device(), self.makes()));
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
        self.set_host("Graph::set_host_fn", node, RetainedAccesses::default(), f)
    }

    /// [`set_host_fn`](Self::set_host_fn) for a function with accesses.
    #[track_caller]
    pub(super) fn set_host(
        &mut self,
        api: &'static str,
        node: Node,
        uses: RetainedAccesses,
        f: impl Fn() + Send + Sync + 'static,
    ) -> Result<()> {
        stream::ensure_idle(api)?;
        let (at, _) = self.steps.added(api, self.number, node)?;
        let function = HostFunction::new(self.device(), f)?;
        let (fn_, data) = function.parts();
        // Owned before the node uses it, even if the call fails.
        let object = function.give_to(self.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        let set = self.set(api, node, uses, |node| {
            // SAFETY: the node belongs to a live graph, as in `set_kernel`. The graph owns the function.
            unsafe { check!(cudaGraphHostNodeSetParams(node, &raw const parameters)) }
        });
        self.or_let_go(set, object)?;
        let before =
            self.steps_mut().list.get_mut(at).and_then(|step| step.more_mut().function.replace(object));
        before.map_or(Ok(()), |before| self.let_go(before))
    }

    /// Releases a function if its node was refused before the call. After an error of the call a node may
    /// have it.
    #[track_caller]
    pub(super) fn or_let_go<T>(&self, done: Result<T>, object: sys::cudaUserObject_t) -> Result<T> {
        if done.as_ref().is_err_and(Error::is_refused) {
            self.let_go(object)?;
        }
        done
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
        let set = call(raw).at_caller();
        if self.steps.differs(at, &uses) {
            self.steps_mut().given(at, uses, set.is_ok());
        }
        set
    }
}

impl GraphExec {
    /// Sets the kernel launch of a node, from the next launch on. The values of the arguments are copied
    /// now.
    ///
    /// Stands for [`cudaGraphExecKernelNodeSetParams`](sys::cudaGraphExecKernelNodeSetParams).
    ///
    /// # Errors
    /// - `Unsupported` if the node was captured, was added after the executable graph was made, or belongs
    ///   to another graph.
    /// - `NodesUnordered` if the new memory conflicts with a node that is not ordered with this one.
    /// - Those of [`Graph::add_kernel`].
    /// - The runtime's error for a node of another kind.
    ///
    /// After an error the executable graph can still be launched.
    ///
    /// # Safety
    /// The duties are those of [`Graph::add_kernel`].
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
    /// let mut exec = graph.instantiate()?;
    /// exec.launch(&stream)?;
    /// unsafe { exec.set_kernel(&graph, node, &scale, (1, 256), (&mut data, 3.0, 256)) }?;
    /// exec.launch(&stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecKernelNodeSetParams")]
    #[doc(alias = "cudaGraphExecNodeSetParams")]
    #[track_caller]
    pub unsafe fn set_kernel<P, A: Arguments<P>>(
        &mut self,
        graph: &Graph,
        node: Node,
        kernel: &Kernel<P>,
        config: impl Into<LaunchConfig>,
        arguments: A,
    ) -> Result<()> {
        let api = "GraphExec::set_kernel";
        // A newer condition has no node here.
        let newest_condition = self.origin.as_ref().map_or(0, |origin| origin.newest_condition);
        kernel_node(
            api,
            (self.device(), Makes { newest_condition, ..graph.makes() }),
            kernel,
            config.into(),
            arguments,
            |uses, parameters| {
                self.set(api, graph, node, uses, |exec, node| {
                    // SAFETY: the executable graph, and the node of the graph that it was made from, are
                    // live. The mutable borrow excludes launches. Each parameter has a live value of the
                    // right type (`Arguments`), which the call copies. The memory among the values is
                    // retained. The caller is responsible for the kernel's actions.
                    unsafe { check!(cudaGraphExecKernelNodeSetParams(exec, node, parameters)) }
                })
            },
        )
    }

    /// Sets the copy of a node, from the next launch on: all elements of `source` to `destination`. The
    /// memory must be of the same kinds and devices as before.
    ///
    /// Stands for [`cudaGraphExecMemcpyNodeSetParams1D`](sys::cudaGraphExecMemcpyNodeSetParams1D).
    ///
    /// # Errors
    /// `Zero` if there are no elements; those of [`Graph::add_memcpy`] and of
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
    /// let mut exec = graph.instantiate()?;
    /// exec.set_memcpy(&graph, node, &mut to, &second)?;
    /// exec.launch(&stream)?;
    /// assert_eq!(to.to_vec()?, [3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecMemcpyNodeSetParams1D")]
    #[doc(alias = "cudaGraphExecMemcpyNodeSetParams")]
    #[doc(alias = "cudaGraphExecNodeSetParams")]
    #[track_caller]
    pub fn set_memcpy<D, S>(
        &mut self,
        graph: &Graph,
        node: Node,
        destination: &mut D,
        source: &S,
    ) -> Result<()>
    where
        D: Destination<InGraph> + ?Sized,
        S: Source<InGraph, Element = D::Element> + ?Sized,
    {
        let (to, from) =
            (destination.operand_mut()?.in_graph(graph.number)?, source.operand()?.in_graph(graph.number)?);
        self.set_copy("GraphExec::set_memcpy", graph, node, &to, &from)
    }

    /// [`set_memcpy`](Self::set_memcpy) for operands without types.
    #[track_caller]
    pub(super) fn set_copy(
        &mut self,
        api: &'static str,
        graph: &Graph,
        node: Node,
        to: &Operand<'_>,
        from: &Operand<'_>,
    ) -> Result<()> {
        let Some(copy) = LinearNode::new(api, to, from)? else { return Err(nothing(api)) };
        let uses = kept(api, &copy.accesses)?;
        let (to, from, bytes, kind) = (copy.to.cast(), copy.from.cast(), copy.bytes, copy.kind);
        self.set(api, graph, node, uses, |exec, node| {
            // SAFETY: the executable graph and the node are live, as in `set_kernel`. Both sides are memory
            // of `bytes` bytes, which is retained.
            unsafe { check!(cudaGraphExecMemcpyNodeSetParams1D(exec, node, to, from, bytes, kind)) }
        })
    }

    /// Sets the fill of a node, from the next launch on: every *byte* of the destination becomes `value`.
    /// The memory must be on the same device as before.
    ///
    /// Stands for [`cudaGraphExecMemsetNodeSetParams`](sys::cudaGraphExecMemsetNodeSetParams).
    ///
    /// # Errors
    /// `Zero` if there are no elements; those of [`Graph::add_memset`] and of
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
    /// let mut exec = graph.instantiate()?;
    /// exec.set_memset(&graph, node, &mut bytes.slice_mut(..2)?, 5)?;
    /// exec.launch(&stream)?;
    /// assert_eq!(bytes.to_vec()?, [5, 5, 0, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecMemsetNodeSetParams")]
    #[track_caller]
    pub fn set_memset<D>(&mut self, graph: &Graph, node: Node, destination: &mut D, value: u8) -> Result<()>
    where
        D: Destination<InGraph> + ?Sized,
    {
        let (api, to) = ("GraphExec::set_memset", destination.operand_mut()?.in_graph(graph.number)?);
        let Some(fill) = FillNode::new(&to) else { return Err(nothing(api)) };
        let uses = kept(api, &[fill.access])?;
        let parameters = fill_parameters(&fill, value);
        self.set(api, graph, node, uses, |exec, node| {
            // SAFETY: the executable graph and the node are live, as in `set_kernel`. The destination is
            // memory of the fill's size, which is retained.
            unsafe { check!(cudaGraphExecMemsetNodeSetParams(exec, node, &raw const parameters)) }
        })
    }

    /// Sets the host function of a node, from the next launch on.
    ///
    /// The function belongs to the executable graph. It is dropped some time after the last launch that
    /// calls it: when that launch is known to be complete and another function is set or dropped. Stands
    /// for [`cudaGraphExecHostNodeSetParams`](sys::cudaGraphExecHostNodeSetParams).
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
    /// let node = graph.add_host_fn(&[], || println!("first"))?;
    /// let mut exec = graph.instantiate()?;
    /// exec.launch(&stream)?;
    /// exec.set_host_fn(&graph, node, || println!("second"))?;
    /// exec.launch(&stream)?;
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecHostNodeSetParams")]
    #[track_caller]
    pub fn set_host_fn(
        &mut self,
        graph: &Graph,
        node: Node,
        f: impl Fn() + Send + Sync + 'static,
    ) -> Result<()> {
        self.set_host("GraphExec::set_host_fn", (graph, node), &RetainedAccesses::default(), f)
    }

    /// [`set_host_fn`](Self::set_host_fn) for a function with accesses.
    #[track_caller]
    pub(super) fn set_host(
        &mut self,
        api: &'static str,
        (graph, node): (&Graph, Node),
        memory: &RetainedAccesses,
        f: impl Fn() + Send + Sync + 'static,
    ) -> Result<()> {
        stream::ensure_idle(api)?;
        let (parameters, mut uses) = host::given(api, self.device(), f)?;
        uses.add_all(memory);
        self.set(api, graph, node, uses, |exec, node| {
            // SAFETY: the executable graph and the node are live, as in `set_kernel`. The function is
            // retained until no launch calls it.
            unsafe { check!(cudaGraphExecHostNodeSetParams(exec, node, &raw const parameters)) }
        })
    }

    /// Sets the operations of a child graph's nodes to those of another graph of the same shape, from the
    /// next launch on.
    ///
    /// Stands for [`cudaGraphExecChildGraphNodeSetParams`](sys::cudaGraphExecChildGraphNodeSetParams). Host
    /// functions are taken over as by [`update`](Self::update).
    ///
    /// # Errors
    /// - `Unsupported` if the graph has memory or conditions of its own.
    /// - `DeviceMismatch` if it is for another device.
    /// - Those of [`set_kernel`](Self::set_kernel).
    /// - The runtime's error for a graph of another shape.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4])?;
    /// let (mut ones, mut twos, mut graph) = (Graph::new()?, Graph::new()?, Graph::new()?);
    /// ones.add_memset(&[], &mut bytes, 1)?;
    /// twos.add_memset(&[], &mut bytes, 2)?;
    /// let node = graph.add_graph(&[], &ones)?;
    /// let mut exec = graph.instantiate()?;
    /// exec.set_graph(&graph, node, &twos)?;
    /// exec.launch(&stream)?;
    /// assert_eq!(bytes.to_vec()?, [2; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecChildGraphNodeSetParams")]
    #[track_caller]
    pub fn set_graph(&mut self, graph: &Graph, node: Node, within: &Graph) -> Result<()> {
        let api = "GraphExec::set_graph";
        stream::ensure_idle(api)?;
        within.device().ensure_is(self.device(), api, "the graph")?;
        within.ensure_can_be_copied(api)?;
        let mut uses = within.steps.uses();
        uses.add_all(&host::taken(api, &within.steps.functions())?);
        self.set(api, graph, node, uses, |exec, node| {
            // SAFETY: the executable graph, both graphs and the node are live, as in `set_kernel`. The
            // memory and functions that the other graph uses are retained.
            unsafe { check!(cudaGraphExecChildGraphNodeSetParams(exec, node, within.as_raw())) }
        })
    }

    /// Enables or disables a kernel or copy node. Launches skip a disabled node, but are still ordered by its
    /// accesses.
    ///
    /// Stands for [`cudaGraphNodeSetEnabled`](sys::cudaGraphNodeSetEnabled).
    ///
    /// # Errors
    /// - `Unsupported` for a fill. On driver 580, the launch of a graph with a disabled fill may crash, fail,
    ///   or run other nodes too early.
    /// - `Unsupported` if a node is to be disabled that was changed after the last launch. Driver 580 loses
    ///   the change if a launch skips the node. Disable the node first, and then change it.
    /// - Those of [`set_kernel`](Self::set_kernel); the runtime's error for nodes of other kinds.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Graph, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let (mut to, from) = (DeviceBuffer::from_slice(&[0; 4])?, DeviceBuffer::from_slice(&[1; 4])?);
    /// let mut graph = Graph::new()?;
    /// let node = graph.add_memcpy(&[], &mut to, &from)?;
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
        // SAFETY: the executable graph and the node are live, as in `set_kernel`.
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
    /// Stands for [`cudaGraphNodeGetEnabled`](sys::cudaGraphNodeGetEnabled).
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
        // SAFETY: the executable graph and the node are live, as in `set_kernel`. The pointer is to a live
        // variable, which the call fills.
        unsafe { check!(cudaGraphNodeGetEnabled(self.as_raw(), raw, &raw mut enabled)) }?;
        Ok(enabled != 0)
    }

    /// Changes the operation of a node to one with the accesses `uses`.
    #[track_caller]
    pub(super) fn set(
        &mut self,
        api: &'static str,
        graph: &Graph,
        node: Node,
        uses: RetainedAccesses,
        call: impl FnOnce(sys::cudaGraphExec_t, sys::cudaGraphNode_t) -> Result<()>,
    ) -> Result<()> {
        stream::ensure_idle(api)?;
        let (at, raw) = self.find(api, graph, node)?;
        let _current = self.device().switch()?;
        if let Some(origin) = &self.origin {
            origin.steps.ensure_have_memory_of(api, &graph.steps, &uses)?;
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
        let refused = |what| Error::refused(api, Detail::unsupported(what));
        let Some(origin) = &self.origin else {
            return Err(refused(
                "changing a node after GraphExec::update took another graph over, \
                 or one with other nodes or edges than it had, or failed: change \
                 that graph, and take it over",
            ));
        };
        if origin.graph != graph.number {
            return Err(refused("a graph that the executable one was not made of"));
        }
        // The graph may have destroyed the node since then.
        graph.steps.find(api, graph.number, node)?;
        origin.steps.added(api, graph.number, node)
    }
}

/// Returns the refusal of an operation without elements, which cannot replace another one.
#[track_caller]
pub(super) fn nothing(api: &'static str) -> Error {
    Error::refused(api, Detail::zero("the number of elements"))
}
