//! Kernel launches.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use std::panic::Location;

use super::{BodyOp, Place, Recipient, Resolve, kept, sealed};
use crate::error::{AtCaller as _, Result};
use crate::graph::identity::Making;
use crate::launch::{Arguments, Kernel, LaunchConfig};
use crate::{check, sys};

/// A kernel launch. See [`kernel`].
#[derive(Debug)]
pub struct KernelOp<'a, P, A> {
    kernel: &'a Kernel<P>,
    config: LaunchConfig,
    arguments: A,
}

/// Describes a kernel launch. The values of the arguments are copied when a node gets the operation.
///
/// Stands for [`cudaGraphAddKernelNode`](sys::cudaGraphAddKernelNode),
/// [`cudaGraphKernelNodeSetParams`](sys::cudaGraphKernelNodeSetParams) and
/// [`cudaGraphExecKernelNodeSetParams`](sys::cudaGraphExecKernelNodeSetParams).
///
/// # Errors
/// Those of [`Kernel::launch`].
///
/// # Safety
/// The operation is for one node. That may be any node of any graph or executable graph, on any device, or a
/// new one in a graph or in the body of a conditional node:
///
/// - The duties of [`Kernel::launch`] hold for every launch of that node. If they hold only on some devices,
///   or only for nodes in some order, the operation stays in the caller's hands until such a node gets it.
/// - Memory behind raw pointers lives as long as the graph and its executable forms.
/// - Launches of the graph are ordered with other uses of that memory.
/// - In a body, the kernel launches no kernels, as in C.
///
/// # Examples
/// ```no_run
/// use cuda_safe::graph::node;
/// use cuda_safe::launch::Kernel;
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// # fn run(scale: Kernel<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 256])?;
/// let mut graph = Graph::new()?;
/// // SAFETY: the count is the buffer's, here and below.
/// let node = unsafe { graph.add(&[], node::kernel(&scale, (1, 256), (&mut data, 2.0, 256))) }?;
/// let mut exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// unsafe { exec.set(&graph, node, node::kernel(&scale, (2, 128), (&mut data, 3.0, 256))) }?;
/// exec.launch(&stream)?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddKernelNode")]
#[doc(alias = "cudaGraphKernelNodeSetParams")]
#[doc(alias = "cudaGraphExecKernelNodeSetParams")]
#[inline]
#[must_use]
pub unsafe fn kernel<P, A: Arguments<P>>(
    kernel: &Kernel<P>,
    config: impl Into<LaunchConfig>,
    arguments: A,
) -> KernelOp<'_, P, A> {
    KernelOp { kernel, config: config.into(), arguments }
}

impl<P, A> sealed::Sealed for KernelOp<'_, P, A> {}

impl<P, A: Arguments<P>> Resolve for KernelOp<'_, P, A> {
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        let Self { kernel, config, arguments } = self;
        config.check(kernel.name())?;
        let (call_site, device) = (Location::caller(), to.device());
        let shared = u32::try_from(config.shared_bytes).unwrap_or(u32::MAX);
        // Memory and conditions of the graph may be among the arguments, only here.
        let _made = Making::begin(to.owner());
        let given = arguments.with(kernel.of_node(device), |accesses, values| {
            let parameters = sys::cudaKernelNodeParams {
                func: kernel.as_raw().cast_mut(),
                gridDim: config.grid.into(),
                blockDim: config.block.into(),
                sharedMemBytes: shared,
                kernelParams: values.as_mut_ptr(),
                extra: std::ptr::null_mut(),
            };
            let uses = kernel.reaching(device, accesses, call_site, |accesses| {
                kept("node::kernel", accesses.iter().copied())
            })?;
            to.take(uses, true, |place| {
                let parameters = &raw const parameters;
                match place {
                    // SAFETY: the invariants of `NewNode`. Each parameter has a live value of the right type
                    // (`Arguments`), which the call copies. The graph retains the memory among the values.
                    // The caller of `kernel` is responsible for the kernel's actions.
                    Place::New(new) => unsafe {
                        check!(cudaGraphAddKernelNode(new.node, new.graph, new.before, new.count, parameters))
                    },
                    // SAFETY: the invariants of `Place`, and as above.
                    Place::Node(node) => unsafe { check!(cudaGraphKernelNodeSetParams(node, parameters)) },
                    // SAFETY: the invariants of `Place`, and as above.
                    Place::Exec(exec, node) => unsafe {
                        check!(cudaGraphExecKernelNodeSetParams(exec, node, parameters))
                    },
                }
            })
        });
        given.at_caller()
    }
}

impl<P, A: Arguments<P>> BodyOp for KernelOp<'_, P, A> {}
