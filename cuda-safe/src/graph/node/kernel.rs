//! Kernel launches.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, and changes them")]

use std::ffi::c_void;
use std::panic::Location;

use super::{BodyOp, NodeTarget, Recipient, Resolve, retain_all, sealed};
use crate::error::{Detail, Error, Result};
use crate::graph::identity::Making;
use crate::launch::{
    AccessList, Arguments, Checked, CheckedArguments, CheckedParameters, Kernel, LaunchConfig, Target,
};
use crate::stream::Attribute;
use crate::{check, sys};

const API: &str = "node::kernel";

/// A kernel launch. See [`kernel`].
#[derive(Debug)]
pub struct KernelOp<'a, P, A> {
    kernel: &'a Kernel<P>,
    config: LaunchConfig<'a>,
    arguments: A,
}

/// Describes a kernel launch. The values of the arguments are copied when a node gets the operation. The node
/// also gets the attributes of the configuration; others that it has stay as they are.
///
/// Stands for [`cudaGraphAddKernelNode`](sys::cudaGraphAddKernelNode),
/// [`cudaGraphKernelNodeSetParams`](sys::cudaGraphKernelNodeSetParams),
/// [`cudaGraphExecKernelNodeSetParams`](sys::cudaGraphExecKernelNodeSetParams) and
/// [`cudaGraphKernelNodeSetAttribute`](sys::cudaGraphKernelNodeSetAttribute).
///
/// # Errors
/// - Those of [`Kernel::launch`], and of the runtime for attributes that no node has.
/// - `Unsupported` for attributes in an executable graph, and for
///   [`programmatic_stream_serialization`](LaunchConfig::programmatic_stream_serialization).
///
/// # Safety
/// The operation is for one node. That may be any node of any graph or executable graph, on any device, or a
/// new one in a graph or in the body of a conditional node:
///
/// - The duties of [`Kernel::launch`] hold for every launch of that node, with the attributes that operations
///   have given to the node, before and later, even if they failed. If they hold only on some devices, or
///   only for some nodes, the operation stays in the caller's hands until such a node gets it.
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
#[doc(alias = "cudaGraphKernelNodeSetAttribute")]
#[inline]
#[must_use]
pub unsafe fn kernel<'a, P, A: Arguments<P>>(
    kernel: &'a Kernel<P>,
    config: impl Into<LaunchConfig<'a>>,
    arguments: A,
) -> KernelOp<'a, P, A> {
    KernelOp { kernel, config: config.into(), arguments }
}

/// A kernel launch that is proven. See [`checked_kernel`].
#[derive(Debug)]
pub struct CheckedKernelOp<'a, P, A> {
    kernel: &'a Checked<P>,
    config: LaunchConfig<'a>,
    arguments: A,
}

/// Describes a kernel launch that is proven when a node gets the operation: [`kernel`] without `unsafe`.
///
/// # Errors
/// - Those of [`Checked::launch`], and those of [`kernel`].
/// - `Proof` also for a kernel that asks where its block is in its cluster: a node keeps the clusters that
///   other operations gave it. So is a kernel with `__block_size__`, whose grid counts clusters.
///
/// # Examples
/// ```no_run
/// use cuda_safe::graph::node;
/// use cuda_safe::launch::Checked;
/// use cuda_safe::{DeviceBuffer, Graph, Stream};
///
/// # fn run(scale: &Checked<(*mut f32, f32, u32)>) -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut data = DeviceBuffer::from_slice(&[1.0_f32; 256])?;
/// let mut graph = Graph::new()?;
/// let node = graph.add(&[], node::checked_kernel(scale, (1, 256), (&mut data, 2.0, 256)))?;
/// let mut exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// exec.set(&graph, node, node::checked_kernel(scale, (2, 128), (&mut data, 3.0, 256)))?;
/// exec.launch(&stream)?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddKernelNode")]
#[doc(alias = "cudaGraphKernelNodeSetParams")]
#[doc(alias = "cudaGraphExecKernelNodeSetParams")]
#[inline]
#[must_use]
pub fn checked_kernel<'a, P: CheckedParameters, A: CheckedArguments<P>>(
    kernel: &'a Checked<P>,
    config: impl Into<LaunchConfig<'a>>,
    arguments: A,
) -> CheckedKernelOp<'a, P, A> {
    CheckedKernelOp { kernel, config: config.into(), arguments }
}

impl<P, A> sealed::Sealed for KernelOp<'_, P, A> {}
impl<P, A> sealed::Sealed for CheckedKernelOp<'_, P, A> {}

impl<P: CheckedParameters, A: CheckedArguments<P>> Resolve for CheckedKernelOp<'_, P, A> {
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        let Self { kernel, config, arguments } = self;
        let op = KernelOp { kernel, config, arguments };
        op.resolve_with(to, |config, target, values, arguments, all| {
            // SAFETY: the pointers are to live values of the parameters' types (`Arguments`).
            unsafe { kernel.prove(config, target, values, arguments, all) }
        })
    }
}

impl<P, A: Arguments<P>> Resolve for KernelOp<'_, P, A> {
    fn resolve<R: Recipient>(self, to: R) -> Result<R::Out> {
        self.resolve_with(to, |_, target, _, arguments, all| arguments.accesses(target, all))
    }
}

impl<P, A: Arguments<P>> KernelOp<'_, P, A> {
    /// Gives a node the operation, unless `find` refuses it. `find` adds the accesses of the arguments to a
    /// list.
    #[inline]
    #[track_caller]
    fn resolve_with<R: Recipient>(
        self,
        to: R,
        find: impl for<'a> FnOnce(
            &LaunchConfig<'_>,
            Target<'_>,
            &[*mut c_void],
            &'a A,
            &mut AccessList<'a>,
        ) -> Result<()>,
    ) -> Result<R::Out> {
        let Self { kernel, config, arguments } = self;
        config.check(kernel.name())?;
        if config.is_programmatic() {
            let what = "programmatic stream serialization in a graph, which orders its nodes by its edges";
            return Err(Error::refused(API, Detail::unsupported(what)));
        }
        let device = to.device();
        // Memory and conditions of the graph may be among the arguments, only here.
        let _made = Making::begin(to.owner());
        let target = kernel.of_node(device);
        let mut values = arguments.values(target)?;
        let mut pointers = A::pointers(&mut values);
        let mut accesses = AccessList::new();
        if let Err(error) = find(&config, target, pointers.as_mut(), &arguments, &mut accesses) {
            return Err(error.at(Location::caller()));
        }
        let added = kernel.add_accesses(device, &mut accesses);
        added.map_err(|error| arguments.explain(error, target, None))?;
        let uses = retain_all(API, accesses.iter().copied())?;
        let parameters = sys::cudaKernelNodeParams {
            func: kernel.as_raw().cast_mut(),
            gridDim: config.grid.into(),
            blockDim: config.block.into(),
            sharedMemBytes: u32::try_from(config.shared_bytes).unwrap_or(u32::MAX),
            kernelParams: pointers.as_mut().as_mut_ptr(),
            extra: std::ptr::null_mut(),
        };
        to.take(uses, true, |place| {
            let parameters = &raw const parameters;
            match place {
                NodeTarget::New(new) => {
                    // SAFETY: the invariants of `NewNode`. Each parameter has a live value of the right type
                    // (`Arguments`), which the call copies. The graph retains the memory among the values.
                    // The caller of `kernel` is responsible for the kernel's actions, or they are proven.
                    unsafe {
                        check!(cudaGraphAddKernelNode(new.node, new.graph, new.before, new.count, parameters))
                    }?;
                    // SAFETY: `node` points to a live variable, which the call has filled.
                    let node = unsafe { *new.node };
                    set_attributes(node, &config).inspect_err(|_| {
                        // Without its attributes the kernel never runs.
                        // SAFETY: the node was just added, and nothing refers to it.
                        let gone = unsafe { check!(cudaGraphDestroyNode(node)) };
                        new.is_left.set(gone.is_err());
                    })
                }
                NodeTarget::Node(node) => {
                    // First, because the new kernel never runs without its attributes.
                    set_attributes(node, &config)?;
                    // SAFETY: the invariants of `NodeTarget`. Each parameter has a live value of the right
                    // type, which the call copies. The graph retains the memory among the values. The caller
                    // of `kernel` is responsible for the kernel's actions, or they are proven.
                    unsafe { check!(cudaGraphKernelNodeSetParams(node, parameters)) }
                }
                NodeTarget::Exec(exec, node) => {
                    if config.has_attributes() {
                        let what = "attributes of a kernel in an executable graph: set them in its graph";
                        return Err(Error::refused(API, Detail::unsupported(what)));
                    }
                    // SAFETY: the invariants of `NodeTarget`. Each parameter has a live value of the right
                    // type, which the call copies. The graph retains the memory among the values. The caller
                    // of `kernel` is responsible for the kernel's actions, or they are proven.
                    unsafe { check!(cudaGraphExecKernelNodeSetParams(exec, node, parameters)) }
                }
            }
        })
    }
}

/// Gives a kernel node of a live graph the attributes of a configuration.
#[inline]
fn set_attributes(node: sys::cudaGraphNode_t, config: &LaunchConfig<'_>) -> Result<()> {
    if config.has_attributes() { set_all_attributes(node, config) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn set_all_attributes(node: sys::cudaGraphNode_t, config: &LaunchConfig<'_>) -> Result<()> {
    for Attribute { id, value } in config.attributes() {
        // SAFETY: the caller's node belongs to a live graph, which is borrowed mutably. The value has the
        // attribute's member. The caller of `kernel` guarantees that the kernel is correct with the
        // attribute.
        unsafe { check!(cudaGraphKernelNodeSetAttribute(node, id, &raw const value)) }?;
    }
    Ok(())
}

impl<P, A: Arguments<P>> BodyOp for KernelOp<'_, P, A> {}
impl<P: CheckedParameters, A: CheckedArguments<P>> BodyOp for CheckedKernelOp<'_, P, A> {}
