//! Launches.
#![expect(unsafe_code, reason = "exports C functions, reads the arguments that a program passes")]

use core::ffi::{c_uint, c_void};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::{Call, Out, api, follows_null, put};
use crate::error::{Answer, Code};
use crate::exec::{Kernel, Launch, Program};
use crate::graph::{KernelNode, NodeOp};
use crate::host_line::demangled;
use crate::machine::{self, Guard};
use crate::module::load::load;
use crate::module::registry::{Registry, registry};
use crate::shape::LaunchShape;
use crate::stream::{StreamId, submit_kernel};
use crate::sys::*;
use crate::{thread, unread};

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
    /// Whether the next launch is by `<<<...>>>`, whose code drops what the launch returns.
    static POPPED: Cell<bool> = const { Cell::new(false) };
}

/// Dimensions as the machine has them.
pub(super) fn dimensions(of: dim3) -> [u32; 3] {
    [of.x, of.y, of.z]
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
        // SAFETY: the program passes an array with a pointer for every parameter of the kernel.
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

/// Checks a launch on a device and copies its arguments.
pub(super) fn prepare(
    machine: &mut Guard,
    device: usize,
    function: *const c_void,
    shape: LaunchShape,
    args: *mut *mut c_void,
) -> Answer<Launch> {
    if function.is_null() {
        return Err(cudaErrorInvalidDeviceFunction);
    }
    let mut registry = registry();
    let program = program(machine, &mut registry, device, function)?;
    let limits = machine.devices.get(device).map(|device| device.limits).unwrap_or_default();
    let mut launch = shape.launch(&program, registry.kernel(function.addr())?, limits)?;
    launch.params = arguments(&program, args)?;
    Ok(launch)
}

/// A launch that becomes a node. What a node's grid counts is not known with `.blocksareclusters`.
pub(super) fn node_of(launch: Launch) -> Answer<Launch> {
    if launch.program.counts_clusters { Err(cudaErrorNotSupported) } else { Ok(launch) }
}

/// The attributes of a launch.
#[derive(Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) cooperative: bool,
    pub(super) cluster: Option<[u32; 3]>,
    /// Whether it may begin before the kernel before it is complete.
    pub(super) early: bool,
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
        // SAFETY: `attrs` has `numAttrs` elements.
        let attribute = unsafe { place.read() };
        if attribute.id == cudaLaunchAttributeCooperative {
            // SAFETY: the identifier says which member is in use.
            found.cooperative = unsafe { attribute.val.cooperative } != 0;
        } else if attribute.id == cudaLaunchAttributeClusterDimension {
            // SAFETY: the identifier says which member is in use.
            let blocks = unsafe { attribute.val.clusterDim };
            let blocks = [blocks.x, blocks.y, blocks.z];
            // None along any axis is no clusters at all.
            found.cluster = Some(blocks).filter(|blocks| *blocks != [0; 3]);
        } else if attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization {
            // SAFETY: the identifier says which member is in use.
            found.early = unsafe { attribute.val.programmaticStreamSerializationAllowed } != 0;
        } else if attribute.id == cudaLaunchAttributeProgrammaticEvent {
            // SAFETY: the identifier says which member is in use.
            if unsafe { attribute.val.programmaticEvent }.event.is_null() {
                return Err(cudaErrorInvalidResourceHandle);
            }
        } else if attribute.id == cudaLaunchAttributeMemSyncDomain {
            // SAFETY: the identifier says which member is in use.
            if unsafe { attribute.val.memSyncDomain }.0 > cudaLaunchMemSyncDomainRemote.0 {
                return Err(cudaErrorInvalidValue);
            }
        } else if attribute.id == cudaLaunchAttributePreferredSharedMemoryCarveout {
            // SAFETY: the identifier says which member is in use.
            if !(0..=100).contains(&unsafe { attribute.val.sharedMemCarveout }) {
                return Err(cudaErrorInvalidValue);
            }
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
    let drops = POPPED.take();
    let answer = launch_now(call, function, configuration, args, attributes);
    if let Err(code) = answer
        && drops
    {
        unread_later(call, function, &configuration, code);
    }
    answer
}

/// Notes the failure of a launch whose code drops what it returns.
fn unread_later(call: &Call, function: *const c_void, configuration: &Configuration, code: Code) {
    let Ok(mut machine) = machine::lock() else { return };
    let device = thread::device();
    if machine.devices.get(device).is_some_and(|device| device.fault == Some(code)) {
        return;
    }
    let stream = machine.streams.resolve(configuration.stream, device, call.per_thread);
    let of = stream.and_then(|stream| machine.streams.get(stream)).map(|stream| stream.device);
    let why = match of {
        Ok(of) if of != device => format!("the stream is of device {of}, and device {device} is current"),
        _ => String::new(),
    };
    drop(machine);
    let kernel = registry().kernel(function.addr()).map_or_else(|_| "?".to_owned(), |it| demangled(&it.name));
    unread::note(call.name, kernel, code, why);
}

fn launch_now(
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
    let Attributes { cooperative, cluster, early } = attributes;
    let (grid, block) = (dimensions(grid), dimensions(block));
    let shape = LaunchShape { grid, block, shared, cooperative, cluster };
    let launch = prepare(&mut machine, device, function, shape, args);
    let launch =
        launch.or_else(|code| machine.unasked_in_capture(stream).and(Err(code)).map_err(|_| code))?;
    if machine.is_captured(stream) {
        if machine.streams.get(stream)?.device != device {
            return Err(cudaErrorInvalidResourceHandle);
        }
        let op = NodeOp::Kernel(Box::new(KernelNode::new(function.addr(), node_of(launch)?)));
        return machine.add_captured(stream, call.name, || Some(op)).map(drop);
    }
    submit_kernel(&mut machine, (stream, device), call.name, Box::new(Kernel::new(launch)), early)?;
    Ok(())
}

api! {
    /// Launches a kernel, named by its host function.
    allowed fn cudaLaunchKernel | cudaLaunchKernel_ptsz(
        call, function: *const c_void, grid: dim3, block: dim3, args: *mut *mut c_void, shared: usize,
        stream: cudaStream_t,
    ) {
        launch(call, function, Configuration { grid, block, shared, stream }, args, Attributes::default())
    }

    /// Launches a kernel by a handle from `__cudaGetKernel`. Code that nvcc generates for a launch calls
    /// this.
    allowed fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz(
        call, kernel: cudaKernel_t, grid: dim3, block: dim3, args: *mut *mut c_void, shared: usize,
        stream: cudaStream_t,
    ) {
        launch(call, kernel.cast(), Configuration { grid, block, shared, stream }, args, Attributes::default())
    }

    /// Launches a kernel whose blocks wait for each other: all must be resident at once.
    allowed fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz(
        call, function: *const c_void, grid: dim3, block: dim3, args: *mut *mut c_void, shared: usize,
        stream: cudaStream_t,
    ) {
        let together = Attributes { cooperative: true, ..Attributes::default() };
        launch(call, function, Configuration { grid, block, shared, stream }, args, together)
    }

    /// Launches a kernel with attributes. Those for cooperative launches and clusters have an effect here.
    allowed fn cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz(
        call, config: *const cudaLaunchConfig_t, function: *const c_void, args: *mut *mut c_void,
    ) {
        // SAFETY: the program passes a configuration, or null.
        let Some(config) = (unsafe { config.as_ref() }) else { follows_null(call, "the configuration") };
        let (grid, block) = (config.gridDim, config.blockDim);
        let shared = config.dynamicSmemBytes;
        let configuration = Configuration { grid, block, shared, stream: config.stream };
        launch(call, function, configuration, args, attributes(config)?)
    }

    /// The handle of a kernel: here, its host function again.
    allowed fn __cudaGetKernel(call, out: Out<'_, cudaKernel_t>, function: *const c_void) {
        let _ = call;
        registry().kernel(function.addr())?;
        put(out, function.cast_mut().cast())
    }

    /// The handle of a kernel, for programs.
    allowed fn cudaGetKernel(call, out: Out<'_, cudaKernel_t>, function: *const c_void) {
        drop(call.any_context()?);
        registry().own_kernel(function.addr()).map_err(|_| cudaErrorInvalidDeviceFunction)?;
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
    POPPED.set(true);
    let written = put(grid, configuration.grid)
        .and_then(|()| put(block, configuration.block))
        .and_then(|()| put(shared, configuration.shared))
        .and_then(|()| put(stream, configuration.stream));
    written.map_or_else(|code| code, |()| cudaSuccess)
}
