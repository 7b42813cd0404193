//! Adds nodes to graphs.
#![expect(unsafe_code, reason = "adds nodes to raw graphs")]

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;

use cuda_hazard::Few;

use super::graph::Graph;
use super::host::HostFunction;
use super::steps::{Node, Step};
use crate::copy::{Destination, FillNode, InGraph, LinearNode, Operand, Source};
use crate::device::Device;
use crate::error::{AtCaller as _, Detail, Error, Result};
use crate::hazard::{Access, RetainedAccesses};
use crate::launch::{Arguments, Kernel, LaunchConfig};
use crate::memory::retain;
use crate::{check, stream, sys};

impl Graph {
    /// Adds a node after the nodes in `after` and after all earlier nodes that it conflicts with. `acts`
    /// tells whether the node gives the device work.
    #[track_caller]
    pub(super) fn add(
        &mut self,
        api: &'static str,
        after: &[Node],
        uses: RetainedAccesses,
        acts: bool,
        make: impl FnOnce(
            *mut sys::cudaGraphNode_t,
            sys::cudaGraph_t,
            *const sys::cudaGraphNode_t,
            usize,
        ) -> Result<()>,
    ) -> Result<Node> {
        stream::ensure_idle(api)?;
        let (graph, device) = (self.as_raw(), self.device());
        let steps = Arc::make_mut(&mut self.steps);
        let direct = steps.order(api, self.number, after, &uses)?;
        let mut before = Few::default();
        for step in direct.iter().filter_map(|at| steps.get(*at)) {
            step.last().iter().for_each(|raw| before.push(*raw));
        }
        let _current = device.switch()?;
        let mut raw = std::ptr::null_mut();
        // The memory is retained before the node exists, even if the call fails.
        if let Err(error) = make(&raw mut raw, graph, before.as_ptr(), before.len()) {
            steps.failed(&uses);
            return Err(error.at(Location::caller()));
        }
        self.acts |= acts;
        steps.push(Step::new(Few::from([raw]), uses, acts), direct);
        Ok(Node::new(self.number, steps.list.len() - 1))
    }

    /// Adds a node that does nothing. It serves as a dependency between other nodes.
    ///
    /// Stands for [`cudaGraphAddEmptyNode`](sys::cudaGraphAddEmptyNode).
    ///
    /// # Errors
    /// `Unsupported` if `after` names a node of another graph. Otherwise returns the runtime's error.
    /// Refused inside a host function.
    #[doc(alias = "cudaGraphAddEmptyNode")]
    #[track_caller]
    pub fn add_empty(&mut self, after: &[Node]) -> Result<Node> {
        self.add(
            "Graph::add_empty",
            after,
            RetainedAccesses::default(),
            false,
            |node, graph, before, count| {
                // SAFETY: the graph and its `count` nodes are live, and `node` points to a live variable.
                unsafe { check!(cudaGraphAddEmptyNode(node, graph, before, count)) }
            },
        )
    }

    /// Adds a copy of all elements of `source` to `destination`, inside one device or with pinned memory.
    /// If there are no elements, adds an empty node.
    ///
    /// The node comes after the nodes in `after`, and after every earlier node that it conflicts with.
    /// Stands for [`cudaGraphAddMemcpyNode1D`](sys::cudaGraphAddMemcpyNode1D).
    ///
    /// # Errors
    /// - Those of [`memcpy_async`](crate::memcpy_async) and of [`add_empty`](Self::add_empty).
    /// - `NotKept` if the graph cannot retain the memory.
    /// - `Unsupported` for a copy between devices.
    #[doc(alias = "cudaGraphAddMemcpyNode1D")]
    #[doc(alias = "cudaGraphAddMemcpyNode")]
    #[doc(alias = "cudaGraphAddNode")]
    #[track_caller]
    pub fn add_memcpy<D, S>(&mut self, after: &[Node], destination: &mut D, source: &S) -> Result<Node>
    where
        D: Destination<InGraph> + ?Sized,
        S: Source<InGraph, Element = D::Element> + ?Sized,
    {
        let (to, from) =
            (destination.operand_mut()?.in_graph(self.number)?, source.operand()?.in_graph(self.number)?);
        self.add_copy("Graph::add_memcpy", after, &to, &from)
    }

    /// [`add_memcpy`](Self::add_memcpy) for operands without types.
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
        self.add(api, after, uses, true, |node, graph, before, count| {
            // SAFETY: the graph and its `count` nodes are live, and `node` points to a live variable. Both
            // sides are memory of `copy.bytes` bytes, which the graph retains.
            unsafe {
                check!(cudaGraphAddMemcpyNode1D(
                    node,
                    graph,
                    before,
                    count,
                    copy.to.cast(),
                    copy.from.cast(),
                    copy.bytes,
                    copy.kind
                ))
            }
        })
    }

    /// Adds a fill: every *byte* of the destination becomes `value`. If there are no elements, adds an
    /// empty node.
    ///
    /// The node comes after the nodes in `after`, and after every earlier node that it conflicts with.
    /// Stands for [`cudaGraphAddMemsetNode`](sys::cudaGraphAddMemsetNode).
    ///
    /// # Errors
    /// Those of [`add_empty`](Self::add_empty); `NotKept` if the graph cannot retain the memory.
    #[doc(alias = "cudaGraphAddMemsetNode")]
    #[track_caller]
    pub fn add_memset<D>(&mut self, after: &[Node], destination: &mut D, value: u8) -> Result<Node>
    where
        D: Destination<InGraph> + ?Sized,
    {
        let (api, to) = ("Graph::add_memset", destination.operand_mut()?.in_graph(self.number)?);
        let Some(fill) = FillNode::new(&to) else { return self.add_empty(after) };
        let uses = kept(api, &[fill.access])?;
        let parameters = fill_parameters(&fill, value);
        self.add(api, after, uses, true, |node, graph, before, count| {
            // SAFETY: the graph and its `count` nodes are live, and the pointers are to live variables. The
            // destination is memory of the fill's size, which the graph retains.
            unsafe { check!(cudaGraphAddMemsetNode(node, graph, before, count, &raw const parameters)) }
        })
    }

    /// Adds a host function, which every launch calls. The function belongs to the graph, as in
    /// [`Capture::host_fn`](super::Capture::host_fn).
    ///
    /// Stands for [`cudaGraphAddHostNode`](sys::cudaGraphAddHostNode).
    ///
    /// # Errors
    /// Those of [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddHostNode")]
    #[track_caller]
    pub fn add_host_fn(&mut self, after: &[Node], f: impl Fn() + Send + Sync + 'static) -> Result<Node> {
        self.add_host("Graph::add_host_fn", after, RetainedAccesses::default(), f)
    }

    /// [`add_host_fn`](Self::add_host_fn) for a function with accesses.
    #[track_caller]
    pub(super) fn add_host(
        &mut self,
        api: &'static str,
        after: &[Node],
        uses: RetainedAccesses,
        f: impl Fn() + Send + Sync + 'static,
    ) -> Result<Node> {
        stream::ensure_idle(api)?;
        let function = HostFunction::new(self.device(), f)?;
        let (fn_, data) = function.parts();
        // Owned before the node exists, even if the call fails.
        let object = function.give_to(self.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        let added = self.add(api, after, uses, true, |node, graph, before, count| {
            // SAFETY: the graph and its `count` nodes are live, and the pointers are to live variables. The
            // graph owns the function.
            unsafe { check!(cudaGraphAddHostNode(node, graph, before, count, &raw const parameters)) }
        });
        let node = self.or_let_go(added, object)?;
        if let Some(step) = self.steps_mut().list.get_mut(node.at()) {
            step.more_mut().function = Some(object);
        }
        Ok(node)
    }

    /// Adds a kernel launch. The values of the arguments are copied now.
    ///
    /// The node comes after the nodes in `after`, and after every earlier node that conflicts with the
    /// memory among its arguments. Stands for [`cudaGraphAddKernelNode`](sys::cudaGraphAddKernelNode).
    ///
    /// # Errors
    /// Those of [`Kernel::launch`] and of [`add_empty`](Self::add_empty); `NotKept` if the graph cannot
    /// retain the memory.
    ///
    /// # Safety
    /// - The duties of [`Kernel::launch`] hold for every launch of the graph.
    /// - Memory behind raw pointers lives as long as the graph and its executable forms.
    /// - Launches of the graph are ordered with other uses of that memory.
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
            (self.device(), self.makes()),
            kernel,
            config.into(),
            arguments,
            |uses, parameters| {
                self.add(api, after, uses, true, |node, graph, before, count| {
                    // SAFETY: the graph and its `count` nodes are live, and the pointers are to live
                    // variables. Each parameter has a live value of the right type (`Arguments`), which the
                    // call copies. The graph retains the memory among the values. The caller is responsible
                    // for the kernel's actions.
                    unsafe { check!(cudaGraphAddKernelNode(node, graph, before, count, parameters)) }
                })
            },
        )
    }

    /// Adds the current state of another graph as one child node. Both graphs share its memory and host
    /// functions.
    ///
    /// The node comes after the nodes in `after`, and after every earlier node that it conflicts with.
    /// Stands for [`cudaGraphAddChildGraphNode`](sys::cudaGraphAddChildGraphNode).
    ///
    /// # Errors
    /// `DeviceMismatch` if the graph is for another device; `Unsupported` if it has memory or
    /// conditions of its own; those of [`add_empty`](Self::add_empty).
    #[doc(alias = "cudaGraphAddChildGraphNode")]
    #[track_caller]
    pub fn add_graph(&mut self, after: &[Node], graph: &Graph) -> Result<Node> {
        let api = "Graph::add_graph";
        graph.device().ensure_is(self.device(), api, "the graph")?;
        graph.ensure_can_be_copied(api)?;
        let node = self.add(api, after, graph.steps.uses(), graph.acts, |node, parent, before, count| {
            // SAFETY: both graphs and the `count` nodes are live, and `node` points to a live variable.
            unsafe { check!(cudaGraphAddChildGraphNode(node, parent, before, count, graph.as_raw())) }
        })?;
        if let Some(step) = self.steps_mut().list.get_mut(node.at()) {
            step.more_mut().functions = graph.steps.functions();
        }
        Ok(node)
    }
}

/// Returns the accesses of a node, with their memory retained.
#[track_caller]
pub(super) fn kept(api: &'static str, accesses: &[Access<'_>]) -> Result<RetainedAccesses> {
    let mut uses = RetainedAccesses::default();
    if accesses.iter().all(|access| uses.add(access, || retain(access))) {
        Ok(uses)
    } else {
        Err(Error::refused(api, Detail::NOT_KEPT))
    }
}

/// Returns the runtime's parameters of a fill.
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

/// Calls `make` with the accesses of a kernel launch and the runtime's parameters for it. The parameters
/// live only during the call.
#[track_caller]
pub(super) fn kernel_node<P, A: Arguments<P>, R>(
    api: &'static str,
    (device, makes): (Device, Makes),
    kernel: &Kernel<P>,
    config: LaunchConfig,
    arguments: A,
    make: impl FnOnce(RetainedAccesses, &sys::cudaKernelNodeParams) -> Result<R>,
) -> Result<R> {
    config.check(kernel.name())?;
    let call_site = Location::caller();
    let shared = u32::try_from(config.shared_bytes).unwrap_or(u32::MAX);
    // Memory and conditions of the graph may be among the arguments, only here.
    let _made = Making(MAKING.replace(makes));
    let made = arguments.with(kernel.of_node(device), |accesses, values| {
        let parameters = sys::cudaKernelNodeParams {
            func: kernel.as_raw().cast_mut(),
            gridDim: config.grid.into(),
            blockDim: config.block.into(),
            sharedMemBytes: shared,
            kernelParams: values.as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        let uses = kernel.reaching(device, accesses, call_site, |accesses| kept(api, accesses))?;
        make(uses, &parameters)
    });
    made.at_caller()
}

/// The graph for which a thread makes a kernel node. Numbers begin at 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Makes {
    pub(super) graph: u64,
    /// The number of the graph that it is a body in, or its own.
    pub(super) root: u64,
    /// The number of the newest condition that the node may set.
    pub(super) newest_condition: u64,
}

impl Graph {
    /// Returns the graph as the one for which a kernel node is made.
    pub(super) fn makes(&self) -> Makes {
        Makes { graph: self.number, root: self.root, newest_condition: u64::MAX }
    }
}

thread_local! {
    /// The graph for which the thread currently makes a kernel node.
    static MAKING: Cell<Makes> = const { Cell::new(Makes { graph: 0, root: 0, newest_condition: 0 }) };
}

/// A guard: while it lives, the thread makes a kernel node of a graph.
struct Making(Makes);

/// Returns the graph for which the thread currently makes a kernel node, or zeros.
pub(super) fn making() -> Makes {
    MAKING.get()
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(self.0);
    }
}
