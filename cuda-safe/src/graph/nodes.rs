//! Nodes that are added by hand.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use super::graph::Graph;
use super::host::HostFunction;
use super::slice;
use super::steps::{Order, Step};
use crate::copy::{FillNode, GraphDestination, GraphSource, LinearNode, Operand};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Uses};
use crate::launch::{Arguments, Kernel, LaunchConfig};
use crate::memory::retain;
use crate::{check, stream, sys};

/// A node of a graph, to name as what another one comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaGraphNode_t")]
pub struct Node {
    graph: u64,
    at: usize,
}

impl Node {
    /// The node with this number of the graph with that one.
    pub(super) fn new(graph: u64, at: usize) -> Self {
        Self { graph, at }
    }

    /// Its number.
    pub(super) fn at(self) -> usize {
        self.at
    }

    /// Its number, if it is one of this graph.
    pub(super) fn of(self, graph: u64) -> Option<usize> {
        (self.graph == graph).then_some(self.at)
    }
}

/// Where the runtime is to put a node.
pub(super) struct NodePlace {
    pub(super) graph: sys::cudaGraph_t,
    pub(super) before: *const sys::cudaGraphNode_t,
    pub(super) count: usize,
}

impl Graph {
    /// Adds a node that comes after others, and after all earlier ones that it conflicts with. `acts` says whether it gives the device
    /// something to do.
    #[track_caller]
    pub(super) fn add(
        &mut self,
        api: &'static str,
        after: &[Node],
        uses: Uses,
        acts: bool,
        make: impl FnOnce(*mut sys::cudaGraphNode_t, NodePlace) -> Result<()>,
    ) -> Result<Node> {
        stream::ensure_idle(api)?;
        let Order { direct, before } = self.steps.order(api, self.number, after, &uses)?;
        let raws: Vec<sys::cudaGraphNode_t> = direct
            .iter()
            .filter_map(|at| self.steps.get(*at))
            .flat_map(|step| step.raws.iter().copied())
            .collect();
        let _current = self.device().switch()?;
        let mut raw = std::ptr::null_mut();
        // Retained before there is a node, and whatever comes of that.
        self.uses.add_all(&uses);
        let place = NodePlace { graph: self.as_raw(), before: raws.as_ptr(), count: raws.len() };
        if let Err(error) = make(&raw mut raw, place) {
            self.steps.failed(&uses);
            return Err(error);
        }
        self.acts |= acts;
        self.steps.push(Step::added(raw, uses, Order { direct, before }, acts));
        Ok(Node { graph: self.number, at: self.steps.list.len() - 1 })
    }

    /// Adds a node that does nothing: a place to come before and after others.
    ///
    /// Stands for [`cudaGraphAddEmptyNode`](sys::cudaGraphAddEmptyNode).
    ///
    /// # Errors
    /// `Unsupported` for a node of another graph; what the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaGraphAddEmptyNode")]
    #[track_caller]
    pub fn add_empty(&mut self, after: &[Node]) -> Result<Node> {
        self.add("Graph::add_empty", after, Uses::default(), false, |node, place| {
            // SAFETY: graph and nodes are live, there are as many as is said, and the pointer is to a live variable.
            unsafe { check!(cudaGraphAddEmptyNode(node, place.graph, place.before, place.count)) }
        })
    }

    /// Adds the copy of all elements of `source` to `destination`, of one device or with pinned memory. No elements, an empty node.
    ///
    /// It comes after the nodes in `after`, and after every earlier one that it conflicts with. Stands for
    /// [`cudaGraphAddMemcpyNode1D`](sys::cudaGraphAddMemcpyNode1D).
    ///
    /// # Errors
    /// Those of [`memcpy_async`](crate::memcpy_async) and of [`add_empty`](Self::add_empty); `NotKept` for memory that the graph
    /// cannot hold on to; `Unsupported` between devices.
    #[doc(alias = "cudaGraphAddMemcpyNode1D")]
    #[doc(alias = "cudaGraphAddMemcpyNode")]
    #[doc(alias = "cudaGraphAddNode")]
    #[track_caller]
    pub fn add_memcpy<D, S>(&mut self, after: &[Node], destination: &mut D, source: &S) -> Result<Node>
    where
        D: GraphDestination + ?Sized,
        S: GraphSource<Element = D::Element> + ?Sized,
    {
        let (to, from) = (destination.operand_mut_in(self.number)?, source.operand_in(self.number)?);
        self.add_copy("Graph::add_memcpy", after, &to, &from)
    }

    /// [`add_memcpy`](Self::add_memcpy) without types.
    #[track_caller]
    pub(super) fn add_copy(
        &mut self,
        api: &'static str,
        after: &[Node],
        to: &Operand<'_>,
        from: &Operand<'_>,
    ) -> Result<Node> {
        let Some(copy) = LinearNode::new(api, to, from)? else { return self.add_empty(after) };
        let uses = kept(api, &copy.accesses)?;
        self.add(api, after, uses, true, |node, place| {
            // SAFETY: graph and nodes are live, there are as many as is said, and the pointer is to a live variable. Both sides
            // are memory of so many bytes, which the graph keeps.
            unsafe {
                check!(cudaGraphAddMemcpyNode1D(
                    node,
                    place.graph,
                    place.before,
                    place.count,
                    copy.to.cast(),
                    copy.from.cast(),
                    copy.bytes,
                    copy.kind
                ))
            }
        })
    }

    /// Adds the filling of every *byte* of the destination with `value`. No elements, an empty node.
    ///
    /// It comes after the nodes in `after`, and after every earlier one that it conflicts with. Stands for
    /// [`cudaGraphAddMemsetNode`](sys::cudaGraphAddMemsetNode).
    ///
    /// # Errors
    /// Those of [`add_empty`](Self::add_empty); `NotKept` for memory that the graph cannot hold on to.
    #[doc(alias = "cudaGraphAddMemsetNode")]
    #[track_caller]
    pub fn add_memset<D>(&mut self, after: &[Node], destination: &mut D, value: u8) -> Result<Node>
    where
        D: GraphDestination + ?Sized,
    {
        let (api, to) = ("Graph::add_memset", destination.operand_mut_in(self.number)?);
        let Some(fill) = FillNode::new(&to) else { return self.add_empty(after) };
        let uses = kept(api, &[fill.access])?;
        let parameters = fill_parameters(&fill, value);
        self.add(api, after, uses, true, |node, place| {
            // SAFETY: graph and nodes are live, there are as many as is said, and the pointers are to live variables. The
            // destination is memory of so many bytes, which the graph keeps.
            unsafe {
                check!(cudaGraphAddMemsetNode(
                    node,
                    place.graph,
                    place.before,
                    place.count,
                    &raw const parameters
                ))
            }
        })
    }

    /// Adds the call of a function on the host by every launch. The function belongs to the graph, as that of
    /// [`Capture::host_fn`](super::Capture::host_fn) does.
    ///
    /// Stands for [`cudaGraphAddHostNode`](sys::cudaGraphAddHostNode).
    ///
    /// # Errors
    /// Those of [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddHostNode")]
    #[track_caller]
    pub fn add_host_fn(&mut self, after: &[Node], f: impl Fn() + Send + Sync + 'static) -> Result<Node> {
        stream::ensure_idle("Graph::add_host_fn")?;
        let function = HostFunction::new(self.device(), f)?;
        let (fn_, data) = function.parts();
        // Owned before there is a node, and whatever comes of that.
        let object = function.give_to(self.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        let node = self.add("Graph::add_host_fn", after, Uses::default(), true, |node, place| {
            // SAFETY: graph and nodes are live, there are as many as is said, and the pointers are to live variables. The graph
            // owns the function.
            unsafe {
                check!(cudaGraphAddHostNode(
                    node,
                    place.graph,
                    place.before,
                    place.count,
                    &raw const parameters
                ))
            }
        })?;
        if let Some(step) = self.steps.list.get_mut(node.at) {
            step.function = Some(object);
        }
        Ok(node)
    }

    /// Adds one run of a kernel. The values of the arguments are copied now.
    ///
    /// It comes after the nodes in `after`, and after every earlier one that conflicts with the memory among its arguments. Stands for
    /// [`cudaGraphAddKernelNode`](sys::cudaGraphAddKernelNode).
    ///
    /// # Errors
    /// Those of [`Kernel::launch`] and of [`add_empty`](Self::add_empty); `NotKept` for memory that the graph cannot hold on to.
    ///
    /// # Safety
    /// The duties of [`Kernel::launch`], for every launch of the graph: memory behind raw pointers lives as long as the graph and its
    /// executable forms, and launches of the graph are ordered with other uses of it.
    #[doc(alias = "cudaGraphAddKernelNode")]
    #[doc(alias = "cudaGraphAddNode")]
    #[track_caller]
    pub unsafe fn add_kernel<P, A: Arguments<P>>(
        &mut self,
        after: &[Node],
        kernel: &Kernel<P>,
        config: impl Into<LaunchConfig>,
        arguments: A,
    ) -> Result<Node> {
        let api = "Graph::add_kernel";
        kernel_node(
            api,
            (self.device(), self.number),
            kernel,
            config.into(),
            arguments,
            |uses, parameters| {
                self.add(api, after, uses, true, |node, place| {
                    // SAFETY: graph and nodes are live, there are as many as is said, and the pointers are to live variables. There is
                    // a live value of the right type for each parameter (`Arguments`), copied by the call, and the graph keeps the
                    // memory among them; what the kernel does is the caller's duty.
                    unsafe {
                        check!(cudaGraphAddKernelNode(
                            node,
                            place.graph,
                            place.before,
                            place.count,
                            parameters
                        ))
                    }
                })
            },
        )
    }

    /// Adds all of another graph, as it is now, as one node. Its memory and host functions are held in common.
    ///
    /// It comes after the nodes in `after`, and after every earlier one that it conflicts with. Stands for
    /// [`cudaGraphAddChildGraphNode`](sys::cudaGraphAddChildGraphNode).
    ///
    /// # Errors
    /// `DeviceMismatch` for a graph of another device; `Unsupported` for one with memory of its own; those of
    /// [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddChildGraphNode")]
    #[track_caller]
    pub fn add_graph(&mut self, after: &[Node], graph: &Graph) -> Result<Node> {
        let api = "Graph::add_graph";
        let (found, needed) = (graph.device().ordinal(), self.device().ordinal());
        if found != needed {
            return Err(Error::refused(api, Detail::DeviceMismatch { what: "the graph", found, needed }));
        }
        graph.ensure_no_memory(api)?;
        let node = self.add(api, after, graph.uses.clone(), graph.acts, |node, place| {
            // SAFETY: both graphs and the nodes are live, there are as many as is said, and the pointer is to a live variable.
            unsafe {
                check!(cudaGraphAddChildGraphNode(
                    node,
                    place.graph,
                    place.before,
                    place.count,
                    graph.as_raw()
                ))
            }
        })?;
        if let Some(step) = self.steps.list.get_mut(node.at) {
            step.functions = graph.steps.functions().into();
        }
        Ok(node)
    }
}

/// What a node uses.
#[track_caller]
pub(super) fn kept(api: &'static str, accesses: &[Access<'_>]) -> Result<Uses> {
    let mut uses = Uses::default();
    if accesses.iter().all(|access| uses.add(access, || retain(access))) {
        Ok(uses)
    } else {
        Err(Error::refused(api, Detail::NotKept))
    }
}

/// What the runtime wants to know about a fill.
pub(super) fn fill_parameters(fill: &FillNode<'_>, value: u8) -> sys::cudaMemsetParams {
    sys::cudaMemsetParams {
        dst: fill.to.cast(),
        pitch: 0,
        value: value.into(),
        elementSize: 1,
        width: fill.bytes,
        height: 1,
    }
}

/// Has a node be made of what a launch of this kernel uses and of what the runtime wants to know about it, which is there for the call only.
#[track_caller]
pub(super) fn kernel_node<P, A: Arguments<P>, R>(
    api: &'static str,
    (device, graph): (Device, u64),
    kernel: &Kernel<P>,
    config: LaunchConfig,
    arguments: A,
    make: impl FnOnce(Uses, &sys::cudaKernelNodeParams) -> Result<R>,
) -> Result<R> {
    config.check(kernel.name())?;
    let shared = u32::try_from(config.shared_bytes).unwrap_or(u32::MAX);
    // Memory of the graph's own may be among the arguments, here and nowhere else.
    let _made = slice::make_nodes_of(graph);
    arguments.with(device, |accesses, values| {
        let parameters = sys::cudaKernelNodeParams {
            func: kernel.as_raw().cast_mut(),
            gridDim: config.grid.into(),
            blockDim: config.block.into(),
            sharedMemBytes: shared,
            kernelParams: values.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        let uses = kernel.reaching(device, accesses, |accesses| kept(api, accesses))?;
        make(uses, &parameters)
    })
}
