//! Launches.
#![expect(unsafe_code, reason = "exports C functions, reads the arguments that a program passes")]

use core::ffi::{c_uint, c_void};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Call, Out, api, put};
use crate::device::attribute;
use crate::error::Answer;
use crate::exec::{Kernel, Launch, Program};
use crate::graph::{Act, KernelNode};
use crate::machine::Guard;
use crate::module::load::load;
use crate::module::registry::{Registry, registry};
use crate::stream::{StreamId, submit_task};
use crate::sys::{
    cudaDevAttrMultiProcessorCount, cudaError_t, cudaErrorCooperativeLaunchTooLarge,
    cudaErrorInvalidClusterSize, cudaErrorInvalidDeviceFunction, cudaErrorInvalidResourceHandle,
    cudaErrorInvalidValue, cudaErrorMissingConfiguration, cudaKernel_t, cudaLaunchAttributeClusterDimension,
    cudaLaunchAttributeCooperative, cudaLaunchConfig_t, cudaLimitStackSize, cudaStream_t, cudaSuccess, dim3,
};

/// Shared memory that a block has unless the program asks for more, and the most that it may ask for.
pub(super) const SHARED: u32 = 48 << 10;
pub(super) const MOST_SHARED: u32 = 227 << 10;

/// The values between the angle brackets of a launch.
#[derive(Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
}

thread_local! {
    static PUSHED: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// A kernel's program on the current device, its module brought to life there.
pub(super) fn program(
    machine: &mut Guard,
    registry: &mut Registry,
    device: usize,
    function: *const c_void,
) -> Answer<Arc<Program>> {
    let entry = registry.kernel(function.addr())?.clone();
    load(machine, registry, entry.module, device)?;
    registry.program(entry.module, device, &entry.name)
}

/// Blocks of a cluster that every device with clusters can have, and those that these devices can.
pub(super) const PORTABLE: u32 = 8;
pub(super) const MOST_BLOCKS: u32 = 16;

/// The clusters of a launch: the shape that the program asks for, or the one that the kernel declares. If
/// there are both, they must be the same.
fn clusters(asked: Option<[u32; 3]>, declared: Option<[u32; 3]>) -> Answer<Option<[u32; 3]>> {
    match (asked, declared) {
        (Some(asked), Some(declared)) if asked != declared => Err(cudaErrorInvalidClusterSize),
        (asked, declared) => Ok(asked.or(declared)),
    }
}

/// Checks the clusters of a launch.
fn check_clusters(launch: &Launch, non_portable: bool) -> Answer {
    let Some(cluster) = launch.cluster else { return Ok(()) };
    let divides = |(grid, blocks): (u32, u32)| grid.checked_rem(blocks) == Some(0);
    if !launch.grid.into_iter().zip(cluster).all(divides) {
        return Err(cudaErrorInvalidClusterSize);
    }
    if launch.cluster_blocks() > if non_portable { MOST_BLOCKS } else { PORTABLE } {
        return Err(cudaErrorInvalidClusterSize);
    }
    Ok(())
}

/// Checks a launch's shape. Under CUDA 13.0 an H200 refuses every shape that cannot run with
/// `cudaErrorInvalidValue`.
fn check(launch: &Launch, cooperative: bool, limit: u32) -> Answer {
    let most_grid = [0x7FFF_FFFF, 65_535, 65_535];
    let most_block = [1024, 1024, 64];
    let within = |sizes: [u32; 3], most: [u32; 3]| sizes.iter().zip(most).all(|(s, m)| (1..=m).contains(s));
    if !within(launch.grid, most_grid) || !within(launch.block, most_block) || launch.threads() > 1024 {
        return Err(cudaErrorInvalidValue);
    }
    if launch.program.required_threads.is_some_and(|required| required != launch.block) {
        return Err(cudaErrorInvalidValue);
    }
    if launch.program.max_threads.is_some_and(|most| launch.threads() > most) {
        return Err(cudaErrorInvalidValue);
    }
    if launch.dynamic_shared > limit || launch.shared() > MOST_SHARED {
        return Err(if cooperative { cudaErrorCooperativeLaunchTooLarge } else { cudaErrorInvalidValue });
    }
    if cooperative && launch.blocks() > launch.resident() {
        return Err(cudaErrorCooperativeLaunchTooLarge);
    }
    Ok(())
}

/// Copies a kernel's arguments: an array of pointers, whose sizes come from the kernel's parameters.
fn arguments(program: &Program, args: *mut *mut c_void) -> Answer<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(program.param_bytes).unwrap_or(0)];
    if program.params.is_empty() {
        return Ok(bytes);
    }
    if args.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    for (n, &(at, size)) in program.params.iter().enumerate() {
        let (at, size) = (usize::try_from(at).unwrap_or(0), usize::try_from(size).unwrap_or(0));
        // SAFETY: the program passes an array with a pointer for every parameter of the kernel.
        let place = unsafe { args.add(n) };
        // SAFETY: as above.
        let arg = unsafe { place.read() };
        if arg.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        let to = bytes.get_mut(at..at + size).ok_or(cudaErrorInvalidValue)?;
        // SAFETY: each pointer leads to as many bytes as its parameter has; `to` is as long and our own.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(arg.cast(), size) };
    }
    Ok(bytes)
}

/// The shape of a launch.
#[derive(Clone, Copy)]
pub(super) struct LaunchShape {
    pub(super) grid: dim3,
    pub(super) block: dim3,
    pub(super) shared: usize,
    pub(super) cooperative: bool,
    pub(super) cluster: Option<[u32; 3]>,
}

/// Checks a launch on a device and copies its arguments.
pub(super) fn prepare(
    machine: &mut Guard,
    device: usize,
    function: *const c_void,
    shape: LaunchShape,
    args: *mut *mut c_void,
) -> Answer<Launch> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    if function.is_null() {
        return Err(cudaErrorInvalidDeviceFunction);
    }
    let LaunchShape { grid, block, shared, cooperative, cluster } = shape;
    let mut registry = registry();
    let program = program(machine, &mut registry, device, function)?;
    let entry = registry.kernel(function.addr())?;
    let non_portable = entry.non_portable;
    let limit = entry.dynamic.unwrap_or(SHARED.saturating_sub(program.static_shared));
    let dim = |d: dim3| [d.x, d.y, d.z];
    let mut launch = Launch::new(Arc::clone(&program), dim(grid), dim(block), Vec::new());
    launch.dynamic_shared = u32::try_from(shared).map_err(|_| cudaErrorInvalidValue)?;
    launch.cooperative = cooperative;
    launch.cluster = clusters(cluster, program.cluster)?;
    let processors = attribute(cudaDevAttrMultiProcessorCount, device).and_then(|n| u32::try_from(n).ok());
    launch.multiprocessors = processors.unwrap_or(launch.multiprocessors);
    launch.number = NUMBER.fetch_add(1, Ordering::Relaxed);
    check(&launch, cooperative, limit)?;
    check_clusters(&launch, non_portable)?;
    launch.params = arguments(&program, args)?;
    // Hardware keeps far less on the stack than PTX declares. The limit counts the part that a compiler would
    // leave.
    let stack = machine.devices.get(device).and_then(|d| d.limits.get(cudaLimitStackSize)).unwrap_or(1024);
    let own = program.functions.last().map_or(0, |f| f.frame);
    launch.stack = u32::try_from(stack).unwrap_or(1024).saturating_mul(16).saturating_add(own);
    Ok(launch)
}

/// The attributes of a launch.
#[derive(Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) cooperative: bool,
    pub(super) cluster: Option<[u32; 3]>,
}

/// No header has had an attribute of this number.
pub(super) const ATTRIBUTES: u32 = 64;

/// Reads the attributes of a launch.
pub(super) fn attributes(config: &cudaLaunchConfig_t) -> Answer<Attributes> {
    let mut found = Attributes::default();
    if config.attrs.is_null() {
        return Ok(found);
    }
    for n in 0..usize::try_from(config.numAttrs).unwrap_or(0) {
        // SAFETY: `attrs` has `numAttrs` elements.
        let place = unsafe { config.attrs.add(n) };
        // SAFETY: as above.
        let attribute = unsafe { place.read() };
        if attribute.id == cudaLaunchAttributeCooperative {
            // SAFETY: the identifier says which member is in use.
            found.cooperative = unsafe { attribute.val.cooperative } != 0;
        } else if attribute.id == cudaLaunchAttributeClusterDimension {
            // SAFETY: as above.
            let blocks = unsafe { attribute.val.clusterDim };
            let blocks = [blocks.x, blocks.y, blocks.z];
            // None along any axis is no clusters at all.
            found.cluster = Some(blocks).filter(|blocks| *blocks != [0; 3]);
        } else if attribute.id.0 >= ATTRIBUTES {
            return Err(cudaErrorInvalidValue);
        }
    }
    Ok(found)
}

fn launch(
    call: &Call,
    function: *const c_void,
    configuration: Configuration,
    args: *mut *mut c_void,
    attributes: Attributes,
) -> Answer {
    if function.is_null() {
        return Err(cudaErrorInvalidDeviceFunction);
    }
    let (mut machine, device, stream): (Guard, usize, StreamId) = call.stream(configuration.stream)?;
    let Configuration { grid, block, shared, .. } = configuration;
    let Attributes { cooperative, cluster } = attributes;
    let shape = LaunchShape { grid, block, shared, cooperative, cluster };
    let launch = prepare(&mut machine, device, function, shape, args)?;
    if machine.is_captured(stream) {
        if machine.streams.get(stream)?.device != device {
            return Err(cudaErrorInvalidResourceHandle);
        }
        let act = Act::Kernel(Box::new(KernelNode::new(function.addr(), launch)));
        return machine.add_captured(stream, call.name, || Some(act)).map(drop);
    }
    submit_task(&mut machine, stream, device, call.name, Box::new(Kernel::new(launch)))?;
    Ok(())
}

api! {
    /// Launches a kernel, named by its host function.
    fn cudaLaunchKernel | cudaLaunchKernel_ptsz(
        call, function: *const c_void, grid: dim3, block: dim3, args: *mut *mut c_void, shared: usize,
        stream: cudaStream_t,
    ) {
        launch(call, function, Configuration { grid, block, shared, stream }, args, Attributes::default())
    }

    /// Launches a kernel by a handle from `__cudaGetKernel`. Code that nvcc generates for a launch calls
    /// this.
    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz(
        call, kernel: cudaKernel_t, grid: dim3, block: dim3, args: *mut *mut c_void, shared: usize,
        stream: cudaStream_t,
    ) {
        launch(call, kernel.cast(), Configuration { grid, block, shared, stream }, args, Attributes::default())
    }

    /// Launches a kernel whose blocks wait for each other: all must be resident at once.
    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz(
        call, function: *const c_void, grid: dim3, block: dim3, args: *mut *mut c_void, shared: usize,
        stream: cudaStream_t,
    ) {
        let together = Attributes { cooperative: true, cluster: None };
        launch(call, function, Configuration { grid, block, shared, stream }, args, together)
    }

    /// Launches a kernel with attributes. Those for cooperative launches and clusters have an effect here.
    fn cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz(
        call, config: *const cudaLaunchConfig_t, function: *const c_void, args: *mut *mut c_void,
    ) {
        // SAFETY: the program passes a configuration, or null.
        let config = unsafe { config.as_ref() }.ok_or(cudaErrorInvalidValue)?;
        let (grid, block) = (config.gridDim, config.blockDim);
        let shared = config.dynamicSmemBytes;
        let configuration = Configuration { grid, block, shared, stream: config.stream };
        launch(call, function, configuration, args, attributes(config)?)
    }

    /// The handle of a kernel: here, its host function again.
    fn __cudaGetKernel(call, out: Out<'_, cudaKernel_t>, function: *const c_void) {
        let _ = call;
        registry().kernel(function.addr())?;
        put(out, function.cast_mut().cast())
    }

    /// The handle of a kernel, for programs.
    fn cudaGetKernel(call, out: Out<'_, cudaKernel_t>, function: *const c_void) {
        call.check()?;
        registry().own_kernel(function.addr())?;
        put(out, function.cast_mut().cast())
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
) -> c_uint {
    PUSHED.with_borrow_mut(|list| list.push(Configuration { grid, block, shared, stream }));
    0
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPopCallConfiguration(
    grid: Out<'_, dim3>,
    block: Out<'_, dim3>,
    shared: Out<'_, usize>,
    stream: Out<'_, cudaStream_t>,
) -> cudaError_t {
    let Some(configuration) = PUSHED.with_borrow_mut(Vec::pop) else {
        return cudaErrorMissingConfiguration;
    };
    let written = put(grid, configuration.grid)
        .and_then(|()| put(block, configuration.block))
        .and_then(|()| put(shared, configuration.shared))
        .and_then(|()| put(stream, configuration.stream));
    written.map_or_else(|code| code, |()| cudaSuccess)
}
